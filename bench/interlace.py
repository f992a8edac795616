"""What an exchange costs on the wire and in time: `make bench-interlace` (python -m bench.interlace).

    equal     two stores that hold the same                     d = 0
    differ    stores that differ in d records, half on each side
    missing   one of the two stores is empty
    one more  an open exchange at its fixed point, and one new record

Bytes are those of the loops after hello, each way, without record bytes. The policy is a function here: what
rules cost is measured by bench.policy. `--size N` and `--fields N` choose another store and longer claims.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Final, cast

from lace.drive import Host, Item, Side
from lace.interlace import (
    Begin,
    BlockReceived,
    Claim,
    Cursor,
    Dice,
    Evaluated,
    Moment,
    NeedEvaluation,
    PlanAgreed,
    Prepared,
    Purpose,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    SendRecords,
    Settings,
    StoreFailed,
    Wake,
    block_size,
)
from lace.policy import read_module
from lace.record import Record, make_blob
from lace.text import Tai, digest, write_record_id

EVERYTHING: Final = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."
CLAIMS: Final = (
    ("App", "0", "ding"),
    ("Group", "0", "town/hall"),
    ("Name", "0", "links/0123456789"),
    ("TAI", "0", "1640995200:000000000"),
    ("Type", "0", "P"),
)
NOW: Final = Moment(Tai("1640995200:000000000"), 0.0)
MODES: Final = {"standard": None, "one root": 0}


@dataclass(frozen=True)
class Decision:
    """Everything may be sent, and what is missing may be asked for."""

    may_send: frozenset[str]
    may_request: frozenset[str]
    claims: tuple[Claim, ...]

    def has(self, record: str) -> bool:
        """Tell whether the record is there."""
        return record in self.may_send

    def fields(self, record: str) -> tuple[Claim, ...]:
        """Return the same few fields for every record."""
        return self.claims


class Shelf:
    """A store that knows ids, and records only where they are to be sent."""

    def __init__(self, ids: frozenset[str], records: dict[str, Record], claims: tuple[Claim, ...]) -> None:
        self.ids = ids
        self.records = records
        self._claims = claims
        self._arrived: list[Record] = []

    def prepare(self, agreed: PlanAgreed) -> Prepared:
        """Remember nothing."""
        return Prepared()

    def remember(self, cursor: Cursor | None) -> None:
        """Remember nothing."""

    def evaluate(self, need: NeedEvaluation) -> Evaluated:
        """Decide at once."""
        wanted: frozenset[str] = frozenset()
        if need.purpose is Purpose.REQUEST:
            wanted = frozenset(record for record in need.advertised.claims if record not in self.ids)
        return Evaluated(Decision(self.ids, wanted, self._claims))

    def arrive(self, record: Record) -> None:
        """Take a record."""
        self._arrived.append(record)

    @property
    def waiting(self) -> int:
        """How many are not stored."""
        return len(self._arrived)

    def commit(self) -> RecordsStored | StoreFailed | None:
        """Store them."""
        if not self._arrived:
            return None
        arrived, self._arrived = self._arrived, []
        self.records.update((record.id, record) for record in arrived)
        self.ids = self.ids.union(record.id for record in arrived)
        return RecordsStored(tuple(record.id for record in arrived))

    def load(self, wanted: SendRecords) -> Generator[bytes, None, RecordsSent | StoreFailed]:
        """Yield the records."""
        for record in wanted.records:
            yield self.records[record].raw
        return RecordsSent(tuple((record, self.records[record].size) for record in wanted.records))


@dataclass
class Exchange:
    """Two sides that pass each other values, and how much that would have been as text."""

    sides: tuple[Side, Side]
    shelves: tuple[Shelf, Shelf]
    sent: list[int]

    def flow(self) -> None:
        """Pass on until nothing moves."""
        moved = True
        while moved:
            moved = False
            for index, side in enumerate(self.sides):
                other = self.sides[1 - index]
                while not other.machine.busy and side.outbox:
                    item = side.outbox.popleft()
                    self._count(index, item)
                    other.feed(item)
                    moved = True

    def _count(self, index: int, item: Item) -> None:
        if isinstance(item, BlockReceived):
            names = {fact[0] for fact in item.facts}
            if not any(name.startswith(("Hello", "ExchangeOperand")) for name in names):
                self.sent[index] += block_size(item.facts) + 1
        elif isinstance(item, RecordsEnded):
            self.sent[index] += 1


def make_exchange(size: int, differing: int, *, mode: str, fields: int, missing: bool = False) -> Exchange:
    """Join two stores of this size that differ in so many records."""
    shared: frozenset[str] = frozenset(write_record_id("B", digest(b"%d" % n)) for n in range(size))
    own: tuple[dict[str, Record], dict[str, Record]] = ({}, {})
    for number in range(size if missing else differing):
        record = make_blob(b"only here %d" % number)
        own[0 if missing else number % 2][record.id] = record
    claims = CLAIMS[:fields]
    shelves = [Shelf(frozenset(o) if missing else shared.union(o), dict(o), claims) for o in own]
    sides = [
        Side(
            Settings(
                index=index,
                module=read_module(EVERYTHING),
                dice=Dice(digest(b"%d" % index)),
                stays_open=True,
                partition_start=MODES[mode],
                more_fields=frozenset(claim[0] for claim in claims),
            ),
            cast(Host, shelves[index]),
            lambda: NOW,
        )
        for index in (0, 1)
    ]
    return Exchange((sides[0], sides[1]), (shelves[0], shelves[1]), [0, 0])


def lines(size: int, fields: int) -> Iterator[str]:
    """Yield the table, line by line."""
    yield f"{'store':>9} {'mode':9} {'what':12} {'bytes each way':>24} {'loops':>5} {'turns':>5} {'cpu s':>7}"
    for mode in MODES:
        for what, differing in [("d = 0", 0), ("d = 10", 10), ("d = 1,000", 1000), ("missing", 0)]:
            exchange = make_exchange(size, differing, mode=mode, fields=fields, missing=what == "missing")
            yield _measure(exchange, size, mode, what, Begin())
            if what == "d = 0":
                shelf, record = exchange.shelves[0], make_blob(b"one more")
                shelf.records[record.id] = record
                shelf.ids = shelf.ids | {record.id}
                yield _measure(exchange, size, mode, "one more", Wake())


def _measure(exchange: Exchange, size: int, mode: str, what: str, event: Begin | Wake) -> str:
    before, started = tuple(exchange.sent), process_time()
    for side in exchange.sides if isinstance(event, Begin) else exchange.sides[:1]:
        side.feed(event)
    exchange.flow()
    spent = process_time() - started
    assert exchange.shelves[0].ids == exchange.shelves[1].ids
    result = exchange.sides[0].fixed_points[-1]
    ways = " ".join(f"{now - then:>11,}" for now, then in zip(exchange.sent, before, strict=True))
    return f"{size:>9,} {mode:9} {what:12} {ways:>24} {result.loops:>5} {result.turns:>5} {spent:>7.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, action="append", help="records of a store; may repeat")
    parser.add_argument("--fields", type=int, default=0, choices=range(len(CLAIMS) + 1))
    options = parser.parse_args()
    for size in options.size or [100_000, 1_000_000]:
        for line in lines(size, options.fields):
            print(line, flush=True)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MB")


if __name__ == "__main__":
    main()
