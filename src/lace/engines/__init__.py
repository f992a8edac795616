"""Engines: relational programs over facts. The embedded one needs numpy; importing this door does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lace.engines.driver import RuleCost
    from lace.engines.embedded import Database, DatabaseVersion, DerivedPredicate, EmbeddedEvaluation
    from lace.engines.handed import DerivedRows
    from lace.engines.prepared import PreparedProgram
    from lace.engines.result import EmbeddedResult

__all__ = [
    "Database", "DatabaseVersion", "DerivedPredicate", "DerivedRows", "EmbeddedEvaluation", "EmbeddedResult",
    "PreparedProgram", "RuleCost",
]  # fmt: skip

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from lace.engines import driver, embedded, handed, prepared, result

        room = next(room for room in (embedded, driver, handed, prepared, result) if name in vars(room))
        return getattr(room, name)


def __dir__() -> list[str]:
    return __all__
