"""lace sync"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.connecting import CODES, add_command, add_connecting, asked_for, check_address, note_withheld
from lace.cli.lakes import add_lake_peer, add_send_only, fold_joined, open_joined
from lace.cli.outcomes import exchange_bar, summary, told_result, write_moved
from lace.cli.policyfiles import chosen_policy

if TYPE_CHECKING:
    from lace.porcelain import CaptureWriter, ExchangeProgress
    from lace.stores import Store


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="tcp:HOST:PORT, unix:PATH, ws:…, wss:…, or stdio")
    add_connecting(parser)
    parser.add_argument(
        "--report", action="store_true",
        help="name each record that moved, was rejected, or was asked for in vain; `lace preview` names "
        "those that are not for this peer",
    )  # fmt: skip
    parser.add_argument(
        "--capture", metavar="FILE", help="write what both sides say to a new file, for `lace replay`"
    )
    add_send_only(parser)
    add_lake_peer(parser)
    add_command(parser)


@contextmanager
def capturing(path: str | None, address: str, store: Store) -> Iterator[CaptureWriter | None]:
    """Lend what captures an exchange of ours in a file, where one was named; nothing said leaves no file."""
    from lace.porcelain import CaptureWriter, file_faults, new_capture, now_tai

    if path is None:
        yield None
        return
    file = new_capture(Path(path), getattr(store, "path", None))
    with file_faults(Path(path)), file:
        writer = CaptureWriter(file, "this lace", address, now_tai(), time.monotonic)
        try:
            yield writer
        finally:
            writer.close()
            if not any(writer.bytes.values()):
                Path(path).unlink(missing_ok=True)  # the same command again would be refused for it


def _run(call: Call) -> int:
    from lace.porcelain import EXIT_CODES, outcome_of, run_sync

    args, out = call.args, call.out
    address = check_address(call, args.address)
    policy, asked = chosen_policy(call), asked_for(call)
    with open_joined(call) as lace:
        with capturing(args.capture, address, lace.store) as tap, exchange_bar(address) as show:
            asked["tap"] = tap
            began = time.monotonic()
            exchange = lace.interlace(address, policy, **asked)
            note_withheld(call, exchange.introduced)

            def progress(now: ExchangeProgress) -> None:
                out.kept = "what came until then is stored"
                show(now)

            result = run_sync(exchange, progress)
            seconds = time.monotonic() - began
        lines = summary(result, exchange.standing(), seconds, exchange.introduced)
        if address == "stdio" and not args.child:
            # Our stdout was the stream, and whoever started us reads it.
            for line in lines:
                out.note(line)
        elif out.as_json:
            out.value(told_result(result, exchange.standing(), address, seconds, exchange.introduced))
        else:
            if args.report:
                write_moved(out, lace, result)
            for line in lines:
                out.line(line)
        fold_joined(call, lace)
    return EXIT_CODES[outcome_of(result)]


COMMAND = Command(
    "sync",
    "exchange records with another lace until both have what they want",
    "What is wanted, and what the other may see, is said by a policy; without one everything is wanted and "
    f"nothing is shown. What came is stored, whatever happens then. {CODES} With --json one object. With "
    "--lake what came is kept at once in the inbox of the lake, and folded into its tables at the end.",
    (
        "echo hi | lace put --group u --app notes --name first -",
        "lace policy new group mine.policy --set town=u && lace init other",
        "lace sync stdio --policy mine.policy --command lace serve stdio --store other --policy mine.policy",
    ),
    _arguments,
    _run,
)
