"""Engines: relational programs over facts. The embedded one needs numpy; importing this door does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lace.engines.embedded import Database, DatabaseVersion, DerivedPredicate, EmbeddedEvaluation
    from lace.engines.result import EmbeddedResult

__all__ = ["Database", "DatabaseVersion", "DerivedPredicate", "EmbeddedEvaluation", "EmbeddedResult"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from lace.engines import embedded

        return getattr(embedded, name)
    raise AttributeError(name)
