"""Two sides and their stores, made in a line: what the tests of policy share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from lace.algebra import Budget, RelationProgram
from lace.engines import Database
from lace.facts import Fact
from lace.policy import (
    ExchangePlan,
    ExposeModule,
    Exposure,
    LocalPolicy,
    OperandLimits,
    Precompiled,
    Restriction,
    Running,
    Snapshot,
    Views,
    make_plan,
    read_expose,
    read_module,
)

ALICE = "V.p40AYCzfy~~z0aUf9Ia7yWDhNO0XXwseUWUqz1wsYbG.H3"
BOB = "V.n0QwdO~kERdD_hrsMTTwUcJhv77VPmObBzixCW1hjwS.H3"
CAROL = "V.wi41rdqfswVPwFMqJ2No1rv05CndAjt1YakE0FebV28.H3"

ALL = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."
EXPOSE_ALL = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P)."
EXPOSE_X = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'X')."


def record(name: str, group: str, *more: Fact, **fields: str) -> list[Fact]:
    """Return the facts of a made-up record; each of `more` is a fact without its record."""
    found: list[Fact] = [("Have", name), ("Field", name, "Group", "0", group)]
    found += [("Field", name, key.replace("_", "-"), "0", value) for key, value in fields.items()]
    return found + [(fact[0], name, *fact[1:]) for fact in more]


def advertise(name: str, source: str, **fields: str) -> list[Fact]:
    """Return what a source claims about a record."""
    found: list[Fact] = [("Advertised", name, source)]
    return found + [("AdvertisedField", name, source, key, "0", value) for key, value in fields.items()]


def expose(*modules: str | ExposeModule) -> Exposure:
    """Return an exposure of modules for everybody."""
    return Exposure(tuple(read_expose(each) if isinstance(each, str) else each for each in modules))


class Store:
    """Record facts whose programs are prepared once for all stores: they come with each evaluation."""

    _engine = Database()

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = tuple(facts)

    def evaluate(
        self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
    ) -> Running:
        """Run a program over the store's facts and others."""
        return self._engine.evaluate(program, budget, [*self.facts, *facts])


def snapshot(
    facts: Iterable[Fact], runtime: Iterable[Fact] = (), advertised: Iterable[Fact] = ()
) -> Snapshot:
    """Return a snapshot of record facts."""
    return Snapshot(Store(facts), runtime, advertised)


@cache
def plan_of(zero: str, one: str) -> ExchangePlan:
    """Return the plan of two selectors, made once."""
    return make_plan(read_module(zero), read_module(one))


def policy(
    local: str,
    peer: str,
    exposure: Exposure | None = None,
    *,
    side: int = 0,
    viewer: str | None = ALICE,
    restrictions: tuple[Restriction, ...] = (),
    limits: OperandLimits | None = None,
    precompiled: Precompiled | None = None,
) -> LocalPolicy:
    """Return one side's policy: ours is `local`, and the peer is Alice."""
    return LocalPolicy(
        plan_of(local, peer) if side == 0 else plan_of(peer, local),
        side,
        Views("me", exposure),
        viewer=viewer,
        restrictions=restrictions,
        limits=limits,
        precompiled=precompiled,
    )
