"""Random peer modules, and pairs of random stores that a peer must not be able to tell apart.

The two stores of a pair hold the same records of Group X, which is what the peer may see, and other records
of other groups. The modules are made to be curious: they count, negate, walk along links, rank by time and
launder through helpers, with constants that hidden records have and visible ones have not.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import NamedTuple

from lace.facts import Fact
from tests.policy.sides import ALICE, advertise

GROUPS = ("X", "Y", "Z")
APPS = ("a", "b", "c")
NAMES = ("n0", "n1", "n2", "n3")
KEYS = ("k0", "k1", "k2")
DATA = ("", "evidence")
OPS = ("<", "<=", ">", ">=")

LOCALS = (
    "SelectHave(P) :- Have(P), Field(P,'Group',_,'X').\nSelectAdvertised(P,S) :- Advertised(P,S).",
    "SelectHave(P) :- Field(P,'Group',_,'X'), not Odd(P).\n"
    "Odd(P) :- Field(P,'Group',_,'X'), Field(P,'App',_,'c').\n"
    "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,_,_,_).",
)
EXPOSED = (
    ("AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'X').",),
    (
        "AllowQueryRecord(V,P) :- _Viewer(V), Have(P).",
        f"AllowQueryRecord('{ALICE}',P) :- Field(P,'Group',_,'X').",
    ),
)


class Pair(NamedTuple):
    """Two stores with the same view, and the facts that both sides know."""

    left: tuple[Fact, ...]
    right: tuple[Fact, ...]
    more_left: tuple[Fact, ...]
    """Hidden records that come later."""
    more_right: tuple[Fact, ...]
    runtime: tuple[Fact, ...]
    advertised: tuple[Fact, ...]


def random_pair(dice: Random) -> Pair:
    """Make two stores that agree on Group X."""
    shown = [f"x{n}" for n in range(dice.randint(2, 5))]
    hidden = [f"h{n}" for n in range(8)]
    every = shown + hidden
    visible: list[Fact] = []
    for name in shown:
        visible += random_record(dice, name, "X", every)
    few, many = dice.choice((0, 0, 1)), dice.randint(6, 8)
    left = [fact for name in dice.sample(hidden, few) for fact in _hidden(dice, name, every)]
    right = [fact for name in dice.sample(hidden, many) for fact in _hidden(dice, name, every)]
    if dice.random() < 0.5:
        left, right = right, left
    advertised: list[Fact] = []
    for name in [*dice.sample(shown, 1), *(f"q{n}" for n in range(dice.randint(1, 3)))]:
        advertised += advertise(name, ALICE, Group=dice.choice(GROUPS), App=dice.choice(APPS))
    return Pair(
        tuple(visible + left),
        tuple(visible + right),
        tuple(_hidden(dice, "later0", every)),
        tuple(_hidden(dice, "later1", every) + _hidden(dice, "later2", every)),
        (("Peer", ALICE), ("Transport", "unix:/x")),
        tuple(advertised),
    )


def _hidden(dice: Random, name: str, every: list[str]) -> list[Fact]:
    return random_record(dice, name, dice.choice(GROUPS[1:]), every)


def random_record(dice: Random, name: str, group: str, every: list[str]) -> list[Fact]:
    """Make the facts of one record, which may link to any other."""
    found: list[Fact] = [
        ("Have", name),
        ("Field", name, "Group", "0", group),
        ("Field", name, "App", "0", dice.choice(APPS)),
        ("Field", name, "Name", "0", dice.choice(NAMES)),
        ("Field", name, "TAI", "0", f"16409952{dice.randint(10, 99)}:000000000"),
    ]
    if dice.random() < 0.7:
        found.append(("BlobHash", name, f"b{dice.randint(0, 3)}"))
    if dice.random() < 0.5:
        found += [("Field", name, "Signed-By", "0", dice.choice(KEYS)), ("PlexHash", name, f"y{name}")]
    for at in range(dice.choice((0, 1, 1, 2))):
        found.append(("RecordLink", name, "+Link", str(at), dice.choice(DATA), dice.choice(every)))
    return found


@cache
def random_module(seed: int) -> str:
    """Make a curious selector."""
    dice = Random(f"module {seed}")
    return _Curious(dice).text()


class _Curious:
    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.rules: list[str] = []
        self.helpers: list[str] = []
        """Helpers about a record, lowest first."""

    def text(self) -> str:
        dice = self.dice
        for number in range(dice.randint(1, 3)):
            self.helper(f"H{number}")
        for _ in range(dice.choice((1, 2, 3))):
            tests = self.tests("P", dice.choice((1, 1, 1, 2)))
            start = dice.choice(("Have(P)", "Field(P,'App',_,A)", "BlobHash(P,_)"))
            self.rules.append(f"SelectHave(P) :- {', '.join([start, *tests])}.")
        for _ in range(dice.choice((1, 2, 3))):
            self.rules.append(
                f"SelectAdvertised(P,S) :- {', '.join(['Advertised(P,S)', *self.tests(None, 1)])}."
            )
        return "\n".join(dict.fromkeys(self.rules))

    def helper(self, name: str) -> None:
        dice = self.dice
        kind = dice.choice(("plain", "reach", "path", "newest", "tests", "tests"))
        if kind == "plain":
            self.rules.append(f"{name}(P) :- {self.atom('P')}.")
        elif kind == "reach":
            self.rules.append(f"{name}(P) :- {self.atom('P')}.")
            self.rules.append(f"{name}(Q) :- {name}(P), RecordLink(P,_,_,_,Q).")
        elif kind == "path":
            self.rules.append(f"{name}p(P,Q) :- RecordLink(P,_,_,_,Q).")
            self.rules.append(f"{name}p(P,R) :- {name}p(P,Q), RecordLink(Q,_,_,_,R).")
            self.rules.append(f"{name}(P) :- {name}p(_,P).")
        elif kind == "newest":
            self.rules.append(f"{name}c(P,T) :- Have(P), Field(P,'TAI',_,T).")
            self.rules.append(
                f"{name}b(P,Q) :- {name}c(P,TP), {name}c(Q,TQ), LexCompare(TQ,'>',TP)."
                if dice.random() < 0.5
                else f"{name}b(P,Q) :- {name}c(P,_), {name}c(Q,_), LexCompare(Q,'<',P)."
            )
            bound = dice.randint(1, 4)
            self.rules.append(f"{name}(P) :- {name}c(P,_), Cardinality({name}b(P,_),'<','{bound}').")
        else:
            self.rules.append(f"{name}(P) :- {', '.join([self.atom('P'), *self.tests('P', 1)])}.")
        self.helpers.append(name)

    def atom(self, variable: str) -> str:
        """Make a positive atom about a record."""
        dice = self.dice
        kinds = [
            f"Have({variable})",
            f"Field({variable},'Group',_,'{dice.choice(GROUPS)}')",
            f"Field({variable},'App',_,'{dice.choice(APPS)}')",
            f"RecordLink({variable},_,_,'{dice.choice(DATA)}',_)",
            f"RecordLink(_,_,_,_,{variable})",
            f"BlobHash({variable},'b{dice.randint(0, 3)}')",
            f"PlexHash({variable},_)",
        ]
        return dice.choice(kinds)

    def counted(self) -> str:
        """Make an atom about anything at all."""
        dice = self.dice
        kinds = [
            "Have(_)",
            f"Field(_,'Group',_,'{dice.choice(GROUPS[1:])}')",
            f"Field(_,'Name',_,'{dice.choice(NAMES)}')",
            f"Field(_,'Signed-By',_,'{dice.choice(KEYS)}')",
            "RecordLink(_,_,_,_,_)",
            f"BlobHash(_,'b{dice.randint(0, 3)}')",
            "PlexHash(_,_)",
        ]
        kinds += [f"{name}(_)" for name in self.helpers]
        return dice.choice(kinds)

    def tests(self, variable: str | None, most: int) -> list[str]:
        """Make tests of what is there at all, and of the record."""
        dice = self.dice
        found = []
        for _ in range(most):
            roll = dice.random()
            if variable and self.helpers and roll < 0.25:
                found.append(f"{dice.choice(('', 'not '))}{dice.choice(self.helpers)}({variable})")
            elif roll < 0.45:
                found.append(f"not {self.counted()}")
            elif roll < 0.6:
                found.append(self.counted())
            else:
                atom = self.counted()
                # As many as there are records in all, or as few as have one value: near what is there.
                bound = (
                    dice.randint(5, 8) if atom in ("Have(_)", "RecordLink(_,_,_,_,_)") else dice.randint(1, 4)
                )
                found.append(f"Cardinality({atom},'{dice.choice(OPS)}','{bound}')")
        return found
