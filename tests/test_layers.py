"""The floor plan holds: who may import whom, what pure code may touch, where libraries may stand."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.layers import GUESTS, LAYERS, PURE, SHAPELESS, door_names, module_of, violations

LACE = Path(__file__).parent.parent / "src" / "lace"
FILES = sorted(LACE.rglob("*.py"))


@cache
def real_door(package: str) -> frozenset[str] | None:
    door = LACE.joinpath(*package.split("."), "__init__.py")
    return door_names(ast.parse(door.read_text(encoding="utf-8"))) if door.exists() else None


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(LACE)) for p in FILES])
def test_a_file_imports_only_what_the_floor_plan_allows(path: Path) -> None:
    module = module_of(path.relative_to(LACE).parts)
    source = path.read_text(encoding="utf-8")
    assert violations(module, source, real_door, is_package=path.name == "__init__.py") == []


def test_the_floor_plan_has_a_line_for_every_package_and_looks_only_up() -> None:
    real = {p.relative_to(LACE).parts[0].removesuffix(".py") for p in FILES} - {"__init__"}
    assert real <= set(LAYERS)
    seen: set[str] = set()
    for package, allowed in LAYERS.items():
        assert set(allowed.split()) <= seen, package
        seen.add(package)


def test_the_language_and_the_engines_know_the_algebra_and_not_each_other() -> None:
    assert "engines" not in LAYERS["datalog"].split()
    assert "datalog" not in LAYERS["engines"].split()


def test_every_package_has_a_door_that_names_what_it_gives() -> None:
    packages = {p.relative_to(LACE).parts[0] for p in FILES if len(p.relative_to(LACE).parts) > 1}
    assert {p for p in packages if real_door(p) is None} == set()


def test_no_file_is_called_by_a_name_without_a_subject() -> None:
    assert [str(p.relative_to(LACE)) for p in FILES if p.stem in SHAPELESS] == []


def caught(module: str, source: str) -> list[str]:
    doors = {"record": frozenset({"parse_record"}), "pipeline": frozenset({"Lake"})}
    return violations(module, source, lambda package: doors.get(package))


@pytest.mark.parametrize("package", sorted(PURE))
def test_a_clock_in_a_pure_package_is_caught(package: str) -> None:
    [sentence] = caught(f"{package}.made_up", "import time\n")
    assert "is pure and may not import time" in sentence


@pytest.mark.parametrize("guest", sorted(GUESTS))
def test_a_guest_in_the_wrong_room_is_caught_and_in_its_own_is_welcome(guest: str) -> None:
    [sentence] = caught("inspector.made_up", f"import {guest}\n")
    assert f"{guest} is a guest of" in sentence
    assert [
        caught(room if "." in room else f"{room}.made_up", f"import {guest}.x\n") for room in GUESTS[guest]
    ] == [[] for _ in GUESTS[guest]]


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("record.parse", "from lace.facts import Fact", "record may not import facts"),
        ("text.ids", "from lace.record import parse_record", "text may not import record"),
        ("engines.embedded", "from lace.datalog import Rule", "engines may not import datalog"),
        ("datalog.compile", "from lace.engines import run", "datalog may not import engines"),
        ("facts.view", "def f():\n    from lace.policy import Plan", "facts may not import policy"),
        (
            "facts.fact",
            "from lace.record.parse import parse_record",
            "lace.record.parse.parse_record is a window",
        ),
        ("facts.fact", "import lace.record.parse", "lace.record.parse is a window"),
        ("facts.fact", "from lace.record import parse", "lace.record.parse is a window"),
        ("facts.fact", "import lace.record", "lace.record is a window"),
        ("facts.fact", "from ..record.parse import scan", "lace.record.parse.scan is a window"),
        ("text.ids", "from ..record import parse_record", "text may not import record"),
        ("text.ids", "from lace import errors", "not from lace itself"),
        ("cli.ls", "import lace", "not from lace itself"),
        ("porcelain.lace", "from lace.pipeline import Lake", "inside the function"),
        ("interlace.machine", "from random import random", "is pure and may not import random"),
        ("signing.keys", "def f():\n    import os.path", "is pure and may not import os"),
        ("record.parse", "data = open('x').read()", "may not call open()"),
        ("iltp.stream", "print('here')", "may not call print()"),
        ("text.ids", "from blake3 import blake3", "guest of text.digest"),
        ("engines.embedded", "import pyspark", "guest of engines.spark, pipeline"),
        ("engines.embedded", "from lace.engines.spark import SparkEngine", "works without it"),
        (
            "pipeline.rules",
            "from lace.engines.spark.loop import Loop",
            "lace.engines.spark.loop.Loop is a window",
        ),
        ("stores.sqlite", "import requests", "no guest of this house"),
        ("attic.box", "import re", "attic is on no floor"),
        ("record.parse", "from lace.attic import box", "lace.attic is on no floor"),
    ],
)
def test_a_violation_is_caught_with_a_sentence(module: str, source: str, fault: str) -> None:
    [sentence] = caught(module, source)
    assert fault in sentence


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("facts.fact", "from lace.record import parse_record\nfrom lace.facts.lines import write_fact_line"),
        (
            "facts.fact",
            "from .lines import write_fact_line\nfrom . import lines\nfrom ..record import parse_record",
        ),
        ("record.parse", "import re\nfrom dataclasses import dataclass\nfrom lace.errors import RecordError"),
        ("stores.sqlite", "import os, threading, time, apsw"),
        ("engines.spark", "import os, pyspark, numpy"),
        ("engines.spark.loop", "import time, pyspark, pyarrow\nfrom lace.engines.driver import SMALL"),
        ("pipeline.rules", "from lace.engines.spark import SparkEngine"),
        ("porcelain.lace", "def open_lake():\n    from lace.pipeline import Lake"),
        (
            "cli.stat",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lace.pipeline import Lake",
        ),
    ],
)
def test_what_the_floor_plan_allows_is_not_caught(module: str, source: str) -> None:
    assert caught(module, source) == []
