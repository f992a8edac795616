"""Advertisement records against the golden vectors: text, order, what is left out, digest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import facts_of_record, parse_fact_line, write_fact_line
from lace.interlace import advertisement_digest, advertisement_facts, make_claims, write_advertisement
from lace.record import Record, make_plex
from lace.text import Tai, digest
from tests.golden import load_vectors
from tests.strategies import records

GOLDEN = load_vectors("advertisements")
ID = "P.DkRkhybHdFhSIYyA~lLfijyfe5iqE6m4lg2z1AFdM9C.H3"


def fields(facts: list[Any]) -> list[tuple[str, str, str]]:
    return [(fact[2], fact[3], fact[4]) for fact in facts if fact[0] == "Field"]


@pytest.mark.req("050-069", "050-072")
@pytest.mark.parametrize("case", GOLDEN["records"])
def test_a_golden_record_has_this_text_and_digest(case: dict[str, Any]) -> None:
    schema = None if case["schema"] == "all" else frozenset(case["schema"])
    claims = make_claims(case["record"], case["source"], fields(case["facts"]), schema)
    text = write_advertisement(case["record"], case["source"], claims)
    assert text == case["text"]
    assert advertisement_digest(text).hex() == case["digest_hex"]


@pytest.mark.req("050-071")
def test_claims_are_in_the_order_of_names_then_of_numbers() -> None:
    given_fields = [("note", "0", "x"), ("Tag", "10", "b"), ("Tag", "2", "a"), ("Zeta", "0", "y")]
    claims = make_claims(ID, "Opq_a", given_fields, None)
    assert [(name, index) for name, index, _ in claims] == [
        ("Tag", "2"), ("Tag", "10"), ("Zeta", "0"), ("note", "0"),
    ]  # fmt: skip
    assert write_advertisement(ID, "Opq_a", claims).startswith(f"Advertised('{ID}','Opq_a')\n")


@pytest.mark.req("050-070")
def test_the_example_of_the_spec_is_one_advertisement_record() -> None:
    lines = [
        "Advertised('P.EXAMPLE.H3','V.PEER.H3')",
        "AdvertisedField('P.EXAMPLE.H3','V.PEER.H3','Type','0','P')",
        "AdvertisedField('P.EXAMPLE.H3','V.PEER.H3','Group','0','u')",
        "AdvertisedField('P.EXAMPLE.H3','V.PEER.H3','App','0','ding')",
        "AdvertisedField('P.EXAMPLE.H3','V.PEER.H3','Name','0','links/1')",
    ]
    facts = [parse_fact_line(line) for line in lines]
    claims = make_claims("P.EXAMPLE.H3", "V.PEER.H3", [fact[3:] for fact in facts[1:]], None)  # type: ignore[misc]
    assert [claim[0] for claim in claims] == ["App", "Group", "Name", "Type"]
    assert sorted(advertisement_facts("P.EXAMPLE.H3", "V.PEER.H3", claims)) == sorted(facts)


@pytest.mark.parametrize(
    ("value", "kept"),
    [("x" * 893, True), ("x" * 894, False), ("é" * 447, False), ("'" * 446, True), ("'" * 447, False)],
)
def test_a_claim_whose_line_would_be_too_long_is_left_out(value: str, kept: bool) -> None:
    source = "V.1PpEhQ309CXCNBriGVoQuaDLOJiqY2G5H8fp7VHEUk8.H3"
    start = len(f"AdvertisedField('{ID}','{source}','Tag','0','')")
    assert start == 1024 - 893
    claims = make_claims(ID, source, [("Tag", "0", value)], None)
    assert bool(claims) == kept


def test_a_shorter_source_leaves_more_room() -> None:
    claim = ("Tag", "0", "x" * 910)
    assert make_claims(ID, "Opq_a", [claim], None) == (claim,)
    assert make_claims(ID, "V.1PpEhQ309CXCNBriGVoQuaDLOJiqY2G5H8fp7VHEUk8.H3", [claim], None) == ()


@given(records(), st.sampled_from(["Opq_a", "V.1PpEhQ309CXCNBriGVoQuaDLOJiqY2G5H8fp7VHEUk8.H3"]))
def test_text_and_facts_say_the_same(record: Record, source: str) -> None:
    claims = make_claims(record.id, source, fields(facts_of_record(record)), None)
    lines = [write_fact_line(fact) for fact in advertisement_facts(record.id, source, claims)]
    assert "".join(f"{line}\n" for line in lines) == write_advertisement(record.id, source, claims)
    assert all(len(line.encode()) <= 1024 for line in lines)


@pytest.mark.req("050-117")
def test_an_empty_schema_still_advertises_the_record() -> None:
    plex = make_plex("u", "ding", "links/1", Tai("1640995200:000000000"), b"")
    claims = make_claims(plex.id, "Opq_a", fields(facts_of_record(plex)), frozenset())
    other = make_claims(plex.id, "Opq_a", fields(facts_of_record(plex)), frozenset({"group", "Nam", "TAI "}))
    assert claims == other == (), "names are exact"
    text = write_advertisement(plex.id, "Opq_a", claims)
    assert text == f"Advertised('{plex.id}','Opq_a')\n"
    assert advertisement_digest(text) == digest(b"lace-advertisement-record/v1" + text.encode())
