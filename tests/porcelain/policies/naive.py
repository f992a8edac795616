"""What a policy file means, in the shortest words: each section is a program of its own, and sections meet as
sets. Beside it, random policies whose sections use the same names for different things.

Nothing is renamed, composed, merged or lowered here, so nothing can be shared by accident.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from lace.datalog import parse_program
from lace.datalog.meaning import evaluate
from lace.facts import Fact
from tests.porcelain.policy_texts import ALICE, BOB

PEERS = (ALICE, BOB)
RECORDS = tuple(f"r{number}" for number in range(6))
"""Some are here, all may be advertised, linked to, and named."""
GROUPS, APPS = "XY", "ab"
OPEN = ("SelectHave(P) :- Have(P).", "SelectAdvertised(P,S) :- Advertised(P,S).")

# What lowering makes of names, and what belongs to another facet or to another arity.
_SHARED = ("H", "G", "c0_H", "m0_H", "s0_H", "o2_H", "MergedSelectHave", "AllowSend0", "H_", "Viewer")
NAMES = {
    "select": (
        *_SHARED,
        "c0_SelectHave",
        "c1_SelectHave",
        "s0_AllowSend",
        "AllowSend",
        "AllowRequest",
        "Asked",
    ),
    "expose": (*_SHARED, "_H", "_SelectHave", "_c0_SelectHave", "m0_AllowQueryRecord", "m1_AllowQueryRecord"),
    "send": (
        *_SHARED,
        "_H",
        "_SelectHave",
        "s0_AllowSend",
        "s1_AllowSend",
        "AllowQueryRecord",
        "c0_SelectHave",
    ),
    "receive": (
        *_SHARED,
        "_SelectAdvertised",
        "r0_AllowRequest",
        "r1_H",
        "AllowSend",
        "MergedSelectAdvertised",
    ),
}


class Part(NamedTuple):
    """One section."""

    word: str
    detail: str = ""
    peers: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(
            [f"[{' '.join(filter(None, [self.word, self.detail, *self.peers]))}]", *self.rules, ""]
        )

    def is_for(self, peer: str | None) -> bool:
        if self.detail == "to proven peers":
            return peer is not None
        return peer in self.peers if self.peers else True


@dataclass(frozen=True)
class Meant:
    """What should be decided."""

    view: set[str] | None
    """None is everything."""
    ours: set[str]
    theirs: set[str]
    send: set[str]
    request: set[str]


@dataclass(frozen=True)
class World:
    """What is there at one moment, and who is at the other end."""

    records: tuple[Fact, ...]
    runtime: tuple[Fact, ...]
    advertised: tuple[Fact, ...]
    peer: str | None
    viewer: str

    def holds(self, part: Part, name: str) -> set[tuple[str, ...]]:
        """Return what one section says over everything that it may read here."""
        facts = [*self.records, *self.runtime]
        if part.word in ("select", "receive"):
            facts += self.advertised
        if part.word == "expose":
            facts.append(("_Viewer", self.viewer))
        return _extension(part.rules, facts, name)

    def allowed(self, part: Part) -> set[str]:
        """Return the records that a send section lets go, or that an expose section shows."""
        if part.word == "send":
            return {record for (record,) in self.holds(part, "AllowSend")}
        return {record for viewer, record in self.holds(part, "AllowQueryRecord") if viewer == self.viewer}


def showing(policy: Iterable[Part], world: World) -> list[Part]:
    """Return the expose sections with rules that are for the peer."""
    return [each for each in policy if each.word == "expose" and each.rules and each.is_for(world.peer)]


def meaning(policy: list[Part], theirs: list[tuple[str, ...]], world: World) -> Meant | None:
    """Say what a policy decides about a peer that presents these rules; None where it has nothing for it."""
    selects = [each for each in policy if each.word == "select" and each.is_for(world.peer)]
    if not selects:
        return None
    ours = set.intersection(*(world.holds(each, "SelectHave") for each in selects))
    wanted = set.intersection(*(world.holds(each, "SelectAdvertised") for each in selects))
    words = {(each.word, each.detail) for each in policy}
    shown = [world.allowed(each) for each in showing(policy, world)]
    if ("expose", "selected") in words:
        shown.append({record for (record,) in ours})
    view: set[str] | None = set()
    if any(each.word == "trust" and each.is_for(world.peer) for each in policy):
        view = None
    elif shown:
        view = set.union(*shown) if ("expose", "union") in words else set.intersection(*shown)
    seen = [fact for fact in world.records if view is None or fact[1] in view]
    seen += [*world.runtime, *world.advertised]
    chosen = set.intersection(*[_extension(rules, seen, "SelectHave") for rules in theirs])
    for rules in theirs:
        wanted &= _extension(rules, seen, "SelectAdvertised")
    send = {record for (record,) in ours & chosen}
    for part in policy:
        if part.word == "send":
            send &= world.allowed(part)
        elif part.word == "receive":
            wanted &= world.holds(part, "AllowRequest")
    return Meant(view, {r for (r,) in ours}, {r for (r,) in chosen}, send, {r for r, _ in wanted})


def _extension(rules: tuple[str, ...], facts: Iterable[Fact], name: str) -> set[tuple[str, ...]]:
    arity = {"SelectHave": 1, "AllowSend": 1}.get(name, 2)
    found = evaluate(parse_program("\n".join(rules)), facts)
    return {fact[1:] for fact in found if fact[0] == name and len(fact) == arity + 1}


def random_policy(dice: Random) -> list[Part]:
    """Make a policy of sections that call different things by the same names, and most of all by one."""
    same = dice.choice(_SHARED)

    def some(most: int) -> range:
        return range(max(0, dice.randint(-1, most)))

    def peers() -> tuple[str, ...]:
        return tuple(dice.sample(PEERS, dice.randint(1, 2)))

    def part(word: str, detail: str = "", peers: tuple[str, ...] = ()) -> Part:
        return Part(word, detail, peers, _Rules(dice, word, same).made())

    found = [part("select") for _ in range(dice.randint(1, 3))] if dice.random() < 0.9 else []
    found += [part("select", "for", peers()) for _ in (some(2) if found else range(1))]
    found += [part("expose", "to anyone") for _ in some(2)] + [part("expose", "to", peers()) for _ in some(2)]
    found += [part("expose", "to proven peers") for _ in some(1)]
    found += [Part("expose", "selected") for _ in some(1)] + [Part("expose", "union") for _ in some(1)]
    found += [part("send") for _ in some(2)] + [part("receive") for _ in some(2)]
    if dice.random() < 0.1:
        found.append(Part("trust", "", peers()[:1]))
    dice.shuffle(found)
    return found


class _Rules:
    """The rules of one section: helpers, lowest first, then what the section is for."""

    def __init__(self, dice: Random, word: str, same: str) -> None:
        self.dice = dice
        self.word = word
        self.same = same
        self.rules: list[str] = []
        self.helpers: list[str] = []

    def made(self) -> tuple[str, ...]:
        dice = self.dice
        names = dice.sample(NAMES[self.word], dice.randint(0, 2))
        if dice.random() < 0.6 and self.same not in names:
            names.append(self.same)
        for name in names:
            for _ in range(dice.randint(1, 2)):
                self.rules.append(f"{name}(P) :- {self.body()}.")
            if dice.random() < 0.2:
                self.rules.append(f"{name}(Q) :- {name}(P), RecordLink(P,_,_,_,Q).")
            self.helpers.append(name)
        # Others may have a helper of this name; here nobody defines it.
        self.strange = dice.choice([name for name in NAMES[self.word] if name not in names])
        heads = {
            "select": ("SelectHave(P) :- ", "SelectAdvertised(P,S) :- Advertised(P,S), "),
            "expose": ("AllowQueryRecord(V,P) :- _Viewer(V), ",),
            "send": ("AllowSend(P) :- ",),
            "receive": ("AllowRequest(P,S) :- Advertised(P,S), ",),
        }[self.word]
        for head in heads:
            claims = "Advertised" in head
            plain = head.removesuffix(", ") + "." if claims else f"{head}Have(P)."
            self.rules.append(
                plain if dice.random() < 0.4 else f"{head}{self.claim() if claims else self.last()}."
            )
        if self.word == "select" and dice.random() < 0.2:
            self.rules.append(f"SelectHave('{dice.choice(RECORDS)}') :- true.")
        dice.shuffle(self.rules)
        return tuple(dict.fromkeys(self.rules))

    def last(self) -> str:
        absent = f", not {self.strange}(P)" if self.dice.random() < 0.5 else ""
        return self.body() + absent

    def body(self) -> str:
        return ", ".join([self.atom(), *(self.test() for _ in range(self.dice.randint(0, 2)))])

    def atom(self) -> str:
        dice = self.dice
        if self.helpers and dice.random() < 0.6:
            return f"{dice.choice(self.helpers)}(P)"
        return dice.choice(("Have(P)", "Have(P)", "RecordLink(_,_,_,_,P)", self.field("P")))

    def field(self, record: str) -> str:
        dice = self.dice
        name, value = dice.choice([("Group", dice.choice(GROUPS)), ("App", dice.choice(APPS))])
        return f"Field({record},'{name}',_,'{value}')"

    def test(self) -> str:
        dice = self.dice
        return dice.choice(
            [
                self.atom(),
                f"not {self.field('P')}",
                "not RecordLink(P,_,_,_,_)",
                f"Cardinality({self.field('_')},'{dice.choice('<>')}','{dice.randint(1, 3)}')",
                f"{dice.choice(('', 'not '))}Peer('{dice.choice(PEERS)}')",
                f"P != '{dice.choice(RECORDS)}'",
            ]
        )

    def claim(self) -> str:
        dice = self.dice
        return dice.choice(
            [
                f"AdvertisedField(P,S,'Group',_,'{dice.choice(GROUPS)}')",
                "not AdvertisedField(P,S,'App',_,_)",
                f"Cardinality(Advertised(_,S),'{dice.choice('<>')}','{dice.randint(1, 3)}')",
                f"Cardinality({self.field('_')},'{dice.choice('<>')}','{dice.randint(1, 3)}')",
            ]
        )


def random_records(dice: Random) -> tuple[Fact, ...]:
    """Make the facts of some records."""
    found: list[Fact] = []
    for name in dice.sample(RECORDS, dice.randint(2, 6)):
        found += [("Have", name), ("Field", name, "Group", "0", dice.choice(GROUPS))]
        found.append(("Field", name, "App", "0", dice.choice(APPS)))
        if dice.random() < 0.5:
            found.append(("RecordLink", name, "+L", "0", "", dice.choice(RECORDS)))
    return tuple(found)


def random_claims(dice: Random, source: str) -> tuple[Fact, ...]:
    """Make what a peer says of some records, true or not."""
    found: list[Fact] = []
    for name in dice.sample(RECORDS, dice.randint(0, 4)):
        found.append(("Advertised", name, source))
        for field, values in (("Group", GROUPS), ("App", APPS)):
            if dice.random() < 0.7:
                found.append(("AdvertisedField", name, source, field, "0", dice.choice(values)))
    return tuple(found)
