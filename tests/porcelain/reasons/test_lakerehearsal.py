"""A rehearsal over a lake says what one over a store with the same records says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyarrow", reason="the spark extra is not installed")

from lace.engines import Database
from lace.facts import facts_of_record
from lace.pipeline import SMALL_ROWS, Lake, RecordFrame
from lace.porcelain import (
    Lace,
    LakeRehearsal,
    Rehearsal,
    diff_rehearsals,
    fits_in_memory,
    generate,
    parse_policy,
    why_not_send,
)
from lace.text import RecordId
from tests.pipeline.lakes import lake_of
from tests.porcelain.policy_texts import ALICE, SELECT_ALL
from tests.sparkling import spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["spark"]
pytestmark = pytest.mark.spark

RECORDS = list(generate(3, 60))
STORE = Database(fact for record in RECORDS for fact in facts_of_record(record))
NOTES = """\
SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
SelectHave(Q) :- SelectHave(P), RecordLink(P,'+Link',_,_,Q).
SelectAdvertised(P,S) :- Advertised(P,S).
"""
EXPOSE = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), not Field(P,'App',_,'ding').\n"
SEND = "AllowSend(P) :- Have(P), not Field(P,'App',_,'wiki').\n"
OURS = f"[select]\n{SELECT_ALL}[select]\n{NOTES}[expose to anyone]\n{EXPOSE}[send]\n{SEND}"
"""Every part of it holds something back."""
TRUSTING = f"[select]\n{NOTES}[trust {ALICE}]\n[expose to anyone]\n{EXPOSE}"
THEIRS = """\
[select]
SelectHave(P) :- Have(P), not Field(P,'App',_,'mail').
SelectAdvertised(P,S) :- Advertised(P,S).
"""
CLAIMS = [("Advertised", record.id, ALICE) for record in RECORDS[:2]] + [("Advertised", "P.x", ALICE)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_of(tmp_path_factory.mktemp("lake") / "L", RECORDS[:40], RECORDS[40:])


def told(rehearsal: Rehearsal) -> tuple[Any, ...]:
    found = rehearsal.preview()
    held = [(each.by, each.where, set(each.records)) for each in found.held]
    sets = [set(each or ()) for each in (found.selected, found.may_send, found.may_request)]
    return (found.plan, found.viewer, found.words, found.stored, found.exposed, sets, held)


def compare(here: Rehearsal, there: Rehearsal, most: int) -> None:
    """Hold two rehearsals against each other, with the reasons of some records of each kind."""
    assert told(there) == told(here)
    assert isinstance(there.may_send, RecordFrame)
    assert (len(there.may_send), there.may_send.first(2)) == (len(here.may_send), sorted(here.may_send)[:2])
    records = [*sorted(here.may_send)[:1], *dict.fromkeys(min(each.records) for each in here.preview().held)]
    for record in map(RecordId, records[:most]):
        proof, over_lake = (each.why_send(record) for each in (here, there))
        assert (over_lake and over_lake.to_json()) == (proof and proof.to_json())
        held, held_there = (each.why_not_send(record) for each in (here, there))
        # Which of several near misses is shown is the engine's choice; what fails is not.
        assert [answer.fact for answer in held_there.reasons] == [answer.fact for answer in held.reasons]
        assert (held_there.seen, there.held_by(held_there)) == (held.seen, here.held_by(held))
        told_there, told_here = (why_not_send(each, record, here=True).lines() for each in (there, here))
        assert len(list(told_there)) == len(list(told_here))


def test_a_preview_and_reasons_are_the_same_over_a_store_and_a_lake(spark: SparkSession, lake: Lake) -> None:
    how: dict[str, Any] = {"theirs": parse_policy(THEIRS), "advertised": CLAIMS}
    here = Rehearsal(STORE, parse_policy(OURS), **how)
    with Lace.open_lake(lake.where) as opened:
        there = opened.rehearse(parse_policy(OURS), session=spark, **how)
        assert isinstance(there, LakeRehearsal)
        compare(here, there, 1)
        assert told(opened.rehearse(parse_policy(OURS), **how)) == told(here), "a small one fits in memory"


@pytest.mark.slow
def test_what_a_change_of_policy_means_is_the_same_over_a_store_and_a_lake(
    spark: SparkSession, lake: Lake
) -> None:
    policies = [parse_policy(each) for each in (f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE}", OURS)]
    here = diff_rehearsals(*(Rehearsal(STORE, each) for each in policies))
    before = LakeRehearsal(lake.snapshot(), spark, policies[0])
    there = diff_rehearsals(before, before.under(policies[1]))
    assert list(map(set, there)) == list(map(set, here))
    assert here.no_longer_selected
    assert here.newly_held


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "peer"), [(OURS, ALICE), (TRUSTING, ALICE), (f"[select]\n{SELECT_ALL}", None)]
)
@pytest.mark.parametrize("theirs", [None, THEIRS])
def test_more_of_them_are_the_same(
    spark: SparkSession, lake: Lake, ours: str, theirs: str | None, peer: Any
) -> None:
    how: dict[str, Any] = {"peer": peer, "theirs": theirs and parse_policy(theirs), "advertised": CLAIMS}
    there = LakeRehearsal(lake.snapshot(), spark, parse_policy(ours), **how)
    compare(Rehearsal(STORE, parse_policy(ours), **how), there, 10)


def test_few_facts_are_rehearsed_in_this_process(lake: Lake) -> None:
    assert fits_in_memory(lake.snapshot())
    assert sum(1 for record in RECORDS for _ in facts_of_record(record)) <= SMALL_ROWS
