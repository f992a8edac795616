"""Seven workloads for rule engines: programs, and facts that are the same on every machine.

    w1        a selection over a million `Field` facts
    w2        what 200 roots reach over 200,000 evidence links in 20 levels
    w3_dense  the transitive closure of a random graph, a million pairs
    w3_chain  that of one long chain: two million pairs, as many rounds as links
    w4        500,000 records without those of blocked authors
    w5        the newest 100 of 3,000 by `Cardinality`
    w6        all of it in a program of five rules over 200 facts: what one policy costs

Rules of this file:
1. A workload draws from one generator that is seeded with its name, in one fixed order, so its facts never
   change. Sizes below the full one are for trying things out and have no fixed facts.
2. Record ids are short made-up texts; record facts are given as base facts like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

Row = tuple[str, ...]
Facts = dict[str, list[Row]]

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: multiples of it scatter, so ids come in no useful order."""
ID_BITS = 60

SELECTION = (
    "Selected(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), "
    "Field(P,'Name',_,K), TextShape(K,'links/','','')."
)
CLOSURE = "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z)."
SPREAD = "Member(Q) :- Member(P), RecordLink(P,'evidence',_,_,Q), Have(Q)."


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, what it is asked for, and how its facts are made."""

    name: str
    wanted: str
    arity: int
    program: str
    make: Callable[[Random, float], Facts]

    def facts(self, size: float = 1.0) -> Facts:
        """Make the facts, or a part of about that size."""
        return self.make(Random(self.name), size)


def record(number: int) -> str:
    """Return a made-up record id.

    >>> record(0), record(1)
    ('r000000000000000', 're3779b97f4a7c15')
    """
    return f"r{number * GOLDEN % (1 << ID_BITS):015x}"


def part(count: int, size: float) -> int:
    """Return that part of a count, and not nothing."""
    return max(1, round(count * size))


def selection(dice: Random, size: float) -> Facts:
    """Records with eight fields each; nine of ten are held."""
    ids = list(map(record, range(part(125_000, size))))
    have: list[Row] = [(p,) for p in ids if dice.random() < 0.9]
    return {"Have": have, "Field": [row for p in ids for row in eight_fields(dice, p)]}


def eight_fields(dice: Random, p: str) -> Iterator[Row]:
    """Yield the fields of one record."""
    below = dice.randrange
    yield p, "Group", "0", "u" if dice.random() < 0.3 else f"g{below(40)}"
    yield p, "App", "0", "ding" if dice.random() < 0.2 else f"app{below(20)}"
    folder = "links/" if dice.random() < 0.4 else "notes/"
    yield p, "Name", "0", f"{folder}{below(10**6)}"
    yield p, "Title", "0", f"title {below(10**6)}"
    yield p, "Author", "0", f"author{below(20_000)}"
    month, day, rest = below(1, 13), below(1, 29), below(10**6)
    yield p, "Created", "0", f"2026-{month:02}-{day:02}T{rest:06}"
    yield p, "Lang", "0", f"lang{below(30)}"
    yield p, "Kind", "0", f"kind{below(12)}"


LEVELS = 21
"""One more than the links between them."""


def linked(level: int, at: int) -> str:
    """Return a record of w2 by its level and its place there."""
    return record(10**7 + 5000 * level + at)


def evidence(dice: Random, size: float) -> Facts:
    """Levels of records, each record with two links to the level below; a few records are missing."""
    width = part(5000, size)
    levels = [[linked(level, at) for at in range(width)] for level in range(LEVELS)]
    links: list[Row] = []
    for level, below in pairwise(levels):
        for p in level:
            for at in ("0", "1"):
                label = "evidence" if dice.random() < 0.9 else "see"
                links.append((p, label, at, f"d{dice.randrange(10**9)}", dice.choice(below)))
    have: list[Row] = [(p,) for level in levels for p in level if dice.random() < 0.98]
    return {"RecordLink": links, "Have": have, "Root": [(p,) for p in levels[0][: part(200, size)]]}


def more_links(size: float = 1.0, count: int = 1000) -> list[Row]:
    """Return more links between the records of w2, drawn as its own were."""
    dice, width = Random("w2 more"), part(5000, size)
    links: list[Row] = []
    for number in range(count):
        level, at, below = dice.randrange(LEVELS - 1), dice.randrange(width), dice.randrange(width)
        label = "evidence" if dice.random() < 0.9 else "see"
        links.append((linked(level, at), label, "2", f"more{number}", linked(level + 1, below)))
    return links


def dense(dice: Random, size: float) -> Facts:
    """A random graph with three times as many edges as nodes."""
    nodes = part(1100, size)
    edges: set[Row] = set()
    while len(edges) < 3 * nodes:
        start, end = dice.randrange(nodes), dice.randrange(nodes)
        edges.add((record(start), record(end)))
    return {"Edge": sorted(edges)}


def chain(_: Random, size: float) -> Facts:
    """One path through all nodes."""
    nodes = list(map(record, range(part(2000, size))))
    return {"Edge": list(pairwise(nodes))}


def blocking(dice: Random, size: float) -> Facts:
    """Records with one author each, of whom some are blocked."""
    ids = [record(2 * 10**7 + at) for at in range(part(500_000, size))]
    authors = part(50_000, size)
    by: list[Row] = [(p, f"author{dice.randrange(authors)}") for p in ids]
    blocked = dice.sample(range(authors), part(2000, size))
    return {
        "Have": [(p,) for p in ids],
        "Author": by,
        "BlockedAuthor": [(f"author{number}",) for number in blocked],
    }


def newest(dice: Random, size: float) -> Facts:
    """Candidates with their times, some of them equal."""
    ids = [record(3 * 10**7 + at) for at in range(part(3000, size))]
    return {"Candidate": [(p, f"2026-01-01T{dice.randrange(2500):06}") for p in ids]}


def tiny(_: Random, __: float) -> Facts:
    """Twenty records with seven fields each and 38 links among them; nothing is drawn."""
    ids = [record(4 * 10**7 + at) for at in range(20)]
    rows: list[Row] = []
    for at, p in enumerate(ids):
        fields = {
            "Group": "u" if at % 2 else "v",
            "App": "ding" if at % 3 else "dong",
            "Name": f"{'links/' if at % 5 else 'notes/'}{at}",
            "Author": f"author{at % 7}",
            "Created": f"2026-{at:04}",
            "Title": f"t{at}",
            "Lang": f"l{at % 3}",
        }
        rows += [(p, name, "0", value) for name, value in fields.items()]
    links: list[Row] = [
        (ids[at % 19], "evidence", str(at), f"d{at}", ids[(7 * at + 3) % 20]) for at in range(38)
    ]
    return {
        "Have": [(p,) for p in ids],
        "Field": rows,
        "RecordLink": links,
        "BlockedAuthor": [("author3",), ("author5",)],
    }


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("w1", "Selected", 1, SELECTION, selection),
        Workload("w2", "Member", 1, f"Member(P) :- Root(P), Have(P).\n{SPREAD}", evidence),
        Workload("w3_dense", "Path", 2, CLOSURE, dense),
        Workload("w3_chain", "Path", 2, CLOSURE, chain),
        Workload(
            "w4",
            "Visible",
            1,
            "Blocked(P) :- Author(P,A), BlockedAuthor(A).\nVisible(P) :- Have(P), not Blocked(P).",
            blocking,
        ),
        Workload(
            "w5",
            "Newest",
            1,
            "Before(P,Q) :- Candidate(P,T), Candidate(Q,T), LexCompare(Q,'>',P).\n"
            "Before(P,Q) :- Candidate(P,TP), Candidate(Q,TQ), LexCompare(TQ,'>',TP).\n"
            "Newest(P) :- Candidate(P,_), Cardinality(Before(P,Q),'<','100').",
            newest,
        ),
        Workload(
            "w6",
            "Out",
            1,
            f"{SELECTION}\nMember(P) :- Selected(P).\n{SPREAD}\n"
            "Blocked(P) :- Field(P,'Author',_,A), BlockedAuthor(A).\nOut(P) :- Member(P), not Blocked(P).",
            tiny,
        ),
    )
}
