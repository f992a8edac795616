"""Setup and hello between two machines: operands, modules, origins, signers, who is who."""

from __future__ import annotations

from typing import Any

import pytest

from lace.drive import Item
from lace.facts import Fact
from lace.interlace import BlockReceived, Cause, InterlaceResult, Link, ResourceReceived
from lace.record import make_blob
from lace.text import link_id
from tests.golden import load_vectors
from tests.interlace.meddling import add_facts, change_block, change_nth, drop_facts, replace_fact
from tests.interlace.pair import ALL, Pair, make_pair, module
from tests.interlace.scenarios import EVERY_FIELD, GROUP_U
from tests.strategies import SECRETS

UNIX = Link(transport="unix:/test")
TCP = Link(transport="tcp:192.0.2.1:4790")
RECORDS = [make_blob(b"%d" % number) for number in range(3)]


def run(**more: Any) -> Pair:
    pair = make_pair(RECORDS, [], **more)
    pair.run()
    return pair


def refused(pair: Pair) -> str:
    """Return the code under which side 1 gave up."""
    error = pair.results[1].error
    assert error is not None
    return error.code


def facts_of(pair: Pair, side: int) -> frozenset[Fact]:
    """Return the runtime facts of a side's evaluations."""
    machine = pair.sides[side].machine
    return machine.exchange.agreed.runtime(machine.exchange.settings)


@pytest.mark.req("050-010", "050-087", "050-090", "050-014")
def test_both_sides_hold_both_operands_and_the_same_plan() -> None:
    pair = run(policies=(ALL, GROUP_U))
    plans = [side.machine.exchange.agreed.plan for side in pair.sides]
    assert str(plans[0].transcript) == str(plans[1].transcript)
    assert plans[0].id == plans[1].id == pair.results[0].exchange_plan_id
    for plan in plans:
        assert [operand.module for operand in plan.operands] == [module(ALL), module(GROUP_U)]
    assert [side.machine.exchange.epoch.setup for side in pair.sides] == [
        pair.sides[1].machine.exchange.epoch.peer_setup,
        pair.sides[0].machine.exchange.epoch.peer_setup,
    ]


@pytest.mark.req("050-057")
def test_module_text_goes_before_the_block_that_names_it() -> None:
    pair = run(policies=(ALL, GROUP_U))
    items = [item for who, item in pair.passed if who == 1]
    assert items[0] == ResourceReceived(module(GROUP_U).id, "lacegram", str(module(GROUP_U)).encode())
    assert isinstance(items[1], BlockReceived)
    assert items[1].facts[0][:3] == ("ExchangeOperand", "1", module(GROUP_U).id)
    assert isinstance(items[2], ResourceReceived)
    assert items[2].kind == "exchange-plan"


def without_modules(who: int, item: Item) -> list[Item]:
    return [] if isinstance(item, ResourceReceived) and item.kind == "lacegram" else [item]


@pytest.mark.req("050-088")
def test_a_module_whose_text_is_nowhere_ends_setup() -> None:
    assert refused(run(policies=(GROUP_U, ALL), meddle=without_modules)) == "interlace/no-module"


@pytest.mark.req("050-091")
def test_a_module_that_is_known_before_need_not_be_sent() -> None:
    known = {module(text).id: str(module(text)).encode() for text in (ALL, GROUP_U)}
    pair = run(policies=(GROUP_U, ALL), meddle=without_modules, settings={"modules": known})
    assert all(result.complete for result in pair.results)
    lying = {module(GROUP_U).id: str(module(ALL)).encode()}
    pair = run(policies=(GROUP_U, ALL), meddle=without_modules, settings={"modules": lying})
    assert refused(pair) == "interlace/resource"


@pytest.mark.req("050-055", "050-056", "050-085", "050-012")
@pytest.mark.parametrize(
    "change",
    [
        drop_facts("ExchangeOperand"),
        lambda facts: facts + facts[:1],
        lambda facts: [],
        add_facts(("SetupNonce", "0" * 22)),
        replace_fact("SetupNonce", "short"),
        replace_fact("ExchangeOperand", "2", module(ALL).id, "Opq_x", "selector"),
        replace_fact("ExchangeOperand", "0", "R.nonsense", "Opq_x", "selector"),
        replace_fact("ExchangeOperand", "0", module(ALL).id, "Opq_x", "expose"),
    ],
)
def test_a_setup_block_is_one_selector_operand(change: Any) -> None:
    assert refused(run(meddle=change_nth(0, change))) == "interlace/setup"


@pytest.mark.req("050-095", "050-012", "040-032", "040-035")
@pytest.mark.parametrize("claims", ["local", "verifier", "other"])
def test_an_origin_that_is_not_the_computed_one_is_refused(claims: str) -> None:
    own = run().sides[1].machine.exchange.epoch.setup[0][3]
    origin = {"local": own, "verifier": SECRETS[0].verifier, "other": "Opq_" + "0" * 43}[claims]

    def change(facts: list[Fact]) -> list[Fact]:
        return [(*f[:3], origin, f[4]) if f[0] == "ExchangeOperand" else f for f in facts]

    pair = run(meddle=change_nth(0, change))
    assert refused(pair) == "interlace/origin"


def test_a_resource_that_is_not_what_it_says_is_refused() -> None:
    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, ResourceReceived):
            return [ResourceReceived(item.id, item.kind, item.text + b"\n")]
        return [item]

    assert refused(run(meddle=meddle)) == "interlace/resource"


def test_a_plan_that_is_no_transcript_is_refused() -> None:
    from lace.text import plan_id

    text = b"ExchangePlanProfile('another')"

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, ResourceReceived) and item.kind == "exchange-plan":
            return [ResourceReceived(plan_id(text), item.kind, text)]
        return [item]

    assert refused(run(meddle=meddle)) == "interlace/resource"


def test_a_resource_of_no_known_kind_is_refused() -> None:
    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, ResourceReceived):
            return [ResourceReceived(item.id, "recipe", item.text)]
        return [item]

    assert refused(run(meddle=meddle)) == "interlace/resource"


@pytest.mark.req("050-039", "050-041", "050-103", "050-042", "050-037", "050-043")
def test_time_facts_are_the_same_on_both_sides_and_nothing_else_is_added() -> None:
    pair = run(skew=7, settings={"link": UNIX})
    for side in (0, 1):
        assert facts_of(pair, side) == {
            ("StartTAI", "1640995207:000000000"),
            ("TickTAI", "1640995207:000000000"),
            ("ClockSkewSeconds", "7"),
            ("Transport", "unix:/test"),
        }


@pytest.mark.req("050-038")
def test_encryption_is_a_fact_only_where_it_is_proven() -> None:
    pair = run(settings=({"link": Link(transport="wss:x/interlace", encrypted=True)}, {"link": UNIX}))
    assert ("TransportEncrypted",) in facts_of(pair, 0)
    assert ("TransportEncrypted",) not in facts_of(pair, 1)


@pytest.mark.req("050-035", "050-036", "050-044", "050-046", "050-093", "050-107")
def test_two_proven_signers_know_each_other_and_their_link() -> None:
    pair = run(settings=({"secret": SECRETS[0], "link": UNIX}, {"secret": SECRETS[1], "link": UNIX}))
    names = [secret.verifier for secret in SECRETS[:2]]
    for side in (0, 1):
        assert pair.results[side].complete
        assert pair.results[side].peer_verifier == names[1 - side]
        assert ("Here", names[side]) in facts_of(pair, side)
        assert ("Peer", names[1 - side]) in facts_of(pair, side)
        plan = pair.results[side].exchange_plan_id
        assert plan is not None
        assert pair.results[side].link_id == link_id(names[0], names[1], plan)
        assert pair.sides[side].machine.exchange.agreed.source == names[side]
    assert {f[2] for block in pair.blocks(0) for f in block.facts if f[0] == "Advertised"} == {names[0]}


@pytest.mark.req("050-035", "050-036", "050-047", "050-048", "050-110", "050-109")
def test_without_proof_there_is_a_label_and_no_identity() -> None:
    pair = run(settings={"link": UNIX})
    for side in (0, 1):
        result = pair.results[side]
        assert result.peer_verifier is None
        assert result.link_id is None
        assert not {fact for fact in facts_of(pair, side) if fact[0] in ("Here", "Peer")}
        assert pair.sides[side].machine.exchange.agreed.source.startswith("Opq_")


@pytest.mark.req("050-107", "050-110")
def test_one_proven_signer_makes_no_link_id() -> None:
    pair = run(settings=({"secret": SECRETS[0], "link": UNIX}, {"link": UNIX}))
    assert [result.link_id for result in pair.results] == [None, None]
    assert [result.peer_verifier for result in pair.results] == [None, SECRETS[0].verifier]
    assert ("Peer", SECRETS[0].verifier) in facts_of(pair, 1)
    assert ("Here", SECRETS[0].verifier) in facts_of(pair, 0)


def test_whom_the_transport_proves_is_the_peer_but_no_source() -> None:
    link = Link(transport="unix:/test", peer=SECRETS[0].verifier)
    pair = run(settings=({"link": UNIX}, {"link": link}))
    assert ("Peer", SECRETS[0].verifier) in facts_of(pair, 1)
    assert pair.sides[1].machine.exchange.agreed.peer_source.startswith("Opq_")
    assert pair.sides[1].machine.exchange.agreed.plan.operands[0].origin.viewer == SECRETS[0].verifier


@pytest.mark.req("050-092", "050-094", "040-036", "060-085")
@pytest.mark.parametrize(
    "change",
    [
        drop_facts("HelloProof"),
        replace_fact("HelloProof", "0" * 86),
        replace_fact("HelloSigner", SECRETS[2].verifier),
        replace_fact("HelloSigner", "V.nobody"),
    ],
)
def test_a_signer_without_a_valid_proof_is_refused(change: Any) -> None:
    pair = run(
        settings=({"secret": SECRETS[0], "link": UNIX}, {"link": UNIX}),
        meddle=change_block("HelloSigner", change),
    )
    assert refused(pair) == "interlace/signer"
    assert pair.sides[1].host.decision is None, "nothing is evaluated for whom nothing proves"


def test_the_golden_signer_without_a_proof_is_refused() -> None:
    case = next(each for each in load_vectors("hello")["reject"] if each["reason"] == "signer")
    signer = next(tuple(fact) for fact in case["theirs"] if fact[0] == "HelloSigner")
    pair = run(settings={"link": UNIX}, meddle=change_block("HelloTAI", add_facts(signer)))
    assert refused(pair) == "interlace/signer"


def test_a_proof_speaks_about_this_exchange_alone() -> None:
    """A hello that was recorded elsewhere proves nothing here: the other side's nonce is in the proof."""
    from tests.interlace.pair import dice

    earlier = run(settings=({"secret": SECRETS[0], "link": UNIX}, {"link": UNIX}))
    said = next(b for b in earlier.blocks(0) if any(f[0] == "HelloProof" for f in b.facts))
    pair = run(
        settings=(
            {"secret": SECRETS[0], "link": UNIX},
            {"link": UNIX, "dice": dice(1, turn=1)},
        ),
        meddle=change_block("HelloProof", lambda _: said.facts),
    )
    assert refused(pair) == "interlace/signer"


@pytest.mark.parametrize("side", [0, 1])
def test_without_a_nonce_of_both_nobody_proves_anything(side: int) -> None:
    each = [{"secret": SECRETS[index], "link": UNIX} for index in (0, 1)]
    each[side]["sends_nonce"] = False
    pair = run(settings=(each[0], each[1]))
    assert all(result.complete and result.peer_verifier is None for result in pair.results)


@pytest.mark.req("050-092", "050-035")
def test_in_clear_nobody_proves_anything_unless_told_to() -> None:
    pair = run(settings={"secret": SECRETS[0], "link": TCP})
    assert all(result.complete and result.peer_verifier is None for result in pair.results)
    # PROFILE 10: "`Here(V)` is supplied only where our verifier was proven to this peer."
    assert not {fact for side in (0, 1) for fact in facts_of(pair, side) if fact[0] in ("Here", "Peer")}
    told = Link(transport="tcp:192.0.2.1:4790", prove_in_clear=True)
    pair = run(settings=({"secret": SECRETS[0], "link": told}, {"link": TCP}))
    assert refused(pair) == "interlace/signer-in-clear"
    # The peer broke no rule: it is refused, and told in our own words what both can do.
    assert pair.results[1].cause is Cause.POLICY
    assert "say prove-in-clear" in str(pair.results[1].error)
    pair = run(settings=({"secret": SECRETS[0], "link": told}, {"link": told}))
    assert pair.results[1].peer_verifier == SECRETS[0].verifier


def test_only_what_the_plan_requires_is_offered() -> None:
    offered = {
        text: {f for b in run(policies=(text, text)).blocks(0) for f in b.facts if "AdvertisedField" in f[0]}
        for text in (ALL, GROUP_U, EVERY_FIELD)
    }
    assert {fact for fact in offered[ALL] if fact[0].startswith("Hello")} == set()
    assert {fact for fact in offered[GROUP_U] if fact[0].startswith("Hello")} == {
        ("HelloAdvertisedField", "Group")
    }
    assert ("HelloAllAdvertisedFields",) in offered[EVERY_FIELD]


@pytest.mark.req("050-119", "050-053")
def test_where_all_fields_are_required_some_are_not_enough() -> None:
    def some(facts: list[Fact]) -> list[Fact]:
        return [("HelloAdvertisedField", "Type") if f[0] == "HelloAllAdvertisedFields" else f for f in facts]

    pair = run(policies=(EVERY_FIELD, EVERY_FIELD), meddle=change_block("HelloTAI", some))
    assert refused(pair) == "interlace/field-schema"


def test_a_source_that_is_somebody_else_is_refused() -> None:
    def other(facts: list[Fact]) -> list[Fact]:
        return [(f[0], f[1], SECRETS[0].verifier, *f[3:]) for f in facts]

    pair = run(settings={"partitions": False}, meddle=change_nth(2, other))
    assert refused(pair) == "interlace/source"


@pytest.mark.parametrize(
    "facts",
    [
        [("Advertised", "P.nonsense", "Opq_V")],
        [("Advertised", RECORDS[0].id, "Opq_V")] * 2,
        [("AdvertisedField", RECORDS[0].id, "Opq_V", "Group", "0", "u")],
        [
            ("Advertised", RECORDS[0].id, "Opq_V"),
            ("AdvertisedField", RECORDS[0].id, "Opq_V", "Group", "0", "u"),
            ("AdvertisedField", RECORDS[0].id, "Opq_V", "Group", "0", "v"),
        ],
        [
            ("Advertised", RECORDS[0].id, "Opq_V"),
            ("AdvertisedField", RECORDS[0].id, "Opq_V", "App", "0", "u"),
        ],
        [
            ("Advertised", RECORDS[0].id, "Opq_V"),
            ("AdvertisedField", RECORDS[0].id, "Opq_V", "Group", "00", "u"),
        ],
        [("Advertised", RECORDS[0].id, "Opq_V"), ("AdvertisementPartition", "ab", "1", "0" * 43)],
    ],
)
def test_a_malformed_advertisement_is_refused(facts: list[Fact]) -> None:
    source = run(policies=(GROUP_U, GROUP_U)).sides[0].machine.exchange.agreed.source
    facts = [(*f[:2], source, *f[3:]) if f[0].startswith("Advertised") else f for f in facts]
    pair = run(
        policies=(GROUP_U, GROUP_U), meddle=change_nth(2, lambda _: facts), settings={"partition_start": None}
    )
    assert refused(pair) == "interlace/block"


def test_a_peer_that_closes_early_leaves_an_incomplete_result() -> None:
    from lace.interlace import PeerClosed

    def meddle(who: int, item: Item) -> list[Item]:
        if who == 0 and isinstance(item, BlockReceived) and item.facts[:1] == ():
            return [PeerClosed()]
        return [item]

    pair = make_pair([], RECORDS, meddle=meddle)
    pair.begin()
    pair.flow()
    result: InterlaceResult | None = pair.sides[1].result
    assert result is not None
    assert result.cause is Cause.PEER_CLOSED
    assert not result.complete
