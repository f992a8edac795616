"""Verbs about records start quickly: they load no engine and nothing of an exchange."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"asyncio", "lace.datalog", "lace.drive", "lace.engines", "lace.interlace", "numpy", "rich"}
VERBS = (
    ("init", "."),
    ("put", "--group", "u", "--app", "notes", "--name", "first", "words"),
    ("get", "//u//notes//first"),
    ("get", "//u//notes//first", "--headers"),
    ("ls",),
    ("facts", "//u//notes//first"),
    ("stat",),
    ("verify",),
    ("export", "all.records"),
    ("import", "all.records"),
    ("rm", "//u//notes//first"),
)
PROGRAM = f"""
import sys
from lace.cli import main

for verb in {VERBS!r}:
    code = main(verb)
    heavy = {HEAVY!r} & set(sys.modules)
    if code or heavy:
        sys.exit(f"{{verb[0]}}: ended with {{code}}, loaded {{sorted(heavy)}}")
"""


def test_verbs_about_records_load_no_engine(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("When is the market?")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
