"""What is selected, not shown, and not held: told where the rules say so clearly, and nowhere else."""

from __future__ import annotations

import pytest

from lace.porcelain import check_policy
from tests.porcelain.policy_texts import (
    ALICE,
    EXPOSE_NOTES,
    EXPOSE_TOWN,
    SELECT_ALL,
    SELECT_TOWN,
    SEND,
    TOWN,
)

CODE = "policy/hidden-not-held"
NO_WAGES = EXPOSE_TOWN.replace(").\n", "), not Field(P,'App',_,'wages').\n")
HARBOUR = f"[select]\n{SELECT_TOWN}[expose to anyone]\n{NO_WAGES}"


def lines_of(text: str) -> list[int]:
    """Return the lines at which the warning stands; others do not count here."""
    policy, found = check_policy(text)
    assert policy is not None, found
    assert {each.severity for each in found} <= {"warning"}
    return [each.span.line for each in found if each.code == CODE]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HARBOUR, 4),
        (f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}", 4),
        (f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}[expose to {ALICE}]\n{EXPOSE_NOTES}", 6),
        (f"[select]\n{SELECT_TOWN}[expose selected]\n[expose to anyone]\n{EXPOSE_NOTES}", 5),
        (TOWN.replace("_Viewer(V), ", "_Viewer(V), TransportEncrypted(), "), 4),
        (HARBOUR.replace("_Viewer(V), ", "_Viewer(V), Field(P,'Name',_,N), Field(_,'Open',_,N), "), 4),
        (f"[select]\n{SELECT_TOWN}[expose to anyone]\n{NO_WAGES}[expose to {ALICE}]\n{EXPOSE_NOTES}"
         "[expose union]\n", 4),
        (f"[select]\n{SELECT_TOWN}[expose to anyone]\nAllowQueryRecord(V,'x') :- _Viewer(V), true.\n", 4),
        (TOWN.replace("Have(P), F", "Have(P), Field(P,'tag',_,'red'), F")
         .replace("_Viewer(V), F", "_Viewer(V), not Field(P,'tag',_,'blue'), F"), 4),
    ],
    ids=[
        "denied", "all", "second section", "beside selected", "runtime", "and a join", "union", "one",
        "a header that repeats",
    ],
)  # fmt: skip
def test_a_view_that_shows_less_than_is_selected_is_warned_about(text: str, line: int) -> None:
    assert lines_of(text) == [line]
    assert lines_of(f"{text}[send]\n{SEND}") == [], "a section stands behind it"


@pytest.mark.parametrize(
    "text",
    [
        TOWN,
        f"[select]\n{SELECT_ALL}",
        f"[select]\n{SELECT_TOWN}[expose selected]\n",
        f"[select]\n{SELECT_ALL}[trust {ALICE}]\n",
        f"[select]\n{SELECT_ALL}[select storage]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}",
        f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_NOTES}[expose selected]\n[expose union]\n",
        f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}[expose to {ALICE}]\n{EXPOSE_NOTES}"
        "[expose union]\n",
        f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_NOTES}{EXPOSE_TOWN}",
        HARBOUR.replace("Have(P), F", "Have(P), not Field(P,'App',_,_), F"),
        HARBOUR.replace("Have(P), F", "Town(P).\nTown(P) :- F"),
        HARBOUR.replace("Have(P), F", "Have(P), Town(P).\nTown(P) :- F"),
        TOWN.replace("_Viewer(V), Field(P,'Group',_,'town')", "_Viewer(V), Town(P)")
        + "Town(P) :- Field(P,'Group',_,'town').\n",
        TOWN.replace("_Viewer(V), F", "_Viewer(V), Field(P,'Of',_,Q), F"),
        TOWN.replace("_Viewer(V), F", "_Viewer(V), Have(P), not Field(P,'Group',_,'wages'), F"),
    ],
    ids=[
        "the same", "nothing", "selected", "trusted", "one select is as narrow", "union with selected",
        "union with all", "another rule", "a wider denial", "a helper selects",
        "a helper selects too", "a helper shows", "a join",
        "another group is denied",
    ],
)  # fmt: skip
def test_what_shows_all_or_cannot_be_decided_is_let_be(text: str) -> None:
    assert lines_of(text) == []


def test_the_warning_says_what_to_do_and_refuses_nothing() -> None:
    policy, [found] = check_policy(HARBOUR)
    assert policy is not None
    assert (found.code, found.severity) == (CODE, "warning")
    assert "[expose to anyone]" in found.message
    assert "[send]" in found.note
