"""What the documents show is what happens: their examples run, and made pages are current.

Rules of this file:
1. The blocks of one document run in order, in one namespace and one folder of their own.
2. `python` blocks run as they stand. In a `console` block a line `$ command` runs in a shell that finds our
   `lace`; it must succeed, and where lines follow, they are what it prints (`...` stands for anything).
3. A block that is not meant to run has another language, such as `text`.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import bench.harness
import docs.make
import docs.python_source
import tests.layers
from docs.make import PAGES, REFERENCE
from tests.package import modules

ROOT = Path(__file__).parent.parent
PAPERS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SERVING = {ROOT / "README.md", ROOT / "docs" / "howto" / "python.md"}
"""Their Python opens sockets."""
FENCE = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```$", re.M | re.S)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a document."""

    language: str
    body: str
    line: int


def blocks(text: str) -> list[Block]:
    return [
        Block(found["language"], found["body"], text.count("\n", 0, found.start()) + 2)
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> list[tuple[str, str]]:
    """Split a console block into (command, what it prints)."""
    head, *parts = re.split(r"^\$ ", block.body, flags=re.M)
    assert not head.strip(), "a console block begins with `$ `"
    pairs = [part.partition("\n") for part in re.sub(r"\\\n", " ", "\0".join(parts)).split("\0")]
    return [(command, printed) for command, _, printed in pairs]


def run_document(path: Path, folder: Path, languages: set[str]) -> None:
    namespace = {"__name__": "__main__"}
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language not in languages:
            continue
        if block.language == "python":
            # Blank lines first, so that a traceback names the line of the document.
            exec(compile("\n" * (block.line - 1) + block.body, str(path), "exec"), namespace)
        elif block.language == "console":
            for command, printed in commands(block):
                run_command(command, printed, folder)


def run_command(command: str, printed: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    world = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "100"}
    world["SPARK_CONF_DIR"] = os.environ["SPARK_CONF_DIR"]
    done = subprocess.run(
        command, shell=True, cwd=folder, env=world, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    if printed.strip():
        same = doctest.OutputChecker().check_output(printed, done.stdout, FLAGS)
        assert same, f"$ {command}\nexpected:\n{printed}\nprinted:\n{done.stdout}"


def having(*languages: str) -> list[Path]:
    return [
        path
        for path in PAPERS
        if {block.language for block in blocks(path.read_text(encoding="utf-8"))} & set(languages)
    ]


def ids(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.net] * (path in SERVING)) for path in having("python")],
    ids=ids(having("python")),
)
def test_python_in_a_document_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_document(path, tmp_path, {"python"})


@pytest.mark.net
@pytest.mark.parametrize("path", having("console"), ids=ids(having("console")))
def test_commands_in_a_document_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_document(path, tmp_path, {"python", "console"})


@pytest.mark.parametrize(
    "module",
    [*modules(), docs.make, docs.python_source, bench.harness, tests.layers],
    ids=lambda module: module.__name__,
)
def test_the_examples_of_a_module_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_made_page_is_current(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def test_blocks_and_commands_are_found_where_they_stand() -> None:
    text = "# A\n\n```console\n$ lace put \\\n  x\nB.…\n$ lace ls\n```\n\n```python\nx = 1\n```\n"
    console, python = blocks(text)
    assert (console.language, console.line, python.body, python.line) == ("console", 4, "x = 1\n", 11)
    assert commands(console) == [("lace put    x", "B.…\n"), ("lace ls", "")]


def test_a_document_that_is_wrong_is_caught(tmp_path: Path) -> None:
    paper = tmp_path / "wrong.md"
    paper.write_text("```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run_document(paper, tmp_path, {"python"})
