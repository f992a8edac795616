"""Every verb helps: a sentence, its options, an example; and the examples run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from lace.cli.command import Command
from lace.cli.entry import COMMANDS
from lace.cli.grammar import parse_count, parse_size
from lace.porcelain import CaptureWriter, Lace, now_tai, run_sync
from tests.cli.conftest import Run
from tests.porcelain.talking import OPEN, Answering, interlacing, notes
from tests.porcelain.talking import stocked as stocked_lace


def verbs(
    commands: tuple[Command, ...] = COMMANDS, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Command]]:
    for command in commands:
        yield (*before, command.name), command
        yield from verbs(command.commands, (*before, command.name))


VERBS = list(verbs())
NAMES = [" ".join(path) for path, _ in VERBS]


@pytest.mark.parametrize(("path", "command"), VERBS, ids=NAMES)
def test_a_verb_has_a_help_with_an_example(run: Run, path: tuple[str, ...], command: Command) -> None:
    helped = run(*path, "--help")
    assert helped.code == 0
    assert command.summary[1:] in " ".join(helped.out.split())
    assert "lace " + " ".join(path) in " ".join(command.examples)
    assert all(f"  {example}\n" in helped.out for example in command.examples)


@pytest.mark.parametrize("path", [path for path, _ in VERBS], ids=NAMES)
def test_from_and_to_are_addresses_and_nothing_else(run: Run, path: tuple[str, ...]) -> None:
    helped = run(*path, "--help").out
    assert ("--from ADDRESS" in helped) == ("--from" in helped) == (path in (("get",), ("ls",)))
    assert ("--to ADDRESS" in helped) == ("--to " in helped) == (path == ("put",))


BEFORE = (
    "lace init && lace key new me && lace gen --count 50 --store . && lace gen --count 50 set.records"
    " && lace put --group u --app notes --name first hello.txt"
)


def shell(line: str, folder: Path) -> None:
    bins = str(Path(sys.executable).parent)
    world = {"PATH": os.pathsep.join([bins, os.environ["PATH"]]), "HOME": str(folder)}
    # What is tested is what lies here, also where another checkout is installed.
    world["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    world["SPARK_CONF_DIR"] = os.environ["SPARK_CONF_DIR"]
    done = subprocess.run(
        line, shell=True, cwd=folder, env=world, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the examples expect it; each verb gets a copy."""
    folder = tmp_path_factory.mktemp("stocked")
    (folder / "hello.txt").write_text("hello\n")
    (folder / "papers").mkdir()
    (folder / "papers" / "one.txt").write_text("one\n")
    shell(BEFORE, folder)
    (folder / "both.policy").write_text(OPEN)
    with Lace.init(folder / "copy") as other, (folder / "talk.capture").open("wb") as file:
        tap = CaptureWriter(file, "here", "there", now_tai(), time.monotonic)
        run_sync(interlacing(other, Answering(stocked_lace(notes("a", 3))), tap=tap))
    return folder


@pytest.mark.net
@pytest.mark.parametrize(("path", "command"), VERBS, ids=NAMES)
def test_the_examples_of_a_verb_run(
    tmp_path: Path, stocked: Path, path: tuple[str, ...], command: Command
) -> None:
    copytree(stocked, tmp_path / "copy")
    for line in command.examples:
        shell(line, tmp_path / "copy")


@pytest.mark.net
@pytest.mark.parametrize("name", ["put", "get", "sync", "follow", "preview", "why-send", "why-not-send"])
def test_what_people_try_first_runs_in_a_lace_with_nothing_in_it(tmp_path: Path, name: str) -> None:
    shell("lace init", tmp_path)
    for line in {path[0]: command for path, command in VERBS}[name].examples:
        shell(line, tmp_path)


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("64k", 65536), ("16M", 16 << 20), ("2g", 2 << 30)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "k", "-1", "1.5M", "0", "0k", "1T", "٣", "1 k"])
def test_other_text_is_no_size(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "-1", "x", "1.0", "٣"])
def test_other_text_is_no_count(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no number"):
        parse_count(text)


@pytest.mark.parametrize(
    "words",
    [["ls", "-n", "9" * 23], ["gen", "--count", "9" * 26, "x"], ["gen", "--start", "9" * 25, "--count", "1"]],
)
def test_a_number_beyond_counting_is_wrong_usage(lace: Run, words: list[str]) -> None:
    done = lace(*words)
    assert done.code == 2
    assert "is too large: write at most 18 digits" in done.err


def test_the_largest_numbers_are_no_bugs(lace: Run) -> None:
    assert lace("ls", "-n", "9" * 18).code == 0
    assert "[text/tai-range]" in lace("gen", "--start", "9" * 18, "--count", "9" * 18).err
    assert lace("gen", "--seed", "9" * 30, "--count", "1").code == 0
