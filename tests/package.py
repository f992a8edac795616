"""Imports every file of the package, for tests that ask something of all of it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

import lace
from lace.errors import LaceError
from tests.layers import GUESTS


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return all modules of lace, but those whose guest library is not installed here."""
    found = [lace]
    for info in pkgutil.walk_packages(lace.__path__, "lace."):
        try:
            found.append(importlib.import_module(info.name))
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in GUESTS:
                raise
    return tuple(found)


@cache
def error_classes() -> tuple[type[LaceError], ...]:
    """Return every class of error in the package, roots included, by module and name."""
    modules()
    found: set[type[LaceError]] = set()
    queue: list[type[LaceError]] = [LaceError]
    while queue:
        cls = queue.pop()
        found.add(cls)
        queue.extend(cls.__subclasses__())
    ours = (cls for cls in found if cls.__module__.partition(".")[0] == "lace")
    return tuple(sorted(ours, key=lambda cls: (cls.__module__, cls.__qualname__)))
