"""Random policies decide what their sections say one by one, however they are put together."""

from __future__ import annotations

from random import Random

import pytest

from lace.engines import Database
from lace.policy import Decision, LocalPolicy, Module, Snapshot, Views, make_plan
from lace.porcelain import PolicyFile, Rehearsal, parse_policy
from lace.porcelain.exchanges.peerpolicy import present
from lace.text import Verifier
from tests.porcelain.policies.naive import (
    OPEN,
    PEERS,
    Meant,
    Part,
    World,
    meaning,
    random_claims,
    random_policy,
    random_records,
    showing,
)

Drawn = tuple[list[Part], PolicyFile]


def draw(dice: Random) -> Drawn:
    parts = random_policy(dice)
    return parts, parse_policy("".join(part.text for part in parts))


def presented(theirs: Drawn) -> tuple[list[tuple[str, ...]], Module]:
    """Return what a side presents to somebody unknown: as sections of which each is alone, and as one."""
    parts, policy = theirs
    open_to_all = [part.rules for part in parts if part.word == "select" and not part.peers]
    made = present(policy)
    return [*open_to_all, *([OPEN] if made.asking else [])], made.module


def decide_late(ours: PolicyFile, theirs: Module, world: World, side: int) -> Decision:
    """Decide as somebody who hears who the peer is when the operands are agreed on."""
    made = present(ours)
    peer = None if world.peer is None else Verifier(world.peer)
    active = made.active(peer)
    plan = make_plan(made.module, theirs) if side == 0 else make_plan(theirs, made.module)
    plan = plan if peer is None else plan.prove(1 - side, peer)
    policy = LocalPolicy(plan, side, Views("me", active.exposure), restrictions=active.restrictions)
    snapshot = Snapshot(Database(world.records), world.runtime, world.advertised)
    return policy.evaluate(snapshot)


def check_decision(decision: Decision, meant: Meant, here: set[str]) -> None:
    assert decision.may_send & here == meant.send & here
    assert decision.may_request == meant.request
    seen = decision.view.records
    assert (None if seen is None else seen & here) == (None if meant.view is None else meant.view & here)


def check_reasons(rehearsal: Rehearsal, parts: list[Part], meant: Meant, world: World, record: str) -> None:
    """See that each explanation says what was decided, and names the sections that decided it."""
    placed = [(part, each.line) for part, each in zip(parts, rehearsal.ours.sections, strict=True)]
    shown = meant.view is None or record in meant.view
    keeping = {line for part, line in placed if part.word == "send" and record not in world.allowed(part)}
    held = rehearsal.why_not_send(record)
    assert (rehearsal.why_send(record) is not None) == (record in meant.send) == (not held.reasons)
    assert set(rehearsal.held_by(held)) == {
        *(["select"] if record not in meant.ours else []),
        *(["peer" if shown else "expose"] if record not in meant.theirs else []),
        *(["send"] if keeping else []),
    }
    sections = [rehearsal.section_of(answer.fact[0]) for answer in held.reasons]
    assert {each.line for each in sections if each is not None} == keeping
    if record in meant.send:
        allowing = [part for part in showing(parts, world) if record in world.allowed(part)]
        exposing = {line for part, line in placed if part in allowing or part.detail == "selected"}
        if meant.view is None:
            exposing = {line for part, line in placed if part.word == "trust" and part.is_for(world.peer)}
        told = {section.line for section, _ in rehearsal.why_exposed(record)}
        assert told == (exposing if shown else set())


def check(seed: int) -> bool:
    """Compare everything about one random policy; tell whether it lets a record go."""
    dice = Random(f"policy {seed}")
    parts, ours = draw(dice)
    their_rules, their_module = presented(theirs := draw(dice))
    peer, side = dice.choice((None, *PEERS)), dice.randrange(2)
    records, claims = random_records(dice), random_claims(dice, peer or "Opq_x")
    here = {fact[1] for fact in records}
    runtime = () if peer is None else (("Peer", peer),)
    world = World(records, runtime, claims, peer, peer or "Opq_x")
    meant = meaning(parts, their_rules, world)
    if meant is None:
        return False
    rehearsal = Rehearsal(Database(records), ours, peer=peer, theirs=theirs[1], side=side, advertised=claims)
    check_decision(rehearsal.decision, meant, here)
    check_decision(decide_late(ours, their_module, world, side), meant, here)
    preview = rehearsal.preview()
    assert preview.may_send == meant.send & here
    assert set().union(*(each.records for each in preview.held)) == here - meant.send
    for record in sorted(here):
        check_reasons(rehearsal, parts, meant, world, record)
    return bool(meant.send & here)


def test_sections_meet_as_sets_whatever_their_helpers_are_called() -> None:
    assert sum(map(check, range(200))) > 20, "most policies that let nothing go would tell nothing"


@pytest.mark.slow
def test_many_more_sections_meet_as_sets() -> None:
    for seed in range(1000, 3000):
        check(seed)
