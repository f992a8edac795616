"""What a type checker says about calls: a wrong combination is told before anything runs.

Rules of this file:
1. A call that is wrong stands in a line that ends with `# wrong`; no other line is complained about.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_docs_run import blocks

api = pytest.importorskip("mypy.api", reason="the dev extra is not installed")

ROOT = Path(__file__).parent.parent
GUIDES = [
    "README.md",
    "docs/tutorial.md",
    *(f"docs/howto/{name}.md" for name in ("policies", "python", "records", "rules")),
]

CALLS = """\
from contextlib import aclosing, closing
from typing import assert_type
from lace import Lace, Secret
from lace.porcelain import follow, parse_policy
from lace.record import Blob, Plex, Record, Seal

def calls(lace: Lace, key: Secret, perhaps: Secret | None, place: str | None) -> None:
    assert_type(lace.put(b"x"), Blob)
    assert_type(lace.put(b"x", group="u", app="a", name="n"), Plex)
    assert_type(lace.put(b"x", group="u", app="a", name="n", sign=None), Plex)
    assert_type(lace.put(b"x", group="u", app="a", name="n", tai="now", links=["//u//a//m"]), Plex)
    assert_type(lace.put(b"x", group="u", app="a", name="n", sign=key, extra=[("Tag", "t")]), Seal)
    assert_type(lace.put(b"x", group="u", app="a", name="n", sign=perhaps), Plex | Seal)
    assert_type(lace.make(b"x"), Blob)
    assert_type(lace.make(b"x", group="u", app="a", name="n", sign=key), Seal)
    # Who passes a place on that may be none has all three, or none of them.
    assert_type(lace.put(b"x", group=place, app=place, name=place), Record)
    assert_type(lace.make(b"x", group=place, app=place, name=place, sign=perhaps, tai=place), Record)
    lace.put("x")  # wrong
    lace.put(b"x", group="u")  # wrong
    lace.put(b"x", group="u", app="a")  # wrong
    lace.put(b"x", sign=key)  # wrong
    lace.put(b"x", tai="now")  # wrong
    lace.put(b"x", extra=[("Tag", "t")])  # wrong
    lace.put(b"x", group="u", app="a", name="n", sign="me")  # wrong
    lace.put(b"x", group="u", app="a", name="n", key=key)  # wrong
    lace.make(b"x", group="u", name="n")  # wrong

def follows(lace: Lace) -> None:
    with closing(lace.follow("tcp:x", "x.policy", look_seconds=0.1)) as events:
        next(events)

async def goes_on(lace: Lace) -> None:
    async with aclosing(follow(lambda: lace.interlace("tcp:x", "x.policy", stays_open=True))) as events:
        async for event in events:
            print(event)

def looks(lace: Lace) -> None:
    policy = parse_policy("")
    lace.preview(policy, peer=None, encrypted=True, there=lace)
    len(lace.preview(policy).may_request)  # wrong
    lace.preview(policy, adverts=[])  # wrong
    lace.why_send("x")  # wrong
    lace.sync("tcp:x", policy, require_peer="V.")  # wrong
"""


def type_check(folder: Path, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a strict type checker says about some files."""
    files = [folder / f"{name}.py" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    # The cache of `make check` is used where it is there.
    config = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"))
    said, faults, _ = api.run([*config, "--no-error-summary", *map(str, files)])
    assert not faults
    return str(said)


def shown_by(page: str) -> str:
    """Return the Python of a guide."""
    shown = blocks((ROOT / page).read_text(encoding="utf-8"))
    return "\n".join(block.body for block in shown if block.language == "python")


def test_wrong_calls_are_type_errors_and_right_ones_and_what_the_guides_show_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one: without a cache the checker takes half a minute to begin."""
    guides = {Path(page).stem: shown_by(page) for page in GUIDES}
    said = type_check(tmp_path, {"calls": CALLS, **guides}, monkeypatch)
    told = {(file, int(line)) for file, line in re.findall(r"^(?:.*/)?(\w+)\.py:(\d+): error", said, re.M)}
    wrong = {number for number, line in enumerate(CALLS.splitlines(), 1) if line.endswith("# wrong")}
    assert told == {("calls", number) for number in wrong}, said
