"""What 020 and 040 promise about two sides, read off the bytes that they exchange."""

from __future__ import annotations

from typing import Any

import pytest

from lace.policy import read_restriction
from lace.record import make_plex, make_seal
from lace.text import parse_tai
from tests.interlace.pair import ALL, EXPOSE_ALL
from tests.strategies import AUX, SECRETS
from tests.transports.ends import LEFT, RIGHT, ids, make_end
from tests.transports.hurried import hurry
from tests.transports.meddled import Change, as_it_is, line_of, meddle, name_of

TAI = parse_tai("1640995200:000000000")


def plex(group: str, app: str, data: bytes = b"x") -> Any:
    return make_plex(group, app, "n", TAI, data)


def by_field(name: str, value: str) -> str:
    """Return a selector of records with a field."""
    return (
        f"SelectHave(P) :- Have(P), Field(P,'{name}',_,'{value}').\n"
        f"SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'{name}',_,'{value}')."
    )


def run(
    left: Any, right: Any, change: Change = as_it_is, *, more: tuple[Any, Any] = ({}, {})
) -> tuple[Any, Any, Any]:
    """Run two ends; return their results, what they said, and the ends."""
    return hurry(
        meddle(lambda s: (make_end(s[0], left, **more[0]), make_end(s[1], right, **more[1])), change)
    )


@pytest.mark.req("040-001", "040-061")
def test_only_what_both_operands_select_is_exchanged_and_nothing_else_is_sent() -> None:
    both, only_left, only_right = plex("u", "ding"), plex("u", "dong"), plex("x", "ding")
    policies = {"policy": by_field("Group", "u")}, {"policy": by_field("App", "ding")}
    (zero, one), said, ends = run([both, only_left, only_right], [], more=policies)
    assert zero.complete
    assert ids(ends[1].side.host.store) == {both.id}
    assert set(zero.sent_hashes) == set(one.received_hashes) == {both.id}
    for hidden in (only_left, only_right):
        assert hidden.id.encode() not in b"\n".join(said[0])
    decisions = [end.side.host.decision for end in ends]
    assert set(zero.sent_hashes) <= decisions[0].may_send
    assert decisions[1].may_send == {both.id}


@pytest.mark.req("040-061")
def test_what_only_one_operand_selects_of_what_is_advertised_is_not_asked_for() -> None:
    have, _ = ALL.split("\n")
    both, only_left, only_right = plex("u", "ding"), plex("u", "dong"), plex("x", "ding")
    left, right = (f"{have}\n{by_field(*each).splitlines()[1]}" for each in (("Group", "u"), ("App", "ding")))
    (zero, one), said, ends = run(
        [both, only_left, only_right], [], more=({"policy": left}, {"policy": right})
    )
    assert zero.complete
    assert ends[0].side.host.decision.may_send == {both.id, only_left.id, only_right.id}
    assert [line for line in said[1] if name_of(line) == b"MayRequest"] == [
        f"MayRequest('{both.id}')".encode()
    ]
    assert set(one.received_hashes) == {both.id}


@pytest.mark.req("040-095")
def test_which_fields_are_advertised_and_which_records_rules_may_see_are_two_things() -> None:
    records = {group: plex(group, "ding") for group in "uv"}
    only_u = "AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'u')."
    views, schemas = {}, {}
    for expose, shown in ((EXPOSE_ALL, "uv"), (only_u, "u")):
        for every in (False, True):
            ours = {"policy": by_field("App", "ding"), "expose": expose, "all_fields": every}
            _, said, ends = run([*records.values()], [], more=(ours, {**ours, "expose": EXPOSE_ALL}))
            claimed = {line.split(b"'")[5] for line in said[0] if name_of(line) == b"AdvertisedField"}
            schemas[shown, every] = claimed
            views[shown, every] = ends[0].side.host.decision.view.records
    for shown, every in views:
        assert views[shown, every] == {records[group].id for group in shown}
        assert schemas[shown, every] == schemas["uv", every]
    assert schemas["u", False] == {b"App"}
    assert schemas["u", True] > {b"App", b"Group", b"Name"}


@pytest.mark.req("040-071")
def test_a_stricter_lowering_sends_and_asks_for_less_and_is_not_told() -> None:
    ours, held, theirs, unwanted = (plex(*each.split()) for each in ("u ding", "u mine", "v ding", "v spam"))
    stricter = (
        read_restriction("AllowSend(P) :- Have(P), not Field(P,'App',_,'mine').", "send"),
        read_restriction("AllowRequest(P,S) :- AdvertisedField(P,S,'App',_,'ding').", "request"),
    )
    never = plex("u", "never")  # which restrictions allow, and nobody selects
    selected = ALL.replace("Have(P).", "Have(P), not Field(P,'App',_,'never').")
    policy = {"policy": f"{selected}\nAsked(P,S) :- AdvertisedField(P,S,'App',_,_)."}
    plans = []
    for restrictions, sent, got in (((), {ours, held}, {theirs, unwanted}), (stricter, {ours}, {theirs})):
        strict = {**policy, "host": {"restrictions": restrictions}}
        (zero, one), said, ends = run([ours, held, never], [theirs, unwanted], more=(strict, policy))
        assert zero.complete
        assert set(zero.sent_hashes) == set(one.received_hashes) == {each.id for each in sent}
        assert set(zero.received_hashes) == {each.id for each in got}
        # 050: what is sent and asked for is what the two predicates allow.
        decision = ends[0].side.host.decision
        assert decision.may_send == {each.id for each in (sent | got)}
        assert b"Allow" not in b"\n".join(said[0] + said[1])
        assert (held.id.encode() in b"\n".join(said[0])) == (held in sent)
        plans.append(line_of(said[0], b"HelloExchangePlan"))
    assert plans[0] == plans[1]


@pytest.mark.req("040-011")
def test_what_was_selected_by_its_advertisement_is_no_record_before_it_is_validated() -> None:
    """Somebody changes a byte of the data on the way: the claim was fine, the record is not."""
    record = plex("u", "ding", b"true as steel")
    (_, one), _, ends = run([record], [], lambda side, line: line.replace(b"true as steel", b"true as stool"))
    assert one.rejected_hashes == (record.id,)
    assert one.complete
    assert ids(ends[1].side.host.store) == set()
    assert ends[1].side.host.decision.may_send == frozenset(), "no fact came of it"


@pytest.mark.req("040-017")
def test_what_is_exposed_to_whom_is_never_sent() -> None:
    _, said, _ = run(LEFT, RIGHT)
    everything = b"\n".join(said[0] + said[1])
    assert b"SelectHave" in everything
    assert b"AllowQueryRecord" not in everything
    assert b"_Viewer" not in everything


X_ALONE = by_field("Group", "X")
TO_ALICE = f"AllowQueryRecord('{SECRETS[0].verifier}',P) :- Have(P)"
ALICE, BOB = ({"policy": X_ALONE, "secret": secret} for secret in SECRETS[:2])


@pytest.mark.req("040-103", "040-104")
def test_a_bait_tells_nothing_about_a_group_that_is_not_exposed() -> None:
    shown, private, bait = plex("X", "ding"), plex("Y", "ding"), plex("X", "bait")
    curious = {**ALICE, "policy": X_ALONE.removesuffix(".") + ", Field(_,'Group',_,'Y')."}
    for exposed, asked in ((", Field(P,'Group',_,'X').", []), (".", [f"MayRequest('{bait.id}')".encode()])):
        bob = {**BOB, "expose": TO_ALICE + exposed}
        _, said, ends = run([bait], [shown, private], more=(curious, bob))
        assert [line for line in said[1] if name_of(line) == b"MayRequest"] == asked
        hidden = {shown.id, private.id} - ends[1].side.host.decision.view.records
        assert hidden == (set() if asked else {private.id})


@pytest.mark.req("040-105")
def test_bobs_own_rules_use_what_he_exposes_to_nobody() -> None:
    shown, private = plex("X", "ding"), plex("Y", "ding")
    have, advertised = X_ALONE.split("\n")
    own = f"{have.removesuffix('.')}, Field(_,'Group',_,'Y').\n{advertised}"
    bob = {**BOB, "policy": own, "expose": f"{TO_ALICE}, Field(P,'Group',_,'X')."}
    for records, sent in (([shown], set()), ([shown, private], {shown.id})):
        _, _, ends = run([], records, more=(ALICE, bob))
        assert ids(ends[0].side.host.store) == sent


@pytest.mark.req("020-052")
def test_each_sides_rules_see_everything_at_home_and_what_is_exposed_abroad() -> None:
    a1, a2, b1, b2 = (plex(*each.split()) for each in ("X a", "Y a", "X b", "Y b"))
    alice, bob = (
        {"secret": us, "expose": f"AllowQueryRecord('{them.verifier}',P) :- Field(P,'Group',_,'X')."}
        for us, them in (SECRETS[:2], SECRETS[1::-1])
    )
    _, _, ends = run([a1, a2], [b1, b2], more=(alice, bob))
    seen = [
        {values[0] for values in end.side.host.decision.selected(author)[0]}
        for end in ends
        for author in (0, 1)
    ]
    both = {a1.id, b1.id}
    assert seen == [both | {a2.id}, both, both, both | {b2.id}]


@pytest.mark.req("040-043")
def test_an_opaque_label_is_nobody_and_nothing_is_remembered_under_it() -> None:
    cursors: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    hosts = tuple({"host": {"cursors": each}} for each in cursors)
    results, said, _ = run(LEFT, RIGHT, more=hosts)  # type: ignore[arg-type]
    assert b"'Opq_" in line_of(said[0], b"Advertised")
    assert [result.peer_verifier for result in results] == [None, None]
    assert [result.link_id for result in results] == [None, None]
    assert cursors == ({}, {})
    signers = tuple({"host": {"cursors": c}, "secret": s} for c, s in zip(cursors, SECRETS, strict=False))
    results, _, _ = run(LEFT, RIGHT, more=signers)  # type: ignore[arg-type]
    assert [set(each) for each in cursors] == [{results[0].link_id}, {results[0].link_id}]


@pytest.mark.req("040-072", "040-074")
def test_the_plan_is_agreed_on_before_anything_depends_on_it() -> None:
    _, said, _ = run(LEFT, RIGHT)
    for lines in said:
        names = [name_of(line) for line in lines]
        setup, plan = names.index(b"ExchangeOperand"), names.index(b"HelloExchangePlan")
        assert setup < plan < names.index(b"Advertised")
        negotiated = (b"HelloRecordFormat", b"HelloLimit", b"HelloTAI", b"HelloTickInterval")
        end = lines.index(b"", plan)
        assert all(plan < names.index(each) < end for each in negotiated)
    assert line_of(said[0], b"HelloExchangePlan") == line_of(said[1], b"HelloExchangePlan")


@pytest.mark.req("040-072")
def test_without_the_same_plan_nothing_is_transferred() -> None:
    def change(side: int, line: bytes) -> bytes:
        return b"HelloExchangePlan('E." + b"0" * 43 + b"')" if name_of(line) == b"HelloExchangePlan" else line

    results, said, _ = run(LEFT, RIGHT, change)
    assert "interlace/plan-mismatch" in {result.error.code for result in results if result.error}
    assert not any(result.complete for result in results)
    assert "🖧".encode() not in b"\n".join(said[0] + said[1])
    assert b"Advertised" not in map(name_of, said[0] + said[1])


@pytest.mark.req("040-094")
@pytest.mark.parametrize("change", ["none of it", "some of all"])
def test_a_schema_that_the_plan_cannot_work_with_ends_the_negotiation(change: str) -> None:
    every = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- AdvertisedField(P,S,F,_,'u')."
    policy = {"policy": by_field("Group", "u") if change == "none of it" else every}

    def narrow(side: int, line: bytes) -> bytes:
        offers = name_of(line) in (b"HelloAdvertisedField", b"HelloAllAdvertisedFields")
        return b"HelloAdvertisedField('App')" if side == 0 and offers else line

    (_, one), _, _ = run([plex("u", "a")], [], narrow, more=(policy, policy))
    assert one.error.code == "interlace/field-schema"
    (zero, one), _, _ = run([plex("u", "a")], [], more=(policy, policy))
    assert zero.complete
    assert len(one.received_hashes) == 1


@pytest.mark.req("020-004", "020-005")
def test_a_claim_about_a_record_of_another_format_is_a_claim_and_nothing_more() -> None:
    record = plex("u", "ding")
    foreign = record.id.removesuffix("H3") + "H9"

    def change(side: int, line: bytes) -> bytes:
        return line.replace(record.id.encode(), foreign.encode()) if side == 0 else line

    listing = {"partitions": False}
    (_, one), said, ends = run([record], [], change, more=(listing, listing))
    assert one.complete
    assert ends[1].side.host.decision.may_request == {foreign}
    assert b"MayRequest" not in map(name_of, said[1])
    assert ids(ends[1].side.host.store) == set()


@pytest.mark.req("020-051")
def test_whoever_proved_nothing_sees_nothing_of_what_is_exposed_to_somebody() -> None:
    record = plex("u", "ding")
    to_one = f"AllowQueryRecord('{SECRETS[1].verifier}',P) :- Have(P)."
    ours = {"expose": to_one, "secret": SECRETS[0]}
    for theirs, seen in (({}, set()), ({"secret": SECRETS[1]}, {record.id})):
        _, _, ends = run([record], [], more=(ours, theirs))
        assert ends[0].side.host.decision.view.records == seen
        assert ids(ends[1].side.host.store) == seen


def codes_of(results: Any) -> set[str | None]:
    """Return why two sides ended, without what one says that hears of it from the other first."""
    return {result.error and result.error.code for result in results} - {"interlace/peer-lost"}


@pytest.mark.req("040-094", "050-194")
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("letter", "most"), [("n", 1000), ("'", 500), ("é", 500)])
def test_a_plan_with_a_field_that_no_hello_can_name_is_refused_and_no_fault_of_ours(
    letter: str, most: int, side: int
) -> None:
    for size, code in ((most, None), (most + 1, "interlace/plan")):
        name = (letter * size).replace("'", "\\'")
        policies = [{"policy": ALL}, {"policy": by_field(name, "u")}]
        results, said, _ = run([plex("u", "ding")], [], more=(policies[side], policies[1 - side]))
        assert codes_of(results) == {code}
        assert (b"HelloExchangePlan" in map(name_of, said[side])) == (code is None)
        # Who offers all fields names none.
        results, _, _ = run([plex("u", "ding")], [], more=[{**each, "all_fields": True} for each in policies])
        assert codes_of(results) == {None}


@pytest.mark.req("050-194")
@pytest.mark.parametrize(("names", "size"), [(4083, 6), (3000, 300)], ids=["lines", "bytes"])
def test_a_plan_that_no_resource_can_carry_is_refused(names: int, size: int) -> None:
    """Each operand can be carried; what both require together is a line too many, or too many bytes."""

    def reading(first: int, last: int) -> str:
        atoms = [f"AdvertisedField(P,_,'{number:0{size}}',_,_)" for number in range(first, last)]
        rules = [", ".join(atoms[at : at + 20]) for at in range(0, len(atoms), 20)]
        return ALL + "".join(f"\nX(P) :- {each}." for each in rules)

    for more, code in ((0, None), (1 if size < 10 else 200, "interlace/plan")):
        policies = {"policy": reading(0, names // 2)}, {"policy": reading(names // 2, names + more)}
        results, _, _ = run([plex("u", "ding")], [], more=policies)
        assert codes_of(results) == {code}


@pytest.mark.req("020-079")
def test_who_knows_a_hash_learns_whether_we_have_it() -> None:
    known = {"partitions": False}
    _, said, _ = run([LEFT[0]], LEFT[:2], more=(known, known))
    asked = [line for line in said[0] if name_of(line) == b"MayRequest"]
    assert asked == [f"MayRequest('{LEFT[1].id}')".encode()]


@pytest.mark.req("020-040")
def test_an_inner_record_is_nothing_of_its_own_unless_we_have_it() -> None:
    seal = make_seal(plex("u", "a"), SECRETS[0], AUX)
    inner = (seal.plex.id, seal.plex.blob.id)
    _, said, ends = run([seal], [], more=({"policy": ALL}, {"policy": ALL}))
    assert ids(ends[1].side.host.store) == {seal.id}
    advertised = [line for line in said[0] if name_of(line) == b"Advertised"]
    assert len(advertised) == 1
    assert not any(each.encode() in b"\n".join(advertised) for each in inner)
    # Whoever asks for an inner record is told that it is not there.
    wanted = f"MayRequest('{inner[1]}')".encode()
    _, said, ends = run(
        [seal], [], lambda side, line: wanted if side == 1 and name_of(line) == b"MayRequest" else line
    )
    assert f"NotAvailable('{inner[1]}')".encode() in said[0]
    assert ids(ends[1].side.host.store) == set()
