"""libsecp256k1, through whichever of its two bindings is installed.

coincurve has no release for Python 3.14 and later, btclib-libsecp256k1 has one. Both hand out the functions
of the library as they are.

Rules of this file:
1. `BLINDED` is a context that its binding made unpredictable when it was loaded; here are no dice.
"""

from __future__ import annotations

from typing import Any, Final

ffi: Any
lib: Any
BLINDED: Any
try:
    import coincurve._libsecp256k1
    import coincurve.context

    ffi, lib = coincurve._libsecp256k1.ffi, coincurve._libsecp256k1.lib
    BLINDED = coincurve.context.GLOBAL_CONTEXT.ctx
except ModuleNotFoundError:
    import btclib_libsecp256k1.context

    ffi, lib = btclib_libsecp256k1.ffi, btclib_libsecp256k1.lib
    BLINDED = btclib_libsecp256k1.context.ctx

COMPRESSED: Final = 0x102
"""`SECP256K1_EC_COMPRESSED`, which not every binding names."""
