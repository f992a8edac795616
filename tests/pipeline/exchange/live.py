"""What lakes are held to: the live machine over the same records, and random plans to try it with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

from lace.drive import Host, Party, interlace_in_process
from lace.drive.host import Evaluation
from lace.engines import Database
from lace.facts import Fact, facts_of_record
from lace.interlace import InterlaceResult, Settings, Summary, advertisement_facts
from lace.interlace.own import OwnAdvertisements
from lace.pipeline import Given, Lake, LakeParty, PlanSide, Said, Subject
from lace.pipeline.intake.asked import IDS, write_staged
from lace.policy import (
    ExchangePlan,
    Exposure,
    OperandLimits,
    Restriction,
    Snapshot,
    make_plan,
    read_restriction,
)
from lace.record import Record, make_plex, make_seal
from lace.stores import MemoryStore
from lace.text import Tai, encode
from tests.interlace.pair import Clock, dice, exposure, module
from tests.interlace.scenarios import Scenario
from tests.policy.worlds import APPS, EXPOSED, GROUPS, NAMES, random_module
from tests.strategies import AUX, SECRETS

LIMITS = OperandLimits()
FORMATS = frozenset({"H3"})


def ids(lake: Lake) -> set[str]:
    """Return the records of a lake."""
    found = lake.snapshot().dataset("records").to_table(columns=["id"]).column("id").to_pylist()
    assert len(found) == len(set(found)), "each record is there once"
    return set(found)


def advertised(rows: pa.Table) -> list[str]:
    """Return the records that rows of advertisements are about."""
    columns = (rows.column(name).to_pylist() for name in ("type", "payload", "format"))
    return [f"{letter}.{encode(payload)}.{form}" for letter, payload, form in zip(*columns, strict=True)]


def party(holder: Any, index: int, policy: str, exposed: Exposure | str | None, **settings: Any) -> LakeParty:
    """Return one side of a convergence."""
    shown = exposure(exposed) if isinstance(exposed, str) else exposed or Exposure()
    return LakeParty(
        holder, Settings(index=index, module=module(policy), dice=dice(index), **settings), shown
    )


def parties(holders: Sequence[Any], scenario: Scenario, **settings: Any) -> tuple[LakeParty, LakeParty]:
    """Return both sides of a drawn exchange."""
    left, right = (
        party(holder, index, scenario.policies[index], scenario.exposes[index], **settings)
        for index, holder in enumerate(holders)
    )
    return left, right


def run_live(
    scenario: Scenario, **settings: Any
) -> tuple[tuple[InterlaceResult, InterlaceResult], tuple[set[str], set[str]]]:
    """Run the same exchange over memory stores; return how it ended and who holds what."""
    stores = MemoryStore(), MemoryStore()
    sides = []
    for index, records in enumerate((scenario.left, scenario.right)):
        stores[index].put_many(records)
        asked = party(None, index, scenario.policies[index], scenario.exposes[index], **settings)
        sides.append(Party(asked.settings, Host(stores[index], asked.exposure)))
    results = interlace_in_process(sides[0], sides[1], Clock().now())
    left, right = ({str(record) for _, record in store.ids()} for store in stores)
    return results, (left, right)


@dataclass(frozen=True)
class Drawn:
    """One side of a random plan over random records, and what the other side says."""

    plan: ExchangePlan
    records: list[Record]
    others: list[Record]
    exposure: Exposure
    restrictions: tuple[Restriction, ...]
    runtime: frozenset[Fact]

    @property
    def rules(self) -> PlanSide:
        """What decides."""
        return PlanSide(self.plan, 0, "here", self.exposure, self.restrictions)

    @property
    def subject(self) -> Subject:
        """Whose send set it is."""
        fields = self.plan.fields
        schema = None if fields.every else frozenset(fields.names)
        source = self.plan.operands[0].origin.label
        rules = self.rules
        return Subject(
            self.plan.id, 0, rules.viewer, source, schema, FORMATS, self.exposure, self.restrictions
        )

    @property
    def peer(self) -> str:
        """The other side's name."""
        return self.plan.operands[1].origin.label

    def claims(self) -> dict[str, tuple[tuple[str, str, str], ...]]:
        """Return what the other side claims of its records."""
        schema = self.subject.schema
        return {
            str(record.id): tuple(
                sorted(
                    (fact[2], fact[3], fact[4])
                    for fact in facts_of_record(record)
                    if fact[0] == "Field" and (schema is None or fact[2] in schema)
                )
            )
            for record in self.others
        }

    def live(self, records: Iterable[Record] | None = None) -> Evaluation:
        """Decide as a live side does."""
        records = list(self.records if records is None else records)
        facts = [fact for record in records for fact in facts_of_record(record)]
        said = [f for r, c in self.claims().items() for f in advertisement_facts(r, self.peer, c)]
        database = Database(facts)
        moment = Snapshot(database, self.runtime, said)
        have = frozenset(str(record.id) for record in records)
        return Evaluation(self.rules.policy(LIMITS).evaluate(moment), have, database.version())

    def given(self, lake: Lake) -> Given:
        """Return the same for a lake: what is said lies in files."""
        lake.folder.make("staged")
        claims = self.claims()
        rows = [(record, *claim) for record, found in claims.items() for claim in found]
        listed = pa.table([pa.array(sorted(claims), pa.string())], schema=IDS)
        columns = list(zip(*rows, strict=True)) or [()] * 4
        names = ["record", "name", "index", "value"]
        table = pa.table([pa.array(column, pa.string()) for column in columns], names=names)
        paths = [write_staged(lake.folder, "staged/test", each) for each in (listed, table)]
        said = Said(self.peer, lake.folder, (paths[0],), (paths[1],), len(claims) + len(rows))
        return Given(self.runtime, said)


def live_summaries(drawn: Drawn, evaluation: Evaluation) -> tuple[OwnAdvertisements, list[Summary]]:
    """Return what a live side would advertise: its records and its standard partitions."""
    subject = drawn.subject
    own = OwnAdvertisements(subject.source, drawn.peer, subject.schema, FORMATS, summarizes=True)
    own.update(evaluation)
    return own, own.tree.summaries()


def make_record(random: Random, group: str, made: Sequence[Record]) -> Record:
    """Return a record that means something to random modules."""
    links = [("+Link", f"evidence {random.choice(made).id}")] if made and random.random() < 0.5 else []
    plex = make_plex(
        group,
        random.choice(APPS),
        random.choice(NAMES),
        Tai(f"16409952{random.randint(10, 99)}:000000000"),
        b"%d" % random.randrange(10**9),
        tuple(links),
    )
    return make_seal(plex, random.choice(SECRETS), AUX) if random.random() < 0.3 else plex


def draw_plan(seed: int) -> Drawn:
    """Draw a plan of two curious selectors, and records for it."""
    random = Random(f"plan {seed}")
    made: list[Record] = []
    for _ in range(random.choice((5, 12, 25))):
        made.append(make_record(random, random.choice(GROUPS), made))
    shared = random.sample(made, len(made) // 3)
    others = shared + [make_record(random, random.choice(GROUPS), made) for _ in range(4)]
    restrictions = []
    if random.random() < 0.5:
        restrictions.append(read_restriction("AllowSend(P) :- Have(P), not Field(P,'App',_,'b').", "send"))
    if random.random() < 0.5:
        restrictions.append(read_restriction("AllowRequest(P,S) :- Advertised(P,S), StartTAI(_).", "request"))
    asks = (
        "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'X').\n"
        "SelectAdvertised(P,S) :- Advertised(P,S), Cardinality(AdvertisedField(_,S,'App',_,_),'>','3').",
        random_module(2 * seed),
    )[seed % 3 > 0]
    return Drawn(
        make_plan(module(asks), module(random_module(2 * seed + 1))),
        list(dict.fromkeys(made)),
        list(dict.fromkeys(others)),
        exposure(*random.choice(_EXPOSED)),
        tuple(restrictions),
        frozenset({("StartTAI", "1640995200:000000000"), ("TickTAI", "1640995200:000000000")}),
    )


_EXPOSED = (
    EXPOSED[0],
    ("AllowQueryRecord(V,P) :- _Viewer(V), Have(P).",),
    ("AllowQueryRecord(V,P) :- _Viewer(V), Have(P).", "AllowQueryRecord(V,P) :- _Viewer(V), BlobHash(P,_)."),
)


def without(drawn: Drawn, gone: int) -> Drawn:
    """Return the same with fewer records."""
    return replace(drawn, records=drawn.records[gone:])
