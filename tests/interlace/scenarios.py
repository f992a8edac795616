"""Random exchanges from a number: records, policies, exposures, and the ways to run them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from lace.drive import Host, Party, interlace_in_process
from lace.interlace import Cause, Cursor, ExchangeLimits, InterlaceResult, LocalLimits, Settings
from lace.policy import Exposure
from lace.record import Plex, Record, make_blob, make_plex, make_seal
from lace.stores import MemoryStore
from lace.text import Tai
from tests.interlace.deciding import Decisions, NotingHost, SharingHost
from tests.interlace.pair import (
    ALL,
    EXPOSE_ALL,
    PRECOMPILED,
    Clock,
    Pair,
    dice,
    exposure,
    make_pair,
    module,
)
from tests.strategies import AUX, SECRETS

GROUP_U = (
    "SelectHave(P) :- Have(P), Field(P,'Group',_,'u').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u')."
)
MEMBERS = """SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'member').
SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), Field(P,'Signed-By',_,V), Active(V).
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u'), AdvertisedField(P,S,'App',_,'member').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u'), AdvertisedField(P,S,'App',_,'ding'), AdvertisedField(P,S,'Signed-By',_,V), Active(V).
Active(V) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'member'), Field(P,'Name',_,V)."""  # noqa: E501
LINKED = """Wanted(P) :- Have(P), Field(P,'App',_,'root').
Wanted(Q) :- Wanted(P), RecordLink(P,'+Link',_,_,Q).
SelectHave(P) :- Have(P), Wanted(P).
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'App',_,'root').
SelectAdvertised(P,S) :- Advertised(P,S), Wanted(P)."""
FOLLOWS = """SelectHave(P) :- Have(P), Field(P,'Group',_,'X').
SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Heard().
SelectAdvertised(P,S) :- Advertised(P,S).
Heard() :- Advertised(_,_)."""
EVERY_FIELD = """SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- AdvertisedField(P,S,N,_,V), Good(V).
SelectAdvertised(P,S) :- AdvertisedField(P,S,'Type',_,'B').
Good('u') :- true.
Good('ding') :- true."""
MONOTONIC = (ALL, GROUP_U, MEMBERS, LINKED, FOLLOWS, EVERY_FIELD)

UNLESS_BLOCKED = """SelectHave(P) :- Have(P), not Blocked(P).
SelectAdvertised(P,S) :- Advertised(P,S), not Blocked(P).
Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q)."""
FEW = """SelectHave(P) :- Have(P), Few().
SelectAdvertised(P,S) :- Advertised(P,S), Few().
Few() :- Cardinality(Field(_,'Group',_,'u'), '<', '6')."""
LONELY = """SelectHave(P) :- Have(P), not Crowd(P).
SelectAdvertised(P,S) :- Advertised(P,S), not Crowd(P).
Crowd(P) :- Field(P,'Name',_,N), Field(Q,'Name',_,N), P != Q."""
NON_MONOTONIC = (UNLESS_BLOCKED, FEW, LONELY)

EXPOSE_U = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'u')."

MODES: dict[str, dict[str, Any]] = {
    "full listing": {"partitions": False},
    "partitions": {"partition_start": None, "predicts": False},
    "partitions with prediction": {"partition_start": None},
    "one root": {"partition_start": 0},
    "one character": {"partition_start": 1, "predicts": False},
    "64 roots": {"partition_start": 1},
    "all fields": {"partition_start": 0, "all_fields": True},
    "small steps": {
        "partition_start": 0,
        "local": LocalLimits(service_records=3, request_records=5),
        "limits": ExchangeLimits(max_loop_iterations=200, max_advertisement_records=8),
    },
    "small blocks": {
        "partition_start": 0,
        "limits": ExchangeLimits(max_fact_block_bytes=6_000, max_loop_iterations=200),
    },
}


def make_records(random: Random, count: int) -> list[Record]:
    """Return records of all kinds that mean something to the policies."""
    made: list[Record] = []
    for number in range(count):
        if random.random() < 0.2:
            made.append(make_blob(b"blob %d" % random.randrange(1000)))
            continue
        app = random.choice(["ding", "member", "root", "memo"])
        name = (
            random.choice([secret.verifier for secret in SECRETS]) if app == "member" else f"n/{number % 5}"
        )
        extra = []
        if made and random.random() < 0.5:
            extra.append(("+Link", f"evidence {random.choice(made).id}"))
        plex = make_plex(
            random.choice(["u", "u", "X"]),
            app,
            name,
            Tai(f"{1640995200 + random.randrange(10_000)}:000000000"),
            b"%d" % number,
            tuple(extra),
        )
        made.append(make_seal(plex, random.choice(SECRETS), AUX) if random.random() < 0.3 else plex)
    return list({record.id: record for record in made}.values())


def chain(length: int) -> list[Plex]:
    """Return records of which each but the last links to the next; the first is a root."""
    made: list[Plex] = []
    for number in range(length):
        links = (("+Link", f"next {made[-1].id}"),) if made else ()
        made.append(
            make_plex(
                "u",
                "root" if number == length - 1 else "step",
                f"n/{number}",
                Tai("1640995200:000000000"),
                b"%d" % number,
                links,
            )
        )
    return made[::-1]


Cursors = tuple[dict[str, Cursor], dict[str, Cursor]]
"""What the two hosts remember."""


@dataclass
class Scenario:
    """One drawn exchange."""

    left: list[Record]
    right: list[Record]
    policies: tuple[str, str]
    exposes: tuple[Exposure | str | None, Exposure | str | None]

    decisions: Decisions = field(default_factory=dict)
    """What its stores led to, in any of its modes."""

    def pair(self, mode: dict[str, Any], cursors: Cursors | None = None, *, shares: bool = False) -> Pair:
        """Return the exchange in one of its modes; one that shares takes decisions that were made before."""
        hosts: tuple[dict[str, Any], dict[str, Any]] = (
            {"decisions": self.decisions},
            {"decisions": self.decisions},
        )
        for host, remembered in zip(hosts, cursors or (), strict=False):
            host.update(cursors=remembered, cursor_key="the other one")
        return make_pair(
            self.left,
            self.right,
            policies=self.policies,
            exposes=self.exposes,
            settings=mode,
            hosts=hosts,
            answering=SharingHost if shares else NotingHost,
        )


def draw(seed: int, policies: tuple[str, ...] = MONOTONIC) -> Scenario:
    """Draw a scenario."""
    random = Random(seed)
    records = make_records(random, random.choice([0, 3, 12, 40]))
    left = [record for record in records if random.random() < 0.6]
    right = [record for record in records if random.random() < 0.6]
    exposes: list[str | None] = [random.choice([EXPOSE_ALL, EXPOSE_ALL, EXPOSE_U, None]) for _ in range(2)]
    both = random.choice(policies), random.choice(policies)
    return Scenario(
        left, right, both if random.random() < 0.5 else (both[0], both[0]), (exposes[0], exposes[1])
    )


def run_in_process(
    scenario: Scenario, mode: dict[str, Any]
) -> tuple[tuple[InterlaceResult, InterlaceResult], tuple[MemoryStore, MemoryStore]]:
    """Run a scenario without blocks; return how it ended and what both sides hold."""
    stores = MemoryStore(), MemoryStore()
    parties = []
    for index, records in enumerate((scenario.left, scenario.right)):
        stores[index].put_many(records)
        exposed = scenario.exposes[index]
        host = Host(
            stores[index],
            exposure(exposed) if isinstance(exposed, str) else exposed,
            precompiled=PRECOMPILED,
        )
        settings: dict[str, Any] = {"dice": dice(index), **mode, "partitions": False}
        parties.append(
            Party(Settings(index=index, module=module(scenario.policies[index]), **settings), host)
        )
    return interlace_in_process(parties[0], parties[1], Clock().now()), stores


def make_wrong(cursor: Cursor, random: Random) -> Cursor:
    """Return what somebody remembers who remembers badly: some of it, and some that was never so."""
    claims = {record: claimed for record, claimed in cursor.claims.items() if random.random() < 0.6}
    for number in range(random.choice([0, 1, 5])):
        claims[make_blob(b"never %d" % number).id] = random.choice([(), (("Group", "0", "u"),)])
    return Cursor(cursor.source, cursor.fields, claims)


def check_fixed_point(pair: Pair) -> None:
    """See that the end was a fixed point: nothing requestable, advertised, missing and sendable is left."""
    for index, side in enumerate(pair.sides):
        result, other = pair.results[index], pair.sides[1 - index]
        assert result.cause is Cause.FIXED_POINT, result
        held, peer_held = pair.ids(index), pair.ids(1 - index)
        decision, peer_decision = side.host.decision, other.host.decision
        assert decision is not None
        assert peer_decision is not None
        for record in decision.may_request - held:
            if record in side.machine.exchange.agreed.advertised.claims:
                sendable = record in peer_decision.may_send and record in peer_held
                assert not sendable or record in result.rejected_hashes


def check_states(pair: Pair) -> None:
    """See that each side knows exactly what the other advertised, as a full listing would have told it."""
    for index in (0, 1):
        agreed, other = (pair.sides[each].machine.exchange.agreed for each in (index, 1 - index))
        said = {record: other.own.claims(record, other.source) for record in other.own.ids}
        assert agreed.advertised.claims == said


def final(pair: Pair) -> tuple[set[str], set[str]]:
    """Run a pair and return what both sides hold."""
    pair.run()
    check_fixed_point(pair)
    check_states(pair)
    return pair.ids(0), pair.ids(1)
