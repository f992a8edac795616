"""The binding of libsecp256k1 that this Python does not take does what the other one does."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lace.signing import library

ROOT = Path(__file__).parents[2]
TAKEN = library.lib.__name__
FIRST, SECOND = "coincurve", "btclib_libsecp256k1"
PROGRAM = f"""
import sys

sys.modules["{FIRST}"] = None  # as if it were not installed

import pytest
from lace.signing import library

assert library.lib.__name__ != "{TAKEN}"
files = ["tests/signing/test_curve.py", "tests/signing/test_schnorr.py"]
sys.exit(pytest.main(["-p", "no:cacheprovider", "-k", "not threads and not only_as_signed", *files]))
"""


@pytest.mark.net
def test_signatures_are_the_same_without_the_binding_that_is_taken_first() -> None:
    for binding in (FIRST, SECOND):
        if find_spec(binding) is None:
            pytest.skip(f"{binding} is not installed: it has no release for this Python")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
