"""How large a record may be (PROFILE section 5: "Limits, configurable")."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """The bounds a reader keeps; a length is checked before anything of that length is held."""

    data_bytes: int = 64 * 1024 * 1024
    """A Blob's data."""
    header_bytes: int = 64 * 1024
    """The header lines of one layer with their LFs, without marklines."""
    headers: int = 1024
    """Header lines of one layer, the four named ones of a Plex included."""


LIMITS = RecordLimits()
