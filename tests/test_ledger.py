"""The ledger tells the truth: only what passed, once for each function, from one process or many."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledger import Ledger

SAMPLE = """
import pytest

@pytest.mark.req("020-001")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_three_times(n): pass

@pytest.mark.req("020-002")
@pytest.mark.parametrize("n", [1, 2])
def test_half(n): assert n == 1

@pytest.mark.req("020-003")
def test_skipped(): pytest.skip("not here")

@pytest.mark.req("020-004")
@pytest.mark.xfail
def test_expected_to_fail(): assert False

@pytest.fixture
def late():
    yield
    raise OSError

@pytest.mark.req("020-005")
def test_falls_at_the_end(late): pass

@pytest.mark.req("020-006", "020-001")
class TestMany:
    def test_one(self): pass
"""


def test_a_function_with_one_failing_parameter_shows_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json")
    ledger.record("t.py::test_a[x]", ["020-001"], "passed")
    ledger.record("t.py::test_a[y]", ["020-001"], "failed")
    ledger.record("t.py::test_b[x]", ["020-001"], "passed")
    ledger.record("t.py::test_b[y[0]]", ["020-001"], "passed")
    assert ledger.rows() == {"020-001": ["t.py::test_b"]}


def test_a_ledger_replaces_the_one_before_it_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "build" / "ledger.json"
    for row in ("020-001", "020-002"):
        ledger = Ledger(path)
        ledger.record("t.py::test_a", [row], "passed")
        ledger.write()
    assert json.loads(path.read_text(encoding="utf-8")) == {"020-002": ["t.py::test_a"]}
    assert [p.name for p in path.parent.iterdir()] == ["ledger.json"]


@pytest.mark.net
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_a_run_writes_what_passed_in_it(tmp_path: Path, workers: list[str]) -> None:
    root = Path(__file__).parent.parent
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(root)!r})\nfrom tests.conftest import *\n", encoding="utf-8"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  req: rows\n", encoding="utf-8")
    (tmp_path / "test_sample.py").write_text(SAMPLE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert json.loads((tmp_path / "build" / "ledger.json").read_text(encoding="utf-8")) == {
        "020-001": ["test_sample.py::TestMany::test_one", "test_sample.py::test_three_times"],
        "020-006": ["test_sample.py::TestMany::test_one"],
    }
