"""Identifiers: exactly what an encoder writes, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import TextError
from lace.text import (
    ALPHABET,
    BadFill,
    IdFill,
    NotAnId,
    digest,
    encode,
    id_payload,
    is_foreign_record_id,
    lacegram_id,
    link_id,
    parse_lacegram_id,
    parse_link_id,
    parse_plan_id,
    parse_record_id,
    parse_rule_id,
    parse_secret_payload,
    parse_verifier,
    plan_id,
    rule_id,
    write_record_id,
    write_verifier,
)
from tests.golden import load_vectors

GOLDEN = load_vectors("ids_signatures")
PARSERS: dict[str, Callable[[str], str | bytes]] = {
    "record": parse_record_id,
    "verifier": parse_verifier,
    "secret": parse_secret_payload,
    "lacegram": parse_lacegram_id,
    "rule": parse_rule_id,
    "plan": parse_plan_id,
    "link": parse_link_id,
}
REASONS = {"shape": NotAnId, "fill": BadFill}
PAYLOAD = encode(digest(b"a payload"))
SECRET_TAIL = "Kq7Zp"
SECRET = f"&.{encode(digest(b'secret'))[:38]}{SECRET_TAIL}.H3"


def parsed(kind: str, text: str) -> str | bytes | TextError:
    try:
        return PARSERS[kind](text)
    except TextError as error:
        return error


@pytest.mark.parametrize("case", GOLDEN["ids"], ids=lambda case: case["text"][:4])
def test_golden_ids_are_read(case: dict[str, str]) -> None:
    read = parsed(case["kind"], case["text"])
    assert read == (bytes.fromhex(case["payload_hex"]) if case["kind"] == "secret" else case["text"])
    assert id_payload(case["text"]).hex() == case["payload_hex"]


@pytest.mark.parametrize("case", GOLDEN["ids"], ids=lambda case: case["text"][:4])
def test_an_id_of_one_kind_is_no_id_of_another(case: dict[str, str]) -> None:
    for kind, parse in PARSERS.items():
        if kind != case["kind"]:
            with pytest.raises(NotAnId):
                parse(case["text"])


@pytest.mark.parametrize("case", GOLDEN["ids_reject"], ids=lambda case: case["text"][:2] + case["reason"])
def test_golden_rejects_are_refused_for_their_reason(case: dict[str, str]) -> None:
    with pytest.raises(REASONS[case["reason"]]):
        PARSERS[case["kind"]](case["text"])


@pytest.mark.req("020-002")
@pytest.mark.parametrize("letter", "BPS")
def test_a_record_id_is_one_of_three_letters_a_hash_and_h3(letter: str) -> None:
    text = f"{letter}.{PAYLOAD}.H3"
    assert parse_record_id(text) == text == write_record_id(letter, digest(b"a payload"))


@pytest.mark.req("020-002")
@pytest.mark.parametrize(
    "text",
    [
        *(f"{letter}.{PAYLOAD}.H3" for letter in "ACRVUELbps&0"),
        *(f"B.{PAYLOAD}{suffix}" for suffix in ("", ".", ".H", ".h3", ".H4", ".H9", ".H33", ".H3 ", ".H3\n")),
        f"{PAYLOAD}.H3",
        f"B{PAYLOAD}.H3",
        f"B:{PAYLOAD}.H3",
        f" B.{PAYLOAD}.H3",
        f"BB.{PAYLOAD}.H3",
        f"B.{PAYLOAD[:-1]}.H3",
        f"B.{PAYLOAD}0.H3",
        f"B.{PAYLOAD[:-1]}=.H3",
        f"B.{PAYLOAD[:-1]}é.H3",
    ],
)
def test_any_other_prefix_or_suffix_is_no_record_id(text: str) -> None:
    with pytest.raises(NotAnId):
        parse_record_id(text)


def test_fill_bits_count_in_every_kind() -> None:
    for case in GOLDEN["ids"]:
        text = case["text"]
        for value, symbol in enumerate(ALPHABET):
            outcome = parsed(case["kind"], text[:44] + symbol + text[45:])
            if value % 4:
                assert isinstance(outcome, BadFill)
                assert outcome.offset == 44
            else:
                assert not isinstance(outcome, TextError)


@given(st.sampled_from("BPS"), st.binary(min_size=32, max_size=32))
def test_a_written_record_id_is_read_and_keeps_its_payload(letter: str, payload: bytes) -> None:
    text = write_record_id(letter, payload)
    assert parse_record_id(text) == text
    assert id_payload(text) == payload
    verifier = write_verifier(payload)
    assert parse_verifier(verifier) == verifier
    assert id_payload(verifier) == payload


@given(
    st.text(max_size=60)
    | st.from_regex(r"[BPSV&RUEL]\.[0-9A-Za-z_~]{42,44}(\.[A-Za-z0-9]{0,3})?", fullmatch=True)
)
def test_any_text_is_an_id_or_a_documented_error(text: str) -> None:
    for kind in PARSERS:
        outcome = parsed(kind, text)
        if isinstance(outcome, TextError):
            assert outcome.offset is not None
            assert str(outcome)
        else:
            assert encode(id_payload(text)) == text[2:45]


@pytest.mark.parametrize("suffix", ["H3", "H9", "x", "Z9z9Z9z9", "12345678"])
def test_a_foreign_hash_format_has_the_wide_shape(suffix: str) -> None:
    for letter in "BPS":
        assert is_foreign_record_id(f"{letter}.{PAYLOAD}.{suffix}")
        assert is_foreign_record_id(f"{letter}.{PAYLOAD[:-1]}~.{suffix}")


@pytest.mark.parametrize(
    "text",
    [
        f"B.{PAYLOAD}",
        f"B.{PAYLOAD}.",
        f"B.{PAYLOAD}.123456789",
        f"B.{PAYLOAD}.H_",
        f"B.{PAYLOAD}.H٣",
        f"B.{PAYLOAD}.H3\n",
        f"V.{PAYLOAD}.H3",
        f"B.{PAYLOAD[:-1]}.H3",
        "",
    ],
)
def test_the_wide_shape_has_limits_too(text: str) -> None:
    assert not is_foreign_record_id(text)


def test_names_of_programs_hash_what_the_profile_says() -> None:
    assert lacegram_id(b"A() :- true.") == "R." + encode(digest(b"A() :- true."))
    assert rule_id(b"A() :- true.") == "U." + encode(digest(b"lace-rule/v1A() :- true."))
    assert plan_id(b"lines") == "E." + encode(digest(b"lace-exchange-plan/v1lines"))


def test_golden_lacegrams_rules_and_plans_have_their_ids() -> None:
    for case in load_vectors("lacegram")["accept"]:
        assert lacegram_id(case["canonical"].encode()) == case["id"]
        for rule in case["rules"]:
            assert rule_id(rule["line"].encode()) == rule["id"]
    for case in load_vectors("plan")["plans"]:
        assert plan_id(case["transcript"].encode()) == case["id"]


def test_a_link_has_one_name_from_both_ends() -> None:
    for case in load_vectors("advertisements")["links"]:
        one, other, plan = parse_verifier(case["a"]), parse_verifier(case["b"]), parse_plan_id(case["plan"])
        assert link_id(one, other, plan) == link_id(other, one, plan) == case["link_id"]


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *((parse, SECRET) for kind, parse in PARSERS.items() if kind != "secret"),
        (parse_secret_payload, SECRET[:-1]),
        (parse_secret_payload, SECRET[2:]),
        (parse_secret_payload, SECRET[:44] + "1" + SECRET[45:]),
        (parse_verifier, " " + SECRET),
        (parse_verifier, "'" + SECRET),
    ],
)
def test_an_error_never_repeats_a_secret(parse: Callable[[str], str | bytes], text: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    shown = f"{caught.value} {caught.value!r} {caught.value.fields} {caught.value.to_json()}"
    for part in (text, text[2:12], SECRET_TAIL[:4], "'1'"):
        assert part not in shown
    assert "…" in shown


def test_an_error_shows_what_was_given_and_no_more_than_its_beginning() -> None:
    with pytest.raises(NotAnId, match=r"no verifier id: expected V\., 43") as caught:
        parse_verifier("x\x1b[31m" * 100)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400
    mistyped = f"B.{'A' * 43}.H3"
    with pytest.raises(IdFill, match=f"'{mistyped}' is no record id: its last symbol 'A'"):
        parse_record_id(mistyped)
