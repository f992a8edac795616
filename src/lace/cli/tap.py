"""lace tap"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lace.cli.command import Call, Command
from lace.cli.connecting import add_command, add_tls, check_address, chosen_options
from lace.cli.outcomes import size
from lace.cli.output import Output
from lace.cli.reports import note_reports
from lace.cli.signals import on_end_signals
from lace.errors import LaceError

if TYPE_CHECKING:
    from lace.transports import Options, Stream


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="where everything is passed on to")
    parser.add_argument("--listen", metavar="ADDRESS", required=True, help="where peers connect instead")
    parser.add_argument(
        "-o", "--out", metavar="FILE", required=True,
        help="the capture; of a second connection it is FILE-2, and so on",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace captures that are there")
    parser.add_argument("--once", action="store_true", help="end with the first connection")
    add_tls(parser)
    add_command(parser)


def _run(call: Call) -> int:
    import asyncio

    address = check_address(call, call.args.address)
    listen = check_address(call, call.args.listen, child=False)
    note_reports(call.out)
    tapping = _Tapping(call, address, chosen_options(call))
    return asyncio.run(tapping.run(listen))


class _Tapping:
    """Passes connections on, and captures each."""

    def __init__(self, call: Call, address: str, options: Options) -> None:
        from asyncio import Event

        self._out: Output = call.out
        self._args = call.args
        self._address = address
        self._options = options
        self._count = 0
        self._code = 0
        """Of the last connection that failed."""
        self._over = Event()
        # Before anybody is let in: a capture that is there is not written over.
        self._first: tuple[Path, BinaryIO] | None = self._open()

    async def run(self, listen: str) -> int:
        from lace.transports import serve

        try:
            with on_end_signals(self._over.set):
                async with serve(listen, self._pass_on) as server:
                    addresses = [*map(str, server.addresses)]
                    told = {"event": "listening", "addresses": addresses}
                    self._out.result(f"listening on {', '.join(addresses)}", told)
                    self._out.flush()
                    await self._over.wait()
        finally:
            if self._first is not None:
                path, file = self._first
                file.close()
                if not self._args.force:  # nobody came, and the same command again would be refused for it
                    path.unlink(missing_ok=True)
        return self._code if self._args.once else 0

    async def _pass_on(self, left: Stream) -> None:
        from lace.porcelain import CaptureWriter, file_faults, now_tai
        from lace.transports import connect, relay

        (path, file), self._first = self._first or self._open(), None
        peer = left.proven.address or left.proven.remote
        writer = None
        try:
            with file_faults(path), file:
                writer = CaptureWriter(file, peer, self._address, now_tai(), time.monotonic)
                try:
                    async with connect(self._address, self._options) as right:
                        try:
                            await relay(left, right, writer)
                        except ExceptionGroup as failed:  # the capture cannot be written: one way or both
                            raise failed.exceptions[0] from None
                finally:
                    writer.close()
        except LaceError as error:
            self._code = error.exit_code
            raise  # the server of connections reports it
        finally:
            sent, back = (writer.bytes[True], writer.bytes[False]) if writer else (0, 0)
            kept = sent or back or self._args.force
            if not kept:
                path.unlink(missing_ok=True)
            self._out.result(
                f"{path if kept else 'no capture'}: {size(sent)} from {peer}, {size(back)} back",
                {
                    "event": "captured", "file": str(path) if kept else None, "peer": peer, "sent": sent,
                    "received": back,
                },
            )  # fmt: skip
            self._out.flush()
            if self._args.once:
                self._over.set()

    def _open(self) -> tuple[Path, BinaryIO]:
        from lace.porcelain import file_faults, new_capture

        self._count += 1
        path = Path(self._args.out if self._count == 1 else f"{self._args.out}-{self._count}")
        if self._args.force and path.exists():
            with file_faults(path):
                return path, path.open("wb")
        return path, new_capture(path)


COMMAND = Command(
    "tap",
    "pass connections on to another lace, and capture what is said",
    "Each connection to --listen is carried on to ADDRESS, and both directions are written to a file that "
    "reads well in a pager and that `lace replay` plays. Neither side can tell, but for one thing: over wss "
    "the tap ends the TLS, so that proofs of who is who are refused, as they must be.",
    (
        "lace sync stdio --policy both.policy --command lace tap stdio --listen stdio --once -o new.capture"
        " --command lace serve stdio --store copy --policy both.policy",
    ),
    _arguments,
    _run,
)
