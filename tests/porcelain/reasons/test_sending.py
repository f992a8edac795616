"""What a history tells about a record is told to people in lines and to programs as JSON."""

from __future__ import annotations

import json

from lace.porcelain import Lace, parse_policy
from tests.porcelain.talking import OPEN, Answering, notes, stocked

MINE, OTHERS = notes("mine", 1), notes("others", 1)


def exchanged() -> Lace:
    lace = stocked(MINE)
    lace.sync("unix:/nowhere", parse_policy(OPEN, "town"), over=Answering(stocked(OTHERS)).connect)
    return lace


def test_what_left_is_told_with_the_rules_that_let_it() -> None:
    found = exchanged().why_sent(MINE[0].id)
    head, first, *rest = found.lines()
    assert head == f"{MINE[0].id} left 1 time"
    assert first.startswith("exchange 1, ")
    assert "to somebody who proved nothing" in first
    assert "  selected by us: SelectHave(P) :- Have(P), Field(P,'Group',_,'u')." in rest
    assert "  this reason is as it was" in rest
    assert not any("MaySend(" in line for line in rest)
    whole = list(found.lines(proofs=True))
    assert any(line.startswith(f"    MaySend('{MINE[0].id}')  by rule") for line in whole)
    assert len(list(found.lines(proofs=True, depth=1))) < len(whole)
    told = json.loads(json.dumps(found.to_json()))
    assert (told["sent"], told["sendings"][0]["exchange"], told["others"]) == (True, 1, [])


def test_what_came_is_told_by_whom() -> None:
    found = exchanged().why_sent(OTHERS[0].id)
    head, came, here = found.lines()
    assert head == f"{OTHERS[0].id} never left, as far as the history goes"
    assert came.endswith(": it came from somebody who proved nothing")
    assert here == "the record is here"
    [other] = found.to_json()["others"]
    assert (other["exchange"], other["way"]) == (1, "came")


def test_what_is_not_explained_says_how_it_would_be() -> None:
    lines = list(exchanged().why_sent(MINE[0].id, explain=0).lines())
    assert lines[-1] == "  not explained: a larger number explains it (--explain, explain=)"
