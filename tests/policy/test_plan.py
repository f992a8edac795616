"""The transcript says what both sides agree on, in one spelling and under one id."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import SELECT_HAVE
from lace.errors import PolicyError
from lace.policy import (
    NotATranscript,
    OtherPlan,
    RequiredFields,
    Transcript,
    UnknownLowering,
    UnknownPlanProfile,
    make_plan,
    parse_transcript,
    read_module,
    receive_module,
)
from lace.text import NotAnId, domain_digest, encode, parse_lacegram_id, parse_plan_id, parse_record_id
from tests.golden import load_vectors
from tests.policy.sides import ALL

PLANS = load_vectors("plan")["plans"]
REJECTED = load_vectors("plan")["transcript_reject"]
FIRST = PLANS[0]["transcript"]


@pytest.mark.req("040-040", "040-042", "040-073", "040-077", "040-081", "040-082", "040-087")
@pytest.mark.parametrize("case", PLANS, ids=[f"{at} {case['name']}" for at, case in enumerate(PLANS)])
def test_every_golden_plan_comes_out(case: dict[str, object]) -> None:
    operands: list[dict[str, str]] = case["operands"]  # type: ignore[assignment]
    plan = make_plan(*(receive_module(each["canonical"].encode()) for each in operands))
    assert str(plan.transcript) == case["transcript"]
    assert plan.id == case["id"]
    assert plan.select_have_uses_advertisements == case["select_have_uses_advertisements"]
    assert ("all" if plan.fields.every else list(plan.fields.names)) == case["required_fields"]
    for operand, golden in zip(plan.operands, operands, strict=True):
        assert operand.module.id == golden["id"]
        assert operand.origin.full == golden["full_origin"]
        assert operand.origin.announced == golden["announced_origin"]
        assert operand.origin.label == golden["label"]
    assert parse_transcript(str(case["transcript"]).encode()) == plan.transcript


@pytest.mark.req("040-077")
@pytest.mark.parametrize("case", REJECTED, ids=[case["note"] for case in REJECTED])
def test_every_golden_rejection_is_refused(case: dict[str, str]) -> None:
    with pytest.raises(PolicyError):
        parse_transcript(case["text"])


@pytest.mark.req("040-073", "040-078", "040-079", "040-080", "040-007")
def test_the_transcript_says_policy_and_no_capabilities() -> None:
    lines = str(make_plan(read_module(ALL), read_module(ALL)).transcript).split("\n")
    assert lines[0] == "ExchangePlanProfile('lace-040-exchange-plan-v1')"
    assert lines[1] == "ExchangePlanLowering('standard-v1')"
    assert {line for line in lines if line.startswith("ExchangePlanRuntime")} == {
        "ExchangePlanRuntime('Here','1')",
        "ExchangePlanRuntime('Peer','1')",
        "ExchangePlanRuntime('Transport','1')",
        "ExchangePlanRuntime('TransportEncrypted','0')",
        "ExchangePlanRuntime('StartTAI','1')",
        "ExchangePlanRuntime('TickTAI','1')",
        "ExchangePlanRuntime('ClockSkewSeconds','1')",
    }
    assert {line.partition("(")[0] for line in lines} == {
        "ExchangePlanProfile",
        "ExchangePlanLowering",
        "ExchangePlanOperand",
        "ExchangePlanOperandOrigin",
        "ExchangePlanRuntime",
    }


@pytest.mark.req("040-087", "040-088")
def test_the_id_is_the_digest_of_the_transcript_and_names_no_record() -> None:
    plan = make_plan(read_module(ALL), read_module(ALL))
    digest = domain_digest("lace-exchange-plan/v1", str(plan.transcript).encode())
    assert plan.id == "E." + encode(digest)
    assert parse_plan_id(plan.id) == plan.id
    for parse in (parse_record_id, parse_lacegram_id):
        with pytest.raises(NotAnId):
            parse(plan.id)


def with_rule(rule: str) -> Transcript:
    return make_plan(read_module(ALL), read_module(f"{ALL}\n{rule}")).transcript


@pytest.mark.req("040-083", "040-092")
def test_constant_field_names_of_both_operands_are_required_once_each() -> None:
    zero = read_module(
        f"{ALL}\nX(P) :- AdvertisedField(P,_,'Group',_,'u'), not AdvertisedField(P,_,'App',_,_)."
    )
    one = read_module(
        f"{ALL}\nX(P) :- Advertised(P,_), Cardinality(AdvertisedField(P,_,'Name',_,_),'>','1'),"
        " AdvertisedField(P,_,'Group',_,_)."
    )
    plan = make_plan(zero, one)
    assert plan.fields == RequiredFields(("App", "Group", "Name"))
    assert str(plan.transcript).count("ExchangePlanRequireAdvertisedField('Group')") == 1


@pytest.mark.req("040-077")
def test_lines_are_sorted_as_lines_and_not_as_names() -> None:
    """A name is followed by a quote, and a blank sorts before that."""
    found = with_rule("X(P) :- AdvertisedField(P,_,'App',_,_), AdvertisedField(P,_,'App 2',_,_).")
    assert found.fields.names == ("App", "App 2")
    first, *lines = str(found).split("\n")
    assert first.startswith("ExchangePlanProfile(")
    assert lines == sorted(lines, key=str.encode)
    required = [line for line in lines if line.startswith("ExchangePlanRequireAdvertisedField(")]
    assert [line.partition("(")[2] for line in required] == ["'App 2')", "'App')"]
    assert parse_transcript(str(found)) == found


@pytest.mark.req("040-084", "040-085", "040-093")
@pytest.mark.parametrize(
    "atom",
    [
        "AdvertisedField(P,S,N,_,'u')",
        "AdvertisedField(P,S,_,_,'u')",
        "Advertised(P,S), not AdvertisedField(P,S,_,_,_)",
        "Advertised(P,S), Cardinality(AdvertisedField(P,S,N,_,_),'>','1')",
    ],
)
def test_a_field_name_that_is_no_constant_requires_all_and_names_none(atom: str) -> None:
    found = with_rule(f"X(P) :- {atom}, AdvertisedField(P,_,'Group',_,_).")
    assert found.fields == RequiredFields(every=True)
    assert "ExchangePlanRequireAllAdvertisedFields()" in str(found)
    assert "ExchangePlanRequireAdvertisedField" not in str(found)


@pytest.mark.req("040-095")
def test_a_schema_meets_the_plan_or_not_whatever_is_exposed() -> None:
    some, every = RequiredFields(("App", "Group")), RequiredFields(every=True)
    assert some.met_by(frozenset({"App", "Group", "Name"}))
    assert not some.met_by(frozenset({"App"}))
    assert some.met_by(None)
    assert every.met_by(None)
    assert not every.met_by(frozenset({"App", "Group"}))
    assert RequiredFields().met_by(frozenset())


@pytest.mark.req("040-076", "040-098")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n", 1),
        lambda text: "# a plan\n" + text,
        lambda text: text + "\n#:json {}",
        lambda text: text.replace("','", "', '"),
        lambda text: text.replace("'0'", "'00'", 1),
        lambda text: text.replace("Opq_M", "Opq_V"),
        lambda text: text.replace("Opq_M", "V.p40AYCzfy~~z0aUf9Ia7yWDhNO0XXwseUWUqz1wsYbG.H3"),
        lambda text: text.replace("'selector'", "'expose'", 1),
        lambda text: text.replace("'R.", "'B.", 1),
        lambda text: text + "\nMaySend('P')",
        lambda text: text.replace("ExchangePlanLowering('standard-v1')\n", ""),
        lambda text: text.replace("\nExchangePlanOperandOrigin('1'", "\nExchangePlanOperandOrigin('0'"),
        lambda text: text.split("\n")[0],
        lambda text: "",
    ],
)
def test_nothing_but_canonical_text_is_a_transcript(spoil: object) -> None:
    with pytest.raises(NotATranscript):
        parse_transcript(spoil(FIRST))  # type: ignore[operator]


@pytest.mark.req("040-076")
def test_bytes_that_are_no_text_are_no_transcript() -> None:
    for raw in (b"\xff", "ExchangePlanProfile('e\u0301')".encode()):
        with pytest.raises(NotATranscript):
            parse_transcript(raw)


def test_fields_beside_all_fields_are_not_canonical() -> None:
    text = str(with_rule("X(P) :- AdvertisedField(P,_,N,_,_)."))
    line = "ExchangePlanRequireAllAdvertisedFields()"
    assert parse_transcript(text).fields.every
    with pytest.raises(NotATranscript):
        parse_transcript(text.replace(line, f"ExchangePlanRequireAdvertisedField('App')\n{line}"))


@pytest.mark.req("040-083")
def test_a_line_that_stands_there_twice_is_not_canonical() -> None:
    text = str(with_rule("X(P) :- AdvertisedField(P,_,'App',_,_)."))
    line = "ExchangePlanRequireAdvertisedField('App')"
    assert parse_transcript(text).fields.names == ("App",)
    with pytest.raises(NotATranscript):
        parse_transcript(text.replace(line, f"{line}\n{line}"))
    for each in FIRST.split("\n"):
        with pytest.raises(NotATranscript):
            parse_transcript(FIRST.replace(each, f"{each}\n{each}"))


@pytest.mark.req("040-078", "040-079")
def test_other_lowerings_and_profiles_are_refused() -> None:
    with pytest.raises(UnknownLowering):
        parse_transcript(FIRST.replace("standard-v1", "standard-v2"))
    with pytest.raises(UnknownPlanProfile):
        parse_transcript(FIRST.replace("exchange-plan-v1", "exchange-plan-v2"))


@given(st.data())
def test_parse_and_write_undo_each_other(data: st.DataObject) -> None:
    base = make_plan(read_module(ALL), read_module(ALL)).transcript
    names = data.draw(st.frozensets(st.sampled_from(["App", "Group", "it's", "a\\b", "é", ""])))
    fields = data.draw(st.sampled_from([RequiredFields(tuple(sorted(names))), RequiredFields(every=True)]))
    transcript = replace(base, fields=fields)
    assert parse_transcript(str(transcript).encode()) == transcript


def test_a_peers_other_plan_is_told_by_the_line_in_which_it_differs() -> None:
    plan = make_plan(read_module(ALL), read_module(ALL))
    plan.check_same(parse_transcript(str(plan.transcript)))
    other = make_plan(read_module(ALL), read_module(f"{ALL}\nX(P) :- Have(P)."))
    with pytest.raises(OtherPlan) as caught:
        plan.check_same(other.transcript)
    assert "ExchangePlanOperand('1'" in str(caught.value)


@pytest.mark.req("040-046", "040-055")
def test_a_plan_is_a_function_of_its_two_operands() -> None:
    zero, one = read_module(ALL), read_module(f"{ALL}\nX(P) :- Have(P).")
    assert make_plan(zero, one).id == make_plan(zero, one).id
    assert make_plan(zero, one).id != make_plan(one, zero).id
    assert "o0_" not in str(make_plan(zero, one).transcript)


def test_what_select_have_depends_on_is_followed_through_helpers() -> None:
    direct = "SelectHave(P) :- Have(P), Advertised(P,_)."
    through = "SelectHave(P) :- Have(P), not X(P).\nX(P) :- Y(P).\nY(P) :- AdvertisedField(P,_,'App',_,_)."
    beside = "SelectHave(P) :- Have(P).\nX(P) :- Advertised(P,_)."
    tail = "\nSelectAdvertised(P,S) :- Advertised(P,S)."
    found = [
        read_module(text + tail).reads_advertisements((SELECT_HAVE,)) for text in (direct, through, beside)
    ]
    assert found == [True, True, False]
