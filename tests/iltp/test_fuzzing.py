"""Fuzzing that is guided by what the code does, where atheris is installed; and its targets without it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.iltp.fuzzing import TARGETS, write_seeds

START = """
import atheris
with atheris.instrument_imports(include=["lace"]):
    from tests.iltp.fuzzing import main
main()
"""
RUNS = {"reader": 20_000, "exchange": 10_000}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    write_seeds(folder)
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_what_fuzzing_begins_with_is_read_as_it_should_be(target: str, seeds: Path) -> None:
    files = sorted(seeds.iterdir())
    assert len(files) > 20
    for file in files:
        TARGETS[target](file.read_bytes())
    TARGETS[target](b"")


@pytest.mark.slow
@pytest.mark.net
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_that_atheris_finds_is_an_untyped_error_or_too_much_work(
    target: str, seeds: Path, tmp_path: Path
) -> None:
    found = tmp_path / "found"
    found.mkdir()
    options = [
        f"-runs={RUNS[target]}",
        "-seed=7",
        "-max_len=16384",
        "-timeout=20",
        f"-artifact_prefix={found}/",
    ]
    line = [sys.executable, "-c", START, target, *options, str(tmp_path), str(seeds)]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert not list(found.iterdir())
