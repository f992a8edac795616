"""Origins are computed and never believed."""

from __future__ import annotations

import pytest

from lace.datalog import parse_program
from lace.policy import (
    EqualOrigins,
    Module,
    OriginClaimsLocal,
    OriginClaimsVerifier,
    OriginMismatch,
    SameIndex,
    SignerDisagrees,
    assign_origins,
    check_announced,
    join_operands,
    make_plan,
    parse_transcript,
    read_module,
)
from lace.policy.operand import full_origin, is_label, tell_apart
from lace.text import NotAnId, Verifier
from tests.policy.sides import ALICE, ALL, BOB

OTHER = ALL.replace("Have(P).", "Have(P), Field(P,'Group',_,'u').")


@pytest.mark.req("020-048", "040-003", "040-034", "040-038", "040-052")
def test_setup_gives_each_operand_an_opaque_label() -> None:
    zero, one = assign_origins(read_module(ALL), read_module(OTHER))
    assert (zero.index, one.index) == (0, 1)
    assert zero.module == read_module(ALL)
    assert is_label(zero.origin.label)
    assert is_label(one.origin.label)
    assert zero.origin.label != one.origin.label
    transcript = make_plan(zero.module, one.module).transcript
    assert parse_transcript(str(transcript)).origins == (zero.origin.label, one.origin.label)


@pytest.mark.req("040-039")
def test_role_facet_and_module_each_change_the_full_origin() -> None:
    selector = read_module(ALL)
    expose = Module(parse_program("AllowQueryRecord(V,P) :- _Viewer(V), Have(P).", "expose"))
    same_text = parse_program("A(P) :- Have(P)."), parse_program("A(P) :- Have(P).", "expose")
    origins = [full_origin(0, selector), full_origin(1, selector), full_origin(0, expose)]
    origins += [full_origin(0, read_module(OTHER)), *(full_origin(0, Module(each)) for each in same_text)]
    assert len(set(origins)) == 6


@pytest.mark.req("040-040", "040-041")
def test_labels_are_the_first_characters_that_differ() -> None:
    assert tell_apart("abcd", "abXd") == ("Opq_c", "Opq_X")
    with pytest.raises(EqualOrigins):
        tell_apart("abcd", "abcd")


@pytest.mark.req("020-049", "040-032")
def test_text_that_claims_an_origin_has_no_effect() -> None:
    claims = f"{ALL}\nExchangePlanOperandOrigin(I,O) :- Peer(I), Peer(O).\nOrigin('{BOB}') :- true."
    zero, one = assign_origins(read_module(claims), read_module(ALL))
    assert is_label(zero.origin.label)
    assert zero.origin.verifier is None
    assert zero.origin.viewer == zero.origin.label
    assert one.origin.viewer == one.origin.label


@pytest.mark.req("020-049", "040-032")
def test_text_that_holds_what_is_announced_makes_it_no_truer() -> None:
    opaque = "Opq_" + "0" * 43
    claims = read_module(f"{ALL}\nOrigin('{BOB}') :- true.\nOrigin('{opaque}') :- true.")
    with pytest.raises(OriginClaimsVerifier):
        check_announced(0, claims, BOB, read_module(ALL))
    with pytest.raises(OriginMismatch):
        check_announced(0, claims, opaque, read_module(ALL))


@pytest.mark.req("040-035")
def test_an_announced_origin_is_the_computed_one_or_refused() -> None:
    ours, theirs = read_module(ALL), read_module(OTHER)
    zero, one = assign_origins(ours, theirs)
    check_announced(1, theirs, one.origin.announced, ours)
    with pytest.raises(OriginClaimsLocal):
        check_announced(1, theirs, zero.origin.announced, ours)
    with pytest.raises(OriginClaimsVerifier):
        check_announced(1, theirs, ALICE, ours)
    for other in (one.origin.label, "", "Opq_" + "0" * 43, one.origin.full):
        with pytest.raises(OriginMismatch):
            check_announced(1, theirs, other, ours)


@pytest.mark.req("040-031", "040-033", "040-036", "040-044")
def test_a_proven_verifier_is_bound_to_the_label_beside_it() -> None:
    plan = make_plan(read_module(ALL), read_module(OTHER))
    proven = plan.prove(1, Verifier(ALICE))
    before, after = plan.operands[1].origin, proven.operands[1].origin
    assert before.viewer == before.label, "until something is proved"
    assert after.viewer == ALICE
    assert after.label == before.label
    assert proven.id == plan.id
    assert proven.operands[0] == plan.operands[0]
    assert plan.prove(0, Verifier(BOB)).operands[0].origin.viewer == BOB


@pytest.mark.req("040-031", "040-037")
def test_a_second_proof_must_agree_with_the_first() -> None:
    origin = assign_origins(read_module(ALL), read_module(OTHER))[1].origin.prove(Verifier(ALICE))
    assert origin.prove(Verifier(ALICE)) == origin
    with pytest.raises(SignerDisagrees):
        origin.prove(Verifier(BOB))
    with pytest.raises(NotAnId):
        origin.prove(Verifier("Opq_z"))


@pytest.mark.req("040-004")
def test_a_plan_joins_two_operands_at_two_indexes() -> None:
    zero, one = read_module(ALL), read_module(OTHER)
    assert join_operands((0, zero), (1, one)) == join_operands((1, one), (0, zero)) == make_plan(zero, one)
    for index in (0, 1):
        with pytest.raises(SameIndex):
            join_operands((index, zero), (index, one))
