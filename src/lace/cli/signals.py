"""Signals that ask a command to end.

Rules of this file:
1. SIGTERM does what Ctrl-C would do at that moment: whoever looks after the one looks after both.
2. A verb that ends in good order says so for as long as its loop runs; then rule 1 holds again.
3. Who starts a process that ignores one of the two still can end it with the other.
4. Nothing is raised in the midst of Python's own importing: it would hold its lock for ever, and whoever
   imports next would hang.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

ENDS = (signal.SIGINT, signal.SIGTERM)
AGAIN_SECONDS: Final = 0.005
"""How soon a signal that came while Python imports is heard."""
_IMPORTING: Final = "<frozen importlib"


class Terminated(KeyboardInterrupt):
    """A Ctrl-C that nobody pressed: where the keys only drop what is under way, this ends."""


def interrupt_on_term() -> None:
    """Let SIGTERM be Ctrl-C from now on."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    if _is_put_off(frame):
        return
    # Asked each time: asyncio and Spark have handlers of their own for as long as they run.
    handler = signal.getsignal(signal.SIGINT)
    # A shell starts what is to run in the background without Ctrl-C.
    if not callable(handler) or handler is signal.default_int_handler:
        raise Terminated
    handler(signal.SIGINT, frame)


def _is_put_off(frame: FrameType | None) -> bool:
    """Tell whether Python imports in this moment; the signal comes again in the next one then."""
    if frame is None or not frame.f_code.co_filename.startswith(_IMPORTING):
        return False
    signal.signal(signal.SIGALRM, _again)
    signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    return True


def _again(_number: int, frame: FrameType | None) -> None:
    if not _is_put_off(frame):
        signal.raise_signal(signal.SIGTERM)  # to whoever looks after it by now


@contextmanager
def on_end_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call something on SIGINT and SIGTERM, in the loop that runs; outside the main thread there are none.

    One that is ignored stays so: a shell starts what is to run in the background without Ctrl-C.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    handlers = {number: signal.getsignal(number) for number in ENDS}
    before = {number: each for number, each in handlers.items() if each is not signal.SIG_IGN}
    with suppress(NotImplementedError, ValueError, RuntimeError):
        for number in before:
            loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        with suppress(NotImplementedError, ValueError, RuntimeError):
            for number, handler in before.items():
                if loop.remove_signal_handler(number):
                    signal.signal(number, handler)
