"""Hello negotiation against the golden vectors, and each of its rules by itself."""

from __future__ import annotations

from typing import Any

import pytest

from lace.errors import RemoteProtocolError
from lace.facts import Fact, parse_fact_line
from lace.interlace import (
    ClockTooFar,
    ExchangeLimits,
    MalformedHello,
    NoCommonFormat,
    Offer,
    PlanMismatch,
    SchemaTooNarrow,
    Terms,
    meet_schemas,
    negotiate,
    read_hello,
)
from lace.interlace.limits import PARTITION_SUMMARIES
from lace.policy import RequiredFields
from tests.golden import load_vectors

GOLDEN = load_vectors("hello")
PLAN = "E.EjVO1VPtbbG2gBSAq0afXQLgyd1EgnN0IJg6aqIDCBK"
PLAIN: list[Fact] = [
    ("HelloExchangePlan", PLAN),
    ("HelloTAI", "1640995200:000000000"),
    ("HelloTickInterval", "10000000000"),
    ("HelloRecordFormat", "H3"),
    ("HelloAllAdvertisedFields",),
]


def required(given: Any) -> RequiredFields:
    return RequiredFields(every=True) if given == "all" else RequiredFields(tuple(given))


def hello(*more: Fact, without: str = "") -> list[Fact]:
    """Return the plain hello with more facts and without those of one name."""
    return [fact for fact in PLAIN if fact[0] != without] + list(more)


def agree(theirs: list[Fact], mine: list[Fact] | None = None, needs: RequiredFields | None = None) -> Terms:
    return negotiate(read_hello(mine or PLAIN), read_hello(theirs), needs or RequiredFields())


@pytest.mark.req("050-096", "050-099", "050-101", "050-111", "050-116")
@pytest.mark.parametrize("case", GOLDEN["accept"], ids=lambda case: case["name"])
def test_a_golden_pair_agrees_on_these_terms(case: dict[str, Any]) -> None:
    mine, theirs = (read_hello([tuple(fact) for fact in case[side]]) for side in ("mine", "theirs"))
    terms = negotiate(mine, theirs, required(case["required"]))
    wanted = case["result"]
    assert terms.start_tai == wanted["start_tai"]
    assert str(terms.clock_skew_seconds) == wanted["clock_skew_seconds"]
    assert str(terms.tick_interval) == wanted["tick_interval"]
    assert sorted(terms.formats) == wanted["formats"]
    assert ("all" if terms.fields is None else sorted(terms.fields)) == wanted["fields"]
    assert terms.partitions == wanted["partitions"]
    assert terms.partition_start == wanted["partition_start"]
    assert terms.limits == ExchangeLimits(**wanted["limits"])
    # PROFILE: both sides compute the same.
    assert negotiate(theirs, mine, required(case["required"])) == terms


@pytest.mark.req("050-101")
@pytest.mark.parametrize(("one", "other"), [("9000000", "10000000"), ("10000000", "9000000")])
def test_tick_intervals_are_compared_as_numbers(one: str, other: str) -> None:
    mine, theirs = (hello(("HelloTickInterval", each), without="HelloTickInterval") for each in (one, other))
    assert agree(theirs, mine).tick_interval == 10_000_000


def test_partitions_are_in_force_where_both_sides_offer_them() -> None:
    offering, plain = hello(("HelloLimit", PARTITION_SUMMARIES, "7")), hello()
    assert agree(offering, offering).partitions
    assert not agree(offering, plain).partitions
    assert not agree(plain, offering).partitions


@pytest.mark.parametrize("case", GOLDEN["reject"], ids=lambda case: case["name"])
def test_a_golden_pair_does_not_agree(case: dict[str, Any]) -> None:
    mine = read_hello([tuple(fact) for fact in case["mine"]])
    if case["reason"] == "signer":
        # Whether a signer is proved is no matter of the two offers: see test_setup.py.
        assert read_hello([tuple(fact) for fact in case["theirs"]]).proof is None
        return
    with pytest.raises(RemoteProtocolError):
        negotiate(mine, read_hello([tuple(fact) for fact in case["theirs"]]), required(case["required"]))


@pytest.mark.req("050-060", "050-062", "050-063", "050-064", "050-065", "050-066", "050-067")
@pytest.mark.parametrize("fields", [("HelloAdvertisedField", "App"), ("HelloAllAdvertisedFields",)])
def test_an_offer_and_its_block_say_the_same(fields: Fact) -> None:
    facts = hello(
        ("HelloLimit", "max_loop_iterations", "7"),
        ("HelloLimit", "advertisement_partition_start", "0"),
        fields,
        without="HelloAllAdvertisedFields",
    )
    offer = read_hello(facts)
    assert sorted(offer.facts()) == sorted(facts)
    assert read_hello(offer.facts()) == offer


def test_an_offer_is_written_in_one_way() -> None:
    """Sets have no order, and the same exchange has the same bytes in every process."""
    names = [f"Field-{number}" for number in range(10, 30)]
    fields = [("HelloAdvertisedField", name) for name in names]
    limits = [("HelloLimit", name, "7") for name in ("max_loop_iterations", "max_advertisement_records")]
    formats = [("HelloRecordFormat", f"H{number}") for number in range(4, 9)]
    block = read_hello(hello(*fields, *limits, *formats, without="HelloAllAdvertisedFields")).facts()
    for name in ("HelloAdvertisedField", "HelloLimit", "HelloRecordFormat"):
        written = [fact[1:] for fact in block if fact[0] == name]
        assert written == sorted(written)
        assert len(written) > 1


@pytest.mark.req("050-068", "050-061")
def test_the_example_block_of_the_spec_parses() -> None:
    lines = """HelloExchangePlan('E.EjVO1VPtbbG2gBSAq0afXQLgyd1EgnN0IJg6aqIDCBK')
HelloSigner('V.C1K0USiXg3rDHQR1r9Vv8by~K2bUSvqlxgmk55rx8Ph.H3')
HelloTAI('1640995200:000000000')
HelloTickInterval('10000000000')
HelloRecordFormat('H3')
HelloAdvertisedField('Type')
HelloAdvertisedField('Group')
HelloAdvertisedField('App')
HelloAdvertisedField('Signed-By')
HelloLimit('max_total_transferred_bytes','1073741824')"""
    offer = read_hello([parse_fact_line(line) for line in lines.splitlines()])
    assert offer.fields == {"Type", "Group", "App", "Signed-By"}
    assert offer.limits == {"max_total_transferred_bytes": 1073741824}
    assert (offer.signer or "").startswith("V.")


@pytest.mark.req("050-098")
@pytest.mark.parametrize("name", ["HelloExchangePlan", "HelloTAI", "HelloTickInterval"])
def test_what_must_stand_there_once_may_be_neither_missing_nor_twice(name: str) -> None:
    with pytest.raises(MalformedHello, match=name):
        read_hello(hello(without=name))
    twice = [fact for fact in PLAIN if fact[0] == name]
    with pytest.raises(MalformedHello, match=name):
        read_hello(hello(*twice))


@pytest.mark.req("050-100", "050-103")
@pytest.mark.parametrize(
    ("tai", "seconds"),
    [
        ("1640995201:999999999", 1),
        ("1640995200:999999999", 0),
        ("1640995198:000000000", 2),
        ("1640995197:999999999", 2),
    ],
)
def test_clock_skew_is_whole_seconds_rounded_down(tai: str, seconds: int) -> None:
    assert agree(hello(("HelloTAI", tai), without="HelloTAI")).clock_skew_seconds == seconds


@pytest.mark.parametrize(("seconds", "near"), [(86_400, True), (86_401, False), (-86_400, True)])
def test_a_clock_may_be_a_day_off(seconds: int, near: bool) -> None:
    theirs = hello(("HelloTAI", f"{1640995200 + seconds}:000000000"), without="HelloTAI")
    if near:
        agree(theirs)
    else:
        with pytest.raises(ClockTooFar):
            agree(theirs)


@pytest.mark.req("050-102")
@pytest.mark.parametrize(
    "interval", ["0", "-5", "01", "x", "", "999999", str(86_400 * 10**9 + 1), "9" * 200, "1e9"]
)
def test_a_tick_interval_outside_its_range_is_refused(interval: str) -> None:
    with pytest.raises(MalformedHello):
        agree(hello(("HelloTickInterval", interval), without="HelloTickInterval"))


@pytest.mark.req("050-104")
@pytest.mark.parametrize("said", [("9", "5"), ("5", "9")])
def test_the_smallest_of_three_values_of_a_limit_counts(said: tuple[str, str]) -> None:
    theirs = read_hello(hello(*(("HelloLimit", "max_loop_iterations", value) for value in said)))
    for mine, wanted in [(3, 3), (8, 5)]:
        limits = ExchangeLimits(max_loop_iterations=mine)
        terms = negotiate(read_hello(PLAIN), theirs, RequiredFields(), limits)
        assert terms.limits.max_loop_iterations == wanted


@pytest.mark.req("050-105")
@pytest.mark.parametrize("value", ["7", "x", "-1", ""])
def test_unknown_limit_names_are_ignored_whatever_their_value(value: str) -> None:
    assert agree(hello(("HelloLimit", "max_unicorns", value))) == agree(PLAIN)


@pytest.mark.req("050-106")
@pytest.mark.parametrize("value", ["abc", "-1", "0", "", "01", str(1 << 63), "9" * 5000])
def test_a_known_limit_out_of_range_fails(value: str) -> None:
    with pytest.raises(MalformedHello):
        read_hello(hello(("HelloLimit", "max_fact_block_bytes", value)))


@pytest.mark.req("050-144")
@pytest.mark.parametrize(("mine", "theirs", "wanted"), [(0, 1, 0), (0, 0, 0), (2, 1, 1), (0, None, 2)])
def test_the_partition_start_is_in_force_where_both_offer_it(
    mine: int, theirs: int | None, wanted: int
) -> None:
    name = "advertisement_partition_start"
    other = hello() if theirs is None else hello(("HelloLimit", name, str(theirs)))
    assert agree(other, hello(("HelloLimit", name, str(mine)))).partition_start == wanted


def test_a_partition_start_above_the_standard_one_fails() -> None:
    with pytest.raises(MalformedHello):
        read_hello(hello(("HelloLimit", "advertisement_partition_start", "3")))


@pytest.mark.req("050-115", "050-116")
def test_schemas_meet_in_four_ways() -> None:
    some, others = frozenset({"App", "Type"}), frozenset({"App", "Name"})
    assert meet_schemas(None, None) is None
    assert meet_schemas(None, some) == meet_schemas(some, None) == some
    assert meet_schemas(some, others) == {"App"}
    both = hello(("HelloAdvertisedField", "App"))
    assert read_hello(both).fields is None
    names = ["Type", "Group", "App", "Name", "TAI", "Signed-By", "Signature", "Any-Other"]
    named = [("HelloAdvertisedField", name) for name in names]
    assert read_hello(hello(*named, without="HelloAllAdvertisedFields")).fields == frozenset(names)


@pytest.mark.req("050-097", "050-189")
def test_another_plan_is_refused_under_its_own_code() -> None:
    other = hello(
        ("HelloExchangePlan", "E.214fcZDCuo12iJ72LbZFNB4f7j10e39f~fl6L647bWO"), without="HelloExchangePlan"
    )
    with pytest.raises(PlanMismatch) as caught:
        agree(other)
    assert caught.value.code == "interlace/plan-mismatch"


def test_an_error_does_not_repeat_whatever_a_peer_offers() -> None:
    formats = [("HelloRecordFormat", f"x{number:07}") for number in range(1000)]
    with pytest.raises(NoCommonFormat) as caught:
        agree(hello(*formats, without="HelloRecordFormat"))
    assert "x0000019, 980 more" in str(caught.value)
    names = tuple(f"{'n' * 900}{number:04}" for number in range(1000))
    for needs in (RequiredFields(names), RequiredFields(every=True)):
        offered = [("HelloAdvertisedField", each) for each in names[1:]]
        with pytest.raises(SchemaTooNarrow) as narrow:
            agree(hello(*offered, without="HelloAllAdvertisedFields"), needs=needs)
        assert len(str(narrow.value)) < 2000


@pytest.mark.req("050-112", "050-190")
def test_no_common_format_is_refused_under_its_own_code() -> None:
    with pytest.raises(NoCommonFormat) as caught:
        agree(hello(("HelloRecordFormat", "H9"), without="HelloRecordFormat"))
    assert caught.value.code == "interlace/record-format"


@pytest.mark.req("050-052", "050-053", "050-118", "050-119", "050-191")
def test_a_schema_that_the_plan_cannot_work_with_is_refused_under_its_own_code() -> None:
    few = hello(("HelloAdvertisedField", "Type"), without="HelloAllAdvertisedFields")
    for needs in (RequiredFields(("Group",)), RequiredFields(every=True)):
        with pytest.raises(SchemaTooNarrow) as caught:
            agree(few, needs=needs)
        assert caught.value.code == "interlace/field-schema"
    assert agree(few, needs=RequiredFields(("Type",))).fields == {"Type"}


@pytest.mark.parametrize(
    "facts",
    [
        [("HelloWorld",)],
        [("HelloTAI", "1640995200:000000000", "x")],
        [("HelloRecordFormat", "way-too-long")],
        [("HelloProof", "x")],
        [("HelloSigner", "V.a"), ("HelloSigner", "V.a")],
        [("Advertised", "P", "S")],
    ],
)
def test_what_does_not_belong_into_a_hello_is_refused(facts: list[Fact]) -> None:
    with pytest.raises(MalformedHello):
        read_hello(hello(*facts))


def test_an_offer_is_a_value() -> None:
    assert isinstance(read_hello(PLAIN), Offer)
    assert read_hello(PLAIN) == read_hello(list(reversed(PLAIN)))
