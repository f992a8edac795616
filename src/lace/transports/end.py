"""What a pump drives, and who may listen: the shape of `lace.drive.Wired`, which stands above us."""

from __future__ import annotations

from typing import Protocol

from lace.errors import RemoteProtocolError
from lace.interlace import InterlaceResult


class Tap(Protocol):
    """Sees the bytes of both directions; empty bytes are the end of one."""

    def __call__(self, sent: bool, data: bytes) -> None:
        """Look at bytes that were sent, or received."""
        ...


class End(Protocol):
    """What the pump drives: `lace.drive.Wired`. It waits for nothing, and may compute for seconds."""

    @property
    def result(self) -> InterlaceResult | None:
        """How it ended; None while it goes on."""
        ...

    @property
    def wants_data(self) -> bool:
        """Whether to feed it more."""
        ...

    @property
    def shut(self) -> bool:
        """Whether everything is said."""
        ...

    @property
    def aborted(self) -> bool:
        """Whether what is queued must not be sent any more."""
        ...

    def begin(self) -> None:
        """Start."""

    def receive_data(self, data: bytes) -> None:
        """Take bytes of the peer's."""

    def receive_end(self) -> None:
        """Take the end of the peer's direction."""

    def lose(self, error: RemoteProtocolError) -> None:
        """Take it that the connection is over, wherever it stood."""

    def data_to_send(self) -> bytes:
        """Return the next bytes for the peer; empty where there are none."""
        ...

    def timer(self) -> float | None:
        """Return when to call `time_over`, on the clock of the loop."""
        ...

    def time_over(self) -> None:
        """Say that the time is there."""

    def look(self) -> None:
        """Look whether the store has news."""

    def finish(self) -> None:
        """Close at the next fixed point."""

    def cancel(self) -> None:
        """Stop now; what was validated is stored."""

    def close(self) -> None:
        """Let go of everything: nothing more is asked of it."""
