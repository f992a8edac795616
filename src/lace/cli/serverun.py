"""One run of `lace serve`: its signals, its ready line, its log, its end.

Rules of this file:
1. The first SIGTERM or SIGINT lets exchanges end, the second aborts them, the third ends the process.
2. SIGHUP reads everything again. What is not understood changes nothing, and the log says why.
3. A lake is folded, and goes on with its newest version, when it is asked to and nobody is connected.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from lace.cli.command import Call
from lace.cli.signals import ENDS, on_end_signals
from lace.errors import LaceError
from lace.porcelain import (
    EXIT_CODES,
    Arrangement,
    JoinedLake,
    Lace,
    Metrics,
    Outcome,
    Reports,
    ServerLog,
    Serving,
    file_faults,
    outcome_of,
    serve_metrics,
)
from lace.signing import Secret

ABORTED = 130
_KEPT: dict[str, Callable[[Arrangement], object]] = {
    "address": lambda each: each.addresses,
    "sign-as": lambda each: each.sign_as,
    "socket-mode": lambda each: each.options.unix_mode,
    "log": lambda each: each.log,
    "log-format": lambda each: each.log_format,
    "metrics": lambda each: each.metrics,
}
"""What was opened when the server started, and is not opened again by SIGHUP."""
IDLE_SECONDS = 0.2
"""How often somebody who waits until nobody is connected looks."""


class LogFile:
    """Where lines of a log go: a file that may be moved away, or stderr."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO = sys.stderr
        self.reopen()

    def reopen(self) -> None:
        """Go on in the file that has the name now: whoever moves logs away sends SIGHUP afterwards."""
        if self._path is not None:
            with file_faults(self._path):
                file = self._path.open("a", encoding="utf-8")
            before, self._file = self._file, file
            # On a full disk it ends without its last lines: whoever makes room there gets a log all the same.
            if before is not sys.stderr:
                with suppress(OSError):
                    before.close()

    def write(self, line: str) -> None:
        """Write one line."""
        self._file.write(f"{line}\n")
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        if self._path is not None and self._file is not sys.stderr:
            with file_faults(self._path):
                self._file.close()


@contextmanager
def log_of(call: Call, arrangement: Arrangement) -> Iterator[tuple[ServerLog, LogFile]]:
    """Lend out the log, which hears of what stores and transports report too."""
    form = arrangement.log_format or ("json" if call.out.as_json else "text")
    file = LogFile(arrangement.log)
    log = ServerLog(file.write, "json" if form == "json" else "text")
    root = logging.getLogger("lace")
    before = root.handlers[:], root.level
    root.handlers[:], root.level = [Reports(log)], logging.INFO
    try:
        yield log, file
    finally:
        root.handlers[:], root.level = before
        file.close()


class ServerRun:
    """One run of a server, with the signals that steer it."""

    def __init__(
        self,
        call: Call,
        lace: Lace,
        arrangement: Arrangement,
        again: Callable[[], Arrangement],
        *,
        secret: Secret | None,
        log: tuple[ServerLog, LogFile],
    ) -> None:
        """Prepare; `again` reads the arrangement again."""
        self._again = again
        self._reloading: set[asyncio.Task[None]] = set()
        self._asked = self._answered = 0
        """How often to read everything again, and which of these times was the last to be done."""
        self._renewing = False
        self._call = call
        self._lace = lace
        self._arrangement = self._started = arrangement
        self._secret = secret
        self._log, self._file = log
        self._signals = 0
        self._stop = asyncio.Event()
        self._abort = asyncio.Event()

    async def serve(self) -> int:
        """Serve until somebody says to stop, and return the exit code."""
        metrics = Metrics()
        serving = Serving(
            self._lace.exchanges, self._arrangement, secret=self._secret, log=self._log, metrics=metrics
        )
        async with AsyncExitStack() as stack:
            stack.enter_context(self._steered(serving))
            page = None
            if self._arrangement.metrics is not None:
                page = await stack.enter_async_context(serve_metrics(self._arrangement.metrics, metrics))
            await stack.enter_async_context(serving.open())
            self._ready(serving, page)
            await self._until_over(serving)
            await self._let_end(serving)
        self._log.tell("stopped")
        if self._call.args.once or _has_one_peer(serving):
            if serving.last is not None:
                return EXIT_CODES[outcome_of(serving.last)]
            if not self._signals:
                return EXIT_CODES[Outcome.REFUSED]  # the one peer was turned away
        return ABORTED if self._abort.is_set() else 0

    def _ready(self, serving: Serving, page: str | None) -> None:
        """Say where the server is, to whoever waits for it."""
        addresses = [str(each) for each in serving.addresses]
        out = self._call.out
        out.lent = any(each.scheme == "stdio" for each in serving.addresses)
        told = {"event": "ready", "addresses": addresses, "metrics": page}
        out.result(f"serving {' '.join(addresses)}{f'; numbers at {page}' if page else ''}", told)
        out.flush()
        self._log.tell("ready", addresses=addresses, metrics=page)
        self._tell_certificates(serving)
        self._notify("READY=1")

    def _tell_certificates(self, serving: Serving) -> None:
        """Say until when certificates hold: to whoever watches the numbers, and in words where it matters."""
        # A file that goes away in this moment is no reason to fail: the server has what it said.
        with suppress(LaceError):
            for word, (_, end) in serving.arrangement.certificates().items():
                serving.metrics.set("lace_certificate_expires_timestamp_seconds", end.timestamp(), word=word)
            for note in serving.arrangement.certificate_notes(datetime.now(UTC)):
                self._log.tell("note", text=note)

    async def _until_over(self, serving: Serving) -> None:
        """Wait for a signal, or for the end of what was to be done."""
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(self._stop.wait())]
        if self._call.args.once:
            waits.append(asyncio.create_task(serving.one_ended()))
        if _has_one_peer(serving):
            waits.append(asyncio.create_task(serving.drained()))
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()

    async def _let_end(self, serving: Serving) -> None:
        """Let exchanges come to their fixed points, for a while."""
        self._notify("STOPPING=1")
        grace = self._arrangement.grace_seconds
        self._log.tell("stopping", exchanges=len(serving.attending), seconds=grace)
        serving.stop()
        drained = asyncio.create_task(serving.drained(grace))
        abort = asyncio.create_task(self._abort.wait())
        await asyncio.wait({drained, abort}, return_when=asyncio.FIRST_COMPLETED)
        for each in (drained, abort):
            each.cancel()
        if serving.attending:
            self._log.tell("aborting", exchanges=len(serving.attending))

    # Signals.

    @contextmanager
    def _steered(self, serving: Serving) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        with on_end_signals(self._asked_to_stop):
            loop.add_signal_handler(signal.SIGHUP, self._asked_to_reload, serving)
            try:
                yield
            finally:
                loop.remove_signal_handler(signal.SIGHUP)

    def _asked_to_stop(self) -> None:
        """Stop at the first signal, abort at the second; whoever sends a third one means it."""
        self._signals += 1
        self._stop.set()
        if self._signals > 1:
            self._abort.set()
            loop = asyncio.get_running_loop()
            for number in ENDS:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

    def _asked_to_reload(self, serving: Serving) -> None:
        reloading = asyncio.create_task(self._reload(serving))
        self._reloading.add(reloading)
        reloading.add_done_callback(self._reloading.discard)

    async def _reload(self, serving: Serving) -> None:
        """Read everything again; what cannot be understood changes nothing."""
        self._asked += 1
        number = self._asked
        try:
            self._file.reopen()
            arrangement = await asyncio.to_thread(self._again)
            if number < self._answered:
                return  # who was asked later was done before, and has what is newer
            self._answered = number
            renegotiating = serving.reload(arrangement)
        except LaceError as error:
            details: list[str] = getattr(error, "details", list)()
            serving.metrics.add("lace_reloads_total", outcome="refused")
            self._log.tell("reload-refused", code=error.code, error=error.sentence, details=details)
            return
        kept = [word for word, of in _KEPT.items() if of(arrangement) != of(self._started)]
        if kept:
            self._log.tell(
                "note", text=f"until the server starts again the old words hold for: {', '.join(kept)}"
            )
        self._arrangement = arrangement
        self._tell_certificates(serving)
        serving.metrics.add("lace_reloads_total", outcome="taken")
        self._log.tell("reloaded", exchanges=len(serving.attending), renegotiating=renegotiating)
        if isinstance(self._lace, JoinedLake) and not self._renewing:
            self._renewing = True
            try:
                await self._renew(self._lace, serving)
            finally:
                self._renewing = False

    async def _renew(self, lake: JoinedLake, serving: Serving) -> None:
        """Go on with the newest version of a lake, as soon as nobody is in an exchange with this one."""
        while serving.attending:
            await asyncio.sleep(IDLE_SECONDS)
        try:
            folded = await asyncio.to_thread(lake.renew)
        except LaceError as error:
            self._log.tell("renew-refused", code=error.code, error=str(error))
            return
        stored = 0 if folded is None else folded.stored
        self._log.tell("renewed", version=lake.peer.snapshot.version, folded=stored)

    def _notify(self, state: str) -> None:
        """Tell systemd, where it started us."""
        where = self._call.world.environment.get("NOTIFY_SOCKET")
        if where:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                address = f"\0{where[1:]}" if where.startswith("@") else where
                try:
                    notify.sendto(state.encode(), address)
                except OSError as error:
                    self._log.tell("note", text=f"systemd was not told {state}: {error}")


def _has_one_peer(serving: Serving) -> bool:
    """Tell whether there is nobody but whoever started us."""
    return all(each.scheme == "stdio" for each in serving.addresses)
