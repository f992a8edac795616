"""The core imports without its guests, in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.layers import GUESTS

pytestmark = pytest.mark.net


def loaded_after(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_lace_loads_no_guest_at_all() -> None:
    loaded = loaded_after("import lace")
    assert loaded & set(GUESTS) == set()
    assert loaded & {"asyncio", "sqlite3", "ssl", "http", "multiprocessing", "unittest"} == set()


def test_reading_records_loads_the_hash_and_the_curve_and_no_other_guest() -> None:
    loaded = loaded_after("import lace\nlace.parse_record, lace.parse_secret")
    assert loaded & set(GUESTS) <= {"blake3", "coincurve", "btclib_libsecp256k1"}
