"""Errors keep their promises: the drawn tree is the real one, and each code is one reason."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest

import lace.errors
from lace.errors import LaceError, LimitExceeded
from tests.layers import SECOND_DOORS
from tests.package import error_classes

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "errors.md"
ROOTS = [cls for cls in error_classes() if cls.__module__ == "lace.errors"]
CONCRETE = [cls for cls in error_classes() if cls.__module__ != "lace.errors"]
# Nothing stands above the command line that could catch its errors.
CAUGHT = [cls for cls in CONCRETE if not cls.__module__.startswith("lace.cli")]
CTRL_C = 130
"""What shells say of it; every other code is below 64."""
TREE_LINE = re.compile(r"(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)(\s{2,}.+)?")


def drawn_tree() -> dict[str, str]:
    """Return class -> parent as the docstring of errors.py draws it."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (lace.errors.__doc__ or "").splitlines():
        found = TREE_LINE.fullmatch(line)
        if found:
            depth = len(found["branch"]) // 4
            path[depth:] = [found["name"]]
            parents[found["name"]] = path[depth - 1] if depth else "Exception"
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    assert drawn_tree() == {cls.__name__: cls.__bases__[0].__name__ for cls in ROOTS}


def test_every_class_has_a_code_of_its_own() -> None:
    assert [cls.__qualname__ for cls in error_classes() if "code" not in vars(cls)] == []
    codes = Counter(cls.code for cls in error_classes())
    assert [code for code, n in codes.items() if n > 1] == []


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.__qualname__)
def test_a_class_is_documented_and_its_code_reads_area_and_what(cls: type[LaceError]) -> None:
    assert re.fullmatch(r"[a-z0-9]+/[a-z0-9]+(-[a-z0-9]+)*", cls.code)
    assert vars(cls).get("__doc__")
    assert cls.exit_code in (*range(1, 64), CTRL_C)
    assert f"`{cls.code}`" in REFERENCE.read_text(encoding="utf-8")


@pytest.mark.parametrize("cls", CONCRETE, ids=lambda cls: cls.__qualname__)
def test_a_concrete_error_has_a_sentence_with_plain_places(cls: type[LaceError]) -> None:
    assert cls.text != LaceError.text, "a concrete error says what is wrong in its own words"
    for _, place, spec, conversion in Formatter().parse(cls.text):
        # {a.b} and {a[0]} would reach into whatever was given; {a:{b}} hides a second place.
        assert place is None or place.isidentifier()
        assert "{" not in (spec or "")
        assert conversion in (None, "r", "s")


@pytest.mark.parametrize("cls", CAUGHT, ids=lambda cls: cls.__qualname__)
def test_a_concrete_error_can_be_caught_by_whoever_comes_through_the_door(cls: type[LaceError]) -> None:
    rooms = cls.__module__.split(".")
    second = ".".join(rooms[1:3]) in SECOND_DOORS
    door = import_module(".".join(rooms[: 3 if second else 2]))
    assert cls.__name__ in door.__all__
    assert getattr(door, cls.__name__) is cls


def test_every_error_is_where_the_table_says() -> None:
    named = re.findall(
        r"^\| `[^`]+` \| \d+ \| `([\w.]+)\.(\w+)` \|", REFERENCE.read_text("utf-8"), re.MULTILINE
    )
    found = [getattr(import_module(module), name, name) for module, name in named]
    assert set(found) == set(error_classes()), "make docs"


def test_an_error_survives_the_way_to_another_process() -> None:
    error = LimitExceeded(limit="headers", bound=1024, seen=1025)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.fields, str(again)) == (LimitExceeded, error.fields, str(error))
    assert again.to_json() == {
        "code": "limit/exceeded",
        "error": "headers: 1025 is over the limit of 1024",
        "limit": "headers",
        "bound": 1024,
        "seen": 1025,
    }
