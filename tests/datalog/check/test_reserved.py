"""lace.datalog.check.reserved: names that a facet keeps for itself, and heads that it asks for."""

from __future__ import annotations

import pytest

from lace.datalog import FACETS, check_program
from tests.datalog.asking import errors

SELECTOR = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
EXPOSE = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P).\n"
PLACES = [
    "{}({}) :- true.",
    "A9(P) :- Have(P), {}({}).",
    "A9(P) :- Have(P), not {}({}).",
    "A9(P) :- Have(P), Cardinality({}({}),'<','1').",
]


@pytest.mark.req("030-044", "030-045", "030-047")
@pytest.mark.parametrize("terms", ["", "'a'", "'a','b'", "'a','b','c'"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name",
    [
        "MaySend",
        "MayRequest",
        "CanQueryRecord",
        "AllowQueryRecord",
        "AllowQueryRecordToo",
        "o0_x",
        "o1_",
        "_x",
        "_Viewer",
    ],
)
def test_a_selector_neither_defines_nor_mentions_reserved_names(name: str, place: str, terms: str) -> None:
    assert errors(SELECTOR + place.format(name, terms), "selector") == ["L-402"]


@pytest.mark.parametrize("terms", ["", "'a'", "'a','b'"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name", ["MaySend", "MayRequest", "CanQueryRecord", "SelectHave", "SelectAdvertised", "o0_x", "o1_x"]
)
def test_an_expose_module_neither_defines_nor_mentions_reserved_names(
    name: str, place: str, terms: str
) -> None:
    assert errors(EXPOSE + place.format(name, terms), "expose") == ["L-402"]


@pytest.mark.req("030-043")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["MaySendX", "o2_x", "Viewer", "Allow", "CanQuery", "SelectHave2", "a_b"])
def test_names_that_only_look_like_reserved_ones_are_free(name: str, place: str) -> None:
    assert errors(SELECTOR + place.format(name, "'a'"), "selector") == []
    assert errors(EXPOSE + place.format(name, "'a'"), "expose") == []


@pytest.mark.req("030-007", "030-043", "030-044")
@pytest.mark.parametrize(
    "name", ["MaySend", "SelectHave", "CanQueryRecord", "AllowQueryRecord", "o0_x", "_x", "_Viewer"]
)
def test_plain_text_has_no_reserved_names(name: str) -> None:
    for place in PLACES:
        assert errors(place.format(name, "'a'")) == []


def test_constants_are_no_names() -> None:
    assert errors(SELECTOR + "X(P) :- Have(P), Field(P,'MaySend',_,'_x').", "selector") == []


def test_helpers_of_an_expose_module_may_begin_with_an_underscore() -> None:
    assert errors(EXPOSE + "_Ok(P) :- Have(P), not _No(P).", "expose") == []


def test_a_selector_defines_both_selections() -> None:
    have, advertised = SELECTOR.strip().split("\n")
    assert errors(have, "selector") == ["L-403"]
    assert errors(advertised, "selector") == ["L-403"]
    assert errors("", "selector") == ["L-403", "L-403"]
    assert errors("SelectHave(P,P) :- Have(P).\n" + advertised, "selector") == ["L-403"]
    assert errors(SELECTOR, "selector") == []


def test_a_missing_head_is_not_told_where_a_line_could_not_be_read() -> None:
    assert errors("SelectHave(P) :- Have(P)\nSelectAdvertised(P,S) :- Advertised(P,S).", "selector") == [
        "L-202"
    ]


@pytest.mark.parametrize(
    "atom", ["Advertised(P,V)", "not Advertised(P,V)", "Cardinality(AdvertisedField(P,_,_,_,_),'<','1')"]
)
def test_an_expose_module_reads_no_advertisement_facts(atom: str) -> None:
    assert errors(f"AllowQueryRecord(V,P) :- _Viewer(V), Have(P), {atom}.", "expose") == ["L-404"]
    assert errors(SELECTOR + f"A(P,V) :- Peer(V), Have(P), {atom}.", "selector") == []


def test_every_reserved_name_says_why() -> None:
    for facet, start in (("selector", SELECTOR), ("expose", EXPOSE)):
        for name in (*FACETS[facet].refused, *(f"{prefix}x" for prefix in FACETS[facet].refused_prefixes)):
            [diagnostic] = [
                d for d in check_program(start + f"{name}() :- true.", facet) if d.code == "L-402"
            ]
            assert len(diagnostic.note) > 20


def test_the_place_is_the_name() -> None:
    [diagnostic] = [
        d for d in check_program(SELECTOR + "A(P) :- Have(P), not o0_x(P).", "selector") if d.code == "L-402"
    ]
    assert (diagnostic.span.line, diagnostic.span.start, diagnostic.span.end) == (3, 21, 25)
