"""The reference of the Python API says of every public name what its source says, and imports none."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.python_reference import CHAPTERS, LACE_GROUPS, Chapter, render, render_names
from docs.python_source import doors, find, public
from lace.errors import LaceError

ROOT = Path(__file__).parent.parent


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def test_every_public_name_stands_under_its_package() -> None:
    parts = re.split(r"^## (\S+)$", render_names(), flags=re.M)
    told = dict(zip(parts[1::2], map(words, parts[2::2]), strict=True))
    missing = [f"{door}.{name}" for door in doors() for name in public(door) if name not in told[door]]
    assert missing == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.title)
def test_a_chapter_names_what_is_public_and_has_words_for_it(chapter: Chapter) -> None:
    for name in chapter.found():
        assert name.name in public(name.door), f"{name.door} does not give {name.name} away"
        assert name.about or name.kind == "value"
        assert not name.is_error


def test_every_verb_of_a_lace_is_in_a_group_of_its_kind() -> None:
    grouped = [name for names in LACE_GROUPS.values() for name in names.split()]
    assert sorted(grouped) == sorted(member.name for member in find("lace", "Lace").members)


def test_the_source_is_read_as_python_reads_it() -> None:
    """Signatures, docstrings and errors are those of the objects themselves."""
    for door in doors():
        module = importlib.import_module(door)
        for each in public(door):
            thing, found = getattr(module, each), find(door, each)
            assert found.is_error == (inspect.isclass(thing) and issubclass(thing, LaceError)), each
            if found.kind == "function":
                assert found.about == (inspect.getdoc(thing) or ""), each
                before = found.signatures[0].before
                assert (before == "await") == inspect.iscoroutinefunction(thing), each
                assert (before == "async for … in") == inspect.isasyncgenfunction(thing), each
                for name in inspect.signature(thing).parameters:
                    assert name in words(found.signatures[0].arguments), f"{door}.{each} takes {name}"
            elif found.kind == "class" and inspect.isclass(thing):
                public_members = {name for name in vars(thing) if not name.startswith("_")}
                told = {member.name for member in found.members}
                functions = {name for name in public_members if inspect.isfunction(vars(thing)[name])}
                assert functions <= told, f"{door}.{each}"


def test_ways_of_calling_are_all_shown() -> None:
    put = next(member for member in find("lace", "Lace").members if member.name == "put")
    assert [each.returns for each in put.signatures] == ["Blob", "Seal", "Plex", "Plex | Seal", "Record"]
    assert "`put(data: bytes) -> Blob`" in render()


def test_the_pages_are_made_without_loading_what_they_are_about() -> None:
    code = (
        "import sys; from docs.python_reference import render, render_names; render(), render_names();"
        "sys.exit(any(name.partition('.')[0] in ('lace', 'pyspark', 'pyarrow') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
