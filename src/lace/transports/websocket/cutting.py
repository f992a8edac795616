"""Frames cut where the bytes that came end, so that nobody has to hold one until it is whole.

    came     [head 16 MiB | 50 kB ...           what the peer sent of one frame so far
    given    [head 50 kB, not the last | 50 kB]  a fragment, and the rest follows in others

060: "WebSocket frame and message boundaries are transport fragmentation only", so a frame may be cut anywhere
into fragments (RFC 6455, 5.4). The protocol that they are given to judges them: here only lengths are read.

Rules of this file:
1. What is held of a frame that is not whole is its header, or a control frame, which cannot be cut.
2. However the bytes are cut, the payload is the same.
"""

from __future__ import annotations

from typing import Final

FRAMES: Final = 256
"""So many frames are made at once: an empty one is two bytes on the wire and half a kilobyte as an object."""
_LAST: Final = 0x80
_CONTROL: Final = 0x08
_MASKED: Final = 0x80
_CONTROL_BYTES: Final = 125


class Cutter:
    """The frames of one direction, from their first byte on."""

    def __init__(self, early: bytes = b"") -> None:
        """Begin with bytes that came already, if any."""
        self._raw = early
        self._at = 0
        """What is before it was taken."""
        self._left = 0
        """So much payload of the frame under way was not taken yet."""
        self._first = 0
        """The first byte of its next fragment, were it the last."""
        self._mask = b""
        self.cut = 0
        """So many fragments and whole frames were given."""
        self.dry = False
        """Whether more has to come first, as far as anybody has looked."""

    def feed(self, raw: bytes) -> None:
        """Take bytes of the peer's."""
        rest = self._raw[self._at :]
        self._raw, self._at = rest + raw if rest else raw, 0
        self.dry = False

    def take(self, most: int) -> bytes:
        """Return whole frames with at most so many bytes of payload; empty where more has to come first.

        >>> cutter = Cutter(bytes([0x82, 5]) + b"he")
        >>> cutter.take(99)
        b'\\x02\\x02he'
        >>> cutter.feed(b"llo")
        >>> cutter.take(99)
        b'\\x80\\x03llo'
        """
        raw, at = self._raw, self._at
        view, end = memoryview(raw), min(len(raw), self._at + most)
        frames: list[bytes | memoryview] = []
        while at < end and len(frames) < FRAMES:
            if not self._left:
                size, length = _measure(raw, at)
                # One that is too long is cut and so refused: no fragment of a message is a control frame.
                whole = raw[at] & _CONTROL and length <= _CONTROL_BYTES
                if len(raw) < at + size + (length if whole else min(length, 1)):
                    break
                if whole or not length:
                    frames.append(view[at : at + size + length])
                    at += size + length
                    self.cut += 1
                    continue
                self._first, self._left = raw[at], length
                self._mask = raw[at + size - 4 : at + size] if raw[at + 1] & _MASKED else b""
                at += size
            count = min(self._left, len(raw) - at, max(1, end - at))
            self._left -= count
            first = self._first & ~_LAST if self._left else self._first
            frames += _header(first, count, self._mask), view[at : at + count]
            at += count
            self.cut += 1
            # What follows in the frame continues it: RFC 6455 and 7692 mark only the first fragment.
            self._first &= _LAST
            self._mask = self._mask[count % 4 :] + self._mask[: count % 4]
        self._at, self.dry = at, not frames
        return b"".join(frames)


def _measure(raw: bytes, at: int) -> tuple[int, int]:
    """Return the size of a header and the length that it gives; 0 where it is not whole."""
    if len(raw) < at + 2:
        return 3, 0
    short = raw[at + 1] & ~_MASKED
    wide = {126: 2, 127: 8}.get(short, 0)
    size = 2 + wide + (4 if raw[at + 1] & _MASKED else 0)
    if len(raw) < at + size:
        return size, 0
    return size, int.from_bytes(raw[at + 2 : at + 2 + wide]) if wide else short


def _header(first: int, count: int, mask: bytes) -> bytes:
    masked = _MASKED if mask else 0
    if count < 126:
        return bytes((first, masked | count)) + mask
    if count < 1 << 16:
        return bytes((first, masked | 126)) + count.to_bytes(2) + mask
    return bytes((first, masked | 127)) + count.to_bytes(8) + mask
