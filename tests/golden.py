"""Reads the golden vectors; tests that make one case each use it while they are collected."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "vectors"


@cache
def load_vectors(name: str) -> Any:
    """Return the content of tests/vectors/NAME.json."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
