"""Two stores agree by rules on the records that they share, and exchange them until both have them.

The public names; they are loaded when they are first used (PEP 562), so that `import lace` costs next to
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lace._version import __version__
from lace.errors import (
    Corrupt,
    EngineError,
    FactError,
    InputError,
    LaceError,
    LacegramError,
    LimitExceeded,
    LocalProtocolError,
    Missing,
    PolicyError,
    ProtocolError,
    RecordError,
    RemoteProtocolError,
    StoreError,
    TextError,
    Unavailable,
)

if TYPE_CHECKING:
    from lace.porcelain import Lace
    from lace.record import RecordReader, make_blob, make_plex, make_seal, parse_record
    from lace.signing import Secret, parse_secret

__all__ = [
    "Corrupt", "EngineError", "FactError", "InputError", "Lace", "LaceError", "LacegramError",
    "LimitExceeded", "LocalProtocolError", "Missing", "PolicyError", "ProtocolError", "RecordError",
    "RecordReader", "RemoteProtocolError", "Secret", "StoreError", "TextError", "Unavailable",
    "__version__", "make_blob", "make_plex", "make_seal", "parse_record", "parse_secret",
]  # fmt: skip

_DOORS = {
    "lace.porcelain": ("Lace",),
    "lace.record": ("RecordReader", "make_blob", "make_plex", "make_seal", "parse_record"),
    "lace.signing": ("Secret", "parse_secret"),
}
_DOOR_OF = {name: door for door, names in _DOORS.items() for name in names}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _DOOR_OF:
            raise AttributeError(f"module 'lace' has no attribute {name!r}")
        value = getattr(import_module(_DOOR_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
