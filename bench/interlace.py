"""What an exchange costs on the wire and in time: `make bench-interlace` (python -m bench.interlace).

    d = N       stores that differ in N records, half on each side
    missing     one of the two stores is empty
    one more    an open exchange at its fixed point, and one new record
    live        the same under rules, in stores of up to 100,000 records: the first new record and the third
    copy, next  a first copy above the transfer limit, and the exchange after it
    in process  records that move between two memory stores, against validating the same records
    filtered    500 records selected of a large store, against the same 500 of a small one

Bytes are those of the loops after hello, each way, without record bytes. Where the table counts bytes the
policy is a function: what rules cost is measured by bench.policy. The last three run real policies.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Final

from rich.console import Console

from bench.harness import WIDTH, measure, table
from bench.moving import SHOW_ALL, filtered, in_process
from bench.shelves import CLAIMS, MODES, Exchange, join, make_shelves
from lace.drive import Host
from lace.interlace import Begin, ExchangeLimits, Wake
from lace.record import make_blob
from lace.stores import MemoryStore

SIZES: Final = (100_000, 1_000_000)
LARGE: Final = 1_000_000
LIVE: Final = 100_000
"""A store with its records in memory takes ten times what a shelf takes."""
FEW: Final = 10
MANY: Final = 10_000
GOALS: Final = {
    ("one root", "d = 0"): 100,
    ("standard", "d = 0"): 340_000,
    ("one root", f"d = {FEW}"): 120_000,
    ("one root", "one more"): 20_000,
}
"""At most so many bytes each way, in stores of a million."""
HEAD: Final = (
    f"{'store':>9} {'mode':9} {'advert':>6} {'what':12} {'bytes each way':>25} {'loops':>5} {'turns':>5}"
    f" {'cpu s':>7}  goal"
)


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    size: int
    mode: str
    what: str
    long: bool
    """Whether advertisements carry fields."""
    sent: tuple[int, int]
    loops: int
    turns: int
    seconds: float
    note: str = ""

    @property
    def goal(self) -> int | None:
        """The most bytes each way, where there is a bound."""
        return GOALS.get((self.mode, self.what)) if self.size >= LARGE and not self.long else None

    @property
    def met(self) -> bool:
        """Whether the bound was kept, or there is none."""
        return self.goal is None or max(self.sent) <= self.goal

    def __str__(self) -> str:
        ways = " ".join(f"{sent:>12,}" for sent in self.sent)
        told = "" if self.goal is None else f"≤ {self.goal:,} {'met' if self.met else 'MISSED'}"
        return (
            f"{self.size:>9,} {self.mode:9} {714 if self.long else 114:>6} {self.what:12} {ways:>25}"
            f" {self.loops:>5} {self.turns:>5} {self.seconds:>7.1f}  {told}{self.note}"
        )


def run(exchange: Exchange, event: Begin | Wake) -> tuple[tuple[int, int], float]:
    """Run to the next fixed point, or to the end; return the bytes each way and the seconds."""
    before, started = tuple(exchange.sent), process_time()
    for side in exchange.sides if isinstance(event, Begin) else exchange.sides[:1]:
        side.feed(event)
    exchange.flow()
    spent = process_time() - started
    zero, one = (now - then for now, then in zip(exchange.sent, before, strict=True))
    return (zero, one), spent


def case(exchange: Exchange, size: int, mode: str, what: str, long: bool, event: Begin | Wake) -> Case:
    """Run one case that ends with two equal stores."""
    sent, spent = run(exchange, event)
    assert exchange.shelves[0].ids == exchange.shelves[1].ids
    result = exchange.outcome(0)
    return Case(size, mode, what, long, sent, result.loops, result.turns, spent)


def differing(size: int, mode: str, count: int, *, long: bool = False) -> Iterator[Case]:
    """Yield what it takes to find differences; an open exchange of equal stores gets one record more."""
    claims = CLAIMS if long else ()
    exchange = join(make_shelves(size, count, claims), mode, claims)
    yield case(exchange, size, mode, f"d = {count:,}", long, Begin())
    if count == 0:
        exchange.shelves[0].put(make_blob(b"one more"))
        yield case(exchange, size, mode, "one more", long, Wake())


def missing(size: int, mode: str) -> Iterator[Case]:
    """Copy everything to an empty store."""
    yield case(join(make_shelves(size, 0, missing=True), mode), size, mode, "missing", False, Begin())


def partial(size: int, mode: str) -> Iterator[Case]:
    """Copy what is more than the transfer limit lets through at once."""
    shelves = make_shelves(size, 0, missing=True)
    everything = sum(record.size for record in shelves[0].records.values())
    limits = ExchangeLimits(max_total_transferred_bytes=everything * 6 // 10)
    for what in ("copy", "next"):
        exchange = join(shelves, mode, stays_open=False, limits=limits)
        sent, spent = run(exchange, Begin())
        result = exchange.outcome(0)
        note = f"{result.cause.value}, {len(exchange.outcome(1).received_hashes):,} received"
        yield Case(size, mode, what, False, sent, result.loops, result.turns, spent, note)
    assert shelves[0].ids == shelves[1].ids


def live(size: int, mode: str) -> Iterator[Case]:
    """Add records to one of two equal stores in an open exchange under rules."""
    if size > LIVE:
        return
    stores, records = (MemoryStore(), MemoryStore()), [make_blob(b"%d" % number) for number in range(size)]
    for store in stores:
        store.put_many(records)
    zero, one = (Host(store, SHOW_ALL) for store in stores)
    exchange = join((zero, one), mode)
    run(exchange, Begin())
    for which in ("live, first", "live, second", "live, third"):
        stores[0].put(make_blob(which.encode()))
        sent, spent = run(exchange, Wake())
        result = exchange.outcome(0)
        if which != "live, second":
            yield Case(size, mode, which, False, sent, result.loops, result.turns, spent)
    assert [*stores[0].ids()] == [*stores[1].ids()]


Makers = dict[str, Callable[[int], Iterator[Case]]]
MAKERS: Final[Makers] = {
    f"{mode} {count}": lambda size, mode=mode, count=count: differing(size, mode, min(count, size))
    for mode in MODES
    for count in (0, FEW, 1000)
}
MAKERS.update({f"{mode} missing": lambda size, mode=mode: missing(size, mode) for mode in MODES})
MAKERS["standard 10000"] = lambda size: differing(size, "standard", min(MANY, size))
MAKERS["standard 10000 long"] = lambda size: differing(size, "standard", min(MANY, size), long=True)
MAKERS.update({f"{mode} live": lambda size, mode=mode: live(size, mode) for mode in MODES})
MAKERS["standard partial"] = lambda size: partial(size, "standard")
LINES: Final = {"in process": in_process, "filtered": filtered}


def main() -> None:
    """Print the table; end with 1 where a goal was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join([*MAKERS, *LINES])
    parser.add_argument("only", nargs="*", metavar="CASE", help=f"some of: {names}")
    parser.add_argument("--size", type=int, action="append", help="records of a store; may repeat")
    parser.add_argument("--repeats", type=int, default=5, help="of the last two lines")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    options = parser.parse_args()
    strangers = set(options.only) - {*MAKERS, *LINES}
    if strangers:
        parser.error(f"no such case: {', '.join(sorted(strangers))}")
    chosen = options.only or [*MAKERS, *LINES]
    met = True
    print(HEAD)
    for size in options.size or ([2000] if options.quick else SIZES):
        for each in (each for name in MAKERS if name in chosen for each in MAKERS[name](size)):
            print(each, flush=True)
            met = met and each.met
    repeats = 1 if options.quick else options.repeats
    results = [measure(maker(options.quick), repeats) for name, maker in LINES.items() if name in chosen]
    if results:
        Console(width=max(Console().width, WIDTH)).print(table(results))
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MB")
    sys.exit(not (met and all(result.met for result in results)))


if __name__ == "__main__":
    main()
