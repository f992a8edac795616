"""The page about the trust boundary says what a peer learns, and names what is true of the code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lace.facts import GATED

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "design" / "trust-boundary.md").read_text(encoding="utf-8")
LEARNED = " ".join(PAGE.partition("## What a peer does learn")[2].split())


@pytest.mark.req("020-074")
def test_the_page_says_that_queryable_means_queryable() -> None:
    for way in ("requests", "advertisements", "summaries", "timing", "negation", "counts"):
        assert way in LEARNED
    assert "Queryable means queryable" in LEARNED


@pytest.mark.req("020-080")
def test_the_page_lists_what_an_exchange_discloses_beside_the_view() -> None:
    assert "Whether we hold a record whose hash it already knows" in LEARNED
    assert "The plan's identifier" in LEARNED


def test_the_page_names_every_gated_predicate() -> None:
    assert all(f"`{predicate.name}`" in PAGE for predicate in GATED)


def callers(name: str) -> list[str]:
    """Return the source files that call something by this name."""
    found = []
    for path in sorted((ROOT / "src" / "lace").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if any(isinstance(each, ast.Name) and each.id == name for each in called):
            found.append(path.relative_to(ROOT / "src" / "lace").as_posix())
    return found


def test_only_one_file_makes_views_and_only_exposure_asks_for_them() -> None:
    assert callers("View") == ["facts/view.py"]
    assert callers("full_view") == callers("query_view") == ["policy/expose.py"]


def test_only_lowering_puts_a_view_on_scans() -> None:
    assert [path for path in callers("restrict") if not path.startswith("algebra/")] == ["policy/lower.py"]
