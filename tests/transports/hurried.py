"""An event loop whose time passes when nothing else does: hours of waiting cost nothing."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Selector(selectors.DefaultSelector):
    """Looks at the world, and where nothing happens turns the clock on."""

    loop: HurriedLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.loop.in_threads:
            return super().select(None if timeout else timeout)
        events = super().select(0)
        if not events and timeout is None:
            raise AssertionError("everybody waits, and nothing will ever happen")
        if not events and timeout:
            # A nanosecond late, as the world is: sums of floats must not stop short of what was waited for.
            self.loop.seconds += timeout + 1e-9
        return events


class HurriedLoop(asyncio.SelectorEventLoop):
    """Real threads, no real time. For streams inside the process only: sockets take time that nobody sees."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.in_threads = 0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return the pretended time."""
        return self.seconds

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Count what runs elsewhere: while it does, no time passes."""
        self.in_threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._back)
        return future

    def _back(self, _: object) -> None:
        self.in_threads -= 1


def hurry(task: Coroutine[Any, Any, Result]) -> Result:
    """Run something in a hurry."""
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        return runner.run(task)
