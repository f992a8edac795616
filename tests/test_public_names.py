"""Public names change on purpose: every door's `__all__` is sorted, true and pinned.

python -m tests.test_public_names      writes tests/public_names.txt again, after a change that is meant
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lace

LACE = Path(__file__).parent.parent / "src" / "lace"
PINNED = Path(__file__).parent / "public_names.txt"
DOORS = ["lace", *sorted(f"lace.{p.parent.name}" for p in LACE.glob("*/__init__.py"))]


def rank(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Sort CONSTANTS, then Classes, then the rest, numbers by value, as the linter does."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [(int(part or -1), text) for part, text in re.findall(r"(\d*)(\D*)", name)]


def lines() -> Iterator[str]:
    for door in DOORS:
        for name in sorted(importlib.import_module(door).__all__):
            yield f"{door}.{name}"


@pytest.mark.parametrize("door", DOORS)
def test_a_door_lists_its_names_in_order_once_and_truly(door: str) -> None:
    module = importlib.import_module(door)
    names = list(module.__all__)
    assert names == sorted(set(names), key=rank)
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_door_shows_its_names_before_anybody_used_one() -> None:
    """Tab in a console and `help` ask `dir`, which knows what is loaded and no more."""
    script = f"""
import importlib
for door in {DOORS}:
    module = importlib.import_module(door)
    assert set(module.__all__) <= set(dir(module)), door
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("door", DOORS[1:])
def test_a_door_lists_all_that_it_brings_from_its_own_rooms(door: str) -> None:
    source = (LACE / door.removeprefix("lace.") / "__init__.py").read_text(encoding="utf-8")
    brought = {
        alias.asname or alias.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{door}.")
        for alias in node.names
    }
    public = {name for name in brought if not name.startswith("_")}
    assert public <= set(importlib.import_module(door).__all__)


def test_the_public_names_are_those_that_were_agreed_on() -> None:
    assert list(lines()) == PINNED.read_text(encoding="utf-8").split()


def test_lace_gives_the_very_things_that_stand_behind_its_doors() -> None:
    for name, door in lace._DOOR_OF.items():
        assert getattr(lace, name) is getattr(importlib.import_module(door), name)
    tree = ast.parse((LACE / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == lace._DOOR_OF, "what a type checker sees is what is loaded"


@pytest.mark.parametrize("door", ["lace", "lace.engines", "lace.pipeline", "lace.porcelain"])
def test_a_type_checker_sees_every_name_that_is_loaded_late_and_no_other(door: str) -> None:
    module = importlib.import_module(door)
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = getattr(module, "_ROOM_OF", None) or getattr(module, "_DOOR_OF", None) or module.__all__
    assert seen == set(loaded)
    # A `__getattr__` that it sees means to it that every name is there.
    visible = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert "__getattr__" in vars(module)
    assert "__getattr__" not in visible


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    module = typing.cast(ModuleType, lace)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing
    assert set(lace.__all__) <= set(dir(lace))


if __name__ == "__main__":
    PINNED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
