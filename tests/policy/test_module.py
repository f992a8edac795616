"""Modules are refused for reasons with names, and received ones are canonical."""

from __future__ import annotations

import pytest

from lace.datalog import InvalidLacegram, parse_program
from lace.errors import PolicyError
from lace.policy import (
    FlatRules,
    ForeignHelper,
    GeneratedName,
    MissingExport,
    Module,
    ModuleRefused,
    NotCanonicalModule,
    ReservedName,
    UnreadableFacts,
    assign_origins,
    make_plan,
    read_expose,
    read_module,
    receive_module,
)
from lace.text import encode, lacegram_id
from tests.policy.sides import ALL

ADVERTISED = "SelectAdvertised(P,S) :- Advertised(P,S)."


@pytest.mark.req("040-002", "040-047", "040-051")
def test_a_module_is_a_canonical_lacegram_with_its_facet() -> None:
    module = read_module("SelectHave(P):-Have(P).\n\nSelectAdvertised( P , S ) :- Advertised(P,S).")
    assert str(module) == "SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P)."
    assert module.facet == "selector"
    assert module.id == lacegram_id(str(module).encode()) == "R.lbJvPaWYF6WIGOhLim1FSg7nPPZ4acVE7oyvWH5gjj0"
    assert "R." + encode(module.digest) == module.id


REFUSED: list[tuple[str, str, type[PolicyError], str]] = [
    ("SelectHave alone", "SelectHave(P) :- Have(P).", MissingExport, "policy/missing-export"),
    ("SelectAdvertised alone", ADVERTISED, MissingExport, "policy/missing-export"),
    ("nothing at all", "", MissingExport, "policy/missing-export"),
    ("MaySend", f"{ALL}\nMaySend(P) :- Have(P).", ReservedName, "policy/reserved-name"),
    ("MayRequest", f"{ALL}\nMayRequest(P) :- Have(P).", ReservedName, "policy/reserved-name"),
    (
        "CanQueryRecord",
        f"{ALL}\nCanQueryRecord(V,P) :- Peer(V), Have(P).",
        ReservedName,
        "policy/reserved-name",
    ),
    (
        "AllowQueryRecord",
        f"{ALL}\nAllowQueryRecord(V,P) :- Peer(V), Have(P).",
        ReservedName,
        "policy/reserved-name",
    ),
    (
        "a numbered AllowQueryRecord",
        f"{ALL}\nAllowQueryRecord_1(P) :- Have(P).",
        ReservedName,
        "policy/reserved-name",
    ),
    ("_Viewer", f"{ALL}\nX(V) :- _Viewer(V).", ReservedName, "policy/reserved-name"),
    ("an o0_ head", f"{ALL}\no0_Foo(P) :- Have(P).", GeneratedName, "policy/generated-name"),
    ("an o1_ head after blanks", f"{ALL}\n  o1_Foo(P) :- Have(P).", GeneratedName, "policy/generated-name"),
    ("the other's helper", f"{ALL}\nX(P) :- Have(P), o1_Member(P).", ForeignHelper, "policy/foreign-helper"),
    (
        "its own scoped name",
        f"{ALL}\nX(P) :- Have(P), not o0_Member(P).",
        ForeignHelper,
        "policy/foreign-helper",
    ),
]


@pytest.mark.req("040-014", "040-016", "040-019", "040-048", "040-049", "040-050", "040-057")
@pytest.mark.req("020-054", "040-106", "040-107", "040-109")
@pytest.mark.parametrize(
    ("text", "refusal", "code"), [each[1:] for each in REFUSED], ids=[e[0] for e in REFUSED]
)
def test_a_selector_is_refused_with_a_code_of_its_own(
    text: str, refusal: type[PolicyError], code: str
) -> None:
    with pytest.raises(refusal) as caught:
        read_module(text)
    assert type(caught.value) is refusal
    assert caught.value.code == code


def test_a_refusal_carries_every_diagnostic() -> None:
    with pytest.raises(ModuleRefused) as caught:
        read_module("MaySend(P) :- Have(P).\nMayRequest(P) :- Have(P).")
    assert [each.code for each in caught.value.diagnostics if each.severity == "error"] == ["L-402"] * 2 + [
        "L-403"
    ] * 2
    assert caught.value.to_json()["code"] == "policy/reserved-name"
    assert len(caught.value.to_json()["diagnostics"]) >= 4


def test_text_that_is_no_lacegram_is_told_as_such() -> None:
    with pytest.raises(InvalidLacegram):
        read_module("MaySend(P) :- Have(Q).")
    with pytest.raises(InvalidLacegram):
        receive_module(b"SelectHave(P) :- ")


def test_an_operand_over_the_limits_is_refused_before_it_is_evaluated() -> None:
    with pytest.raises(InvalidLacegram):
        read_module(ALL + "".join(f"\nX{n}(P) :- Have(P)." for n in range(255)))
    assert len(read_module(ALL + "".join(f"\nX{n}(P) :- Have(P)." for n in range(254))).program.rules) == 256


@pytest.mark.req("040-047", "040-098")
def test_a_received_module_is_canonical_or_refused() -> None:
    canonical = str(read_module(ALL)).encode()
    assert receive_module(canonical) == read_module(ALL)
    for spoiled in (canonical + b"\n", canonical.replace(b" :- ", b":-"), ALL.encode()):
        with pytest.raises(NotCanonicalModule):
            receive_module(spoiled)
    for note in (b"# why", b'#:json {"why":"because"}'):
        with pytest.raises(InvalidLacegram):
            receive_module(note + b"\n" + canonical)
    with pytest.raises(MissingExport):
        receive_module(b"SelectHave(P) :- Have(P).")


def test_an_expose_module_does_not_read_what_a_peer_claims() -> None:
    with pytest.raises(UnreadableFacts):
        read_expose("AllowQueryRecord(V,P) :- _Viewer(V), Advertised(P,V).")
    with pytest.raises(ReservedName):
        read_expose("AllowQueryRecord(V,P) :- _Viewer(V), SelectHave(P).")


@pytest.mark.req("040-091", "040-110")
def test_flat_rules_are_no_operand() -> None:
    flat = parse_program("MaySend(P) :- Have(P).")
    with pytest.raises(FlatRules):
        assign_origins(flat, read_module(ALL))  # type: ignore[arg-type]
    with pytest.raises(FlatRules):
        make_plan(read_module(ALL), Module(flat))
    for given in (parse_program(ALL, "selector"), ALL):  # a selector by its text, and no module
        with pytest.raises(FlatRules):
            assign_origins(given, read_module(ALL))  # type: ignore[arg-type]
