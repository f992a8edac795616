"""The recorded exchanges: both sides played here, and each honest side against the recorded other."""

from __future__ import annotations

from typing import Any

import pytest

from lace.drive import Host, Item, Side
from lace.facts import Fact
from lace.interlace import (
    Begin,
    BlockReceived,
    Cause,
    Dice,
    InterlaceResult,
    Link,
    Moment,
    Phase,
    Settings,
)
from lace.record import parse_record
from lace.signing import parse_secret
from lace.stores import MemoryStore
from lace.text import Tai, digest
from tests.golden import load_vectors
from tests.interlace.pair import Clock, Pair, exposure, module
from tests.interlace.recorded import play, read_stream

CASES = load_vectors("traces")["cases"]


# Which partitions a side asks about is free, and here a cheaper choice is made than the recorded one: the
# recorded answers are to other questions.
ASKS_OTHERWISE = "partitions with listing and narrowing"
HONEST = [
    pytest.param(case, index, id=f"{case['name']}, side {index}")
    for case in CASES
    for index in (0, 1)
    if case["sides"][index]["honest"] and case["name"] != ASKS_OTHERWISE
]


def settings_of(case: dict[str, Any], index: int) -> Settings:
    given = case["sides"][index]
    secret = given.get("secret")
    return Settings(
        index=index,
        module=module(given["policy"]),
        dice=Dice(
            digest(b"not used"),
            first_nonce=given["nonce"],
            first_aux=bytes.fromhex(given["aux_hex"]) if secret else None,
        ),
        link=Link(transport=given["transport"], prove_in_clear=given.get("prove_in_clear", False)),
        secret=parse_secret(secret) if secret else None,
        all_fields=given["fields"] == "all",
        partitions=given["partitions"],
        partition_start=given.get("partition_start"),
    )


def side_of(case: dict[str, Any], index: int) -> tuple[Side, MemoryStore]:
    given = case["sides"][index]
    store = MemoryStore()
    store.put_many([parse_record(bytes.fromhex(raw)) for raw in given["records_hex"]])

    def now() -> Moment:
        return Moment(Tai(given["hello_tai"]), 0.0)

    return Side(settings_of(case, index), Host(store, exposure(given["expose"])), now), store


def requested(blocks: list[BlockReceived]) -> set[str]:
    return {fact[1] for block in blocks for fact in block.facts if fact[0] == "MayRequest"}


def check(case: dict[str, Any], index: int, result: InterlaceResult | None, store: MemoryStore) -> None:
    given = case["sides"][index]
    assert result is not None
    assert result.cause is Cause.FIXED_POINT
    assert result.exchange_plan_id == case["plan"]
    assert result.link_id == case["link"]
    assert result.loops == case["loops"]
    assert sorted(result.received_hashes) == sorted(given["receives"])
    assert sorted(result.rejected_hashes) == sorted(given["rejects"])
    assert sorted(result.not_available_hashes) == sorted(given["not_available"])
    assert sorted(record for _, record in store.ids()) == sorted(given["holds_at_the_end"])


@pytest.mark.req("050-090", "050-107")
@pytest.mark.parametrize(
    "case", [c for c in CASES if all(s["honest"] for s in c["sides"])], ids=lambda case: case["name"]
)
def test_two_machines_run_a_recorded_exchange_to_the_same_end(case: dict[str, Any]) -> None:
    (left, left_store), (right, right_store) = side_of(case, 0), side_of(case, 1)
    pair = Pair((left, right), (left_store, right_store), (Clock(), Clock()))
    pair.run()
    for index in (0, 1):
        check(case, index, pair.sides[index].result, pair.stores[index])
        assert requested(pair.blocks(index)) == set(case["sides"][index]["requests"])


@pytest.mark.parametrize(("case", "index"), HONEST)
def test_a_machine_plays_against_the_recorded_other_side(case: dict[str, Any], index: int) -> None:
    side, store = side_of(case, index)
    side.feed(Begin())
    said: list[Item] = []
    list(play(side, bytes.fromhex(case["sides"][1 - index]["sends_hex"]), said))
    check(case, index, side.result, store)
    sent = [item for item in said if isinstance(item, BlockReceived)]
    assert requested(sent) == set(case["sides"][index]["requests"])


@pytest.mark.parametrize(("case", "index"), HONEST)
def test_setup_and_resources_are_those_of_the_trace(case: dict[str, Any], index: int) -> None:
    side, _ = side_of(case, index)
    side.feed(Begin())
    said: list[Item] = []
    list(play(side, bytes.fromhex(case["sides"][1 - index]["sends_hex"]), said))
    recorded = list(read_stream(bytes.fromhex(case["sides"][index]["sends_hex"])))
    ours = said
    setup = [piece for piece in recorded if isinstance(piece, tuple)][: len(ours[1].facts)]  # type: ignore[union-attr]
    assert ours[0] == recorded[0]
    assert list(ours[1].facts) == setup  # type: ignore[union-attr]
    # The plan, as a resource before the hello block.
    assert ours[2] in recorded


@pytest.mark.parametrize(
    ("case", "index"), [each for each in HONEST if not each.values[0]["sides"][0]["partitions"]]
)
def test_what_the_profile_fixes_is_sent_as_recorded(case: dict[str, Any], index: int) -> None:
    """Without partitions nothing after hello is left open: all blocks are those of the trace."""
    side, _ = side_of(case, index)
    side.feed(Begin())
    said: list[Item] = []
    list(play(side, bytes.fromhex(case["sides"][1 - index]["sends_hex"]), said))
    stream = bytes.fromhex(case["sides"][index]["sends_hex"])
    recorded = [piece for piece in read_stream(stream) if isinstance(piece, tuple)]
    ours = [fact for item in said if isinstance(item, BlockReceived) for fact in item.facts]
    loops = [[fact for fact in facts if not fact[0].startswith("Hello")] for facts in (recorded, ours)]
    assert loops[0] == loops[1]


def recorded_blocks(case: dict[str, Any], index: int) -> list[tuple[Fact, ...]]:
    """Return the fact blocks of a recorded side that hold something."""
    blocks: list[tuple[Fact, ...]] = []
    facts: list[Fact] = []
    for piece in read_stream(bytes.fromhex(case["sides"][index]["sends_hex"])):
        if isinstance(piece, tuple):
            facts.append(piece)
        elif facts:
            blocks.append(tuple(facts))
            facts = []
    return blocks


@pytest.mark.req("050-076", "050-077")
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    "case", [c for c in CASES if c["sides"][0]["partitions"]], ids=lambda case: case["name"]
)
def test_recorded_questions_get_the_recorded_answers(case: dict[str, Any], index: int) -> None:
    """Play a side up to its first advertisement block, then ask it what the recorded peer asked."""
    side, _ = side_of(case, index)
    side.feed(Begin())
    said: list[Item] = []
    player = play(side, bytes.fromhex(case["sides"][1 - index]["sends_hex"]), said)
    while side.machine.phase is not Phase.ASK:
        next(player)
    ours = recorded_blocks(case, index)
    advertised = next(block for block in ours if block[0][0] == "AdvertisementPartition")
    sent = [item.facts for item in said if isinstance(item, BlockReceived)]
    assert advertised in sent
    answers = [b for b in ours if b[0][0] in ("AdvertisementPartition", "Advertised") and b is not advertised]
    asked = [
        block
        for block in recorded_blocks(case, 1 - index)
        if block[0][0] in ("ListAdvertisementPartition", "NarrowAdvertisementPartition")
    ]
    answering = side.machine.exchange.loop.answers
    assert answering is not None
    assert asked
    for block, answer in zip(asked, answers, strict=False):
        assert tuple(answering.answer(answering.read(block))) == answer
