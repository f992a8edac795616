"""Random stratified programs over random facts, the same for the same seed.

Made so that engines have something to get wrong: recursion, negation and counts over derived predicates,
built-ins before the atoms that bind them, constants in heads, `_`, zero arity, one name at two arities, and
values that other systems mistake for numbers or syntax. The domain is small and facts are neither rare nor
dense, so that a good share of the negated and counted atoms decides something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from lace.datalog import (
    Anonymous,
    Atom,
    BodyAtom,
    Cardinality,
    Const,
    IntCompare,
    LexCompare,
    Negated,
    Rule,
    Term,
    TextShape,
    Truth,
    Unequal,
    Var,
    evaluate,
    make_program,
)
from lace.datalog.meaning import Binding, Relations, holds, solutions, value
from lace.facts import Fact, Predicate

BIG = "1234567890123456789012345678901234567890"
PLAIN = ("a", "b", "c", "d")
NUMBERS = ("0", "1", "2", "9", "10", "-1", "-10", BIG, BIG[:-1] + "1", "-" + BIG, "18446744073709551616")
ODD = ("-0", "01", "+1", "", " 1", "1.0", "1e3", "\N{FULLWIDTH DIGIT ONE}", "X", "_", "true")
TEXTS = (
    "a/b",
    "a/b/c",
    "ab",
    "aba",
    "a.b",
    "it's",
    "\\",
    "\\'",
    "na\u00efve",
    "\N{HOT BEVERAGE}",
    "\uffee",
    "\U0001f600/a",
)
DELIMS = ("", "", "/", "./", "'", "\\", "\N{HOT BEVERAGE}/", "bb")
PIECES = ("", "", "a", "ab", "a/", "b", "/b", "ba", "'", "\\", "0", "-")
NAMES = ("A", "B", "C", "Reach", "b~c-d_e", "_x", "lower", "Have2")
VARIABLES = ("W", "X", "Y", "Z")
OPS = ("<", "<=", ">", ">=")

BASE = (
    Predicate("V", 1),
    Predicate("E", 2),
    Predicate("T", 3),
    Predicate("A", 4),
    Predicate("On", 0),
    Predicate("Nope", 1),
)


class Case(NamedTuple):
    """A program, the facts it runs on, and the derived predicates that are asked for."""

    program: str
    facts: tuple[Fact, ...]
    outputs: tuple[Predicate, ...]


@cache
def random_case(seed: int) -> Case:
    """Make the case with this number."""
    dice = Random(f"lace {seed}")
    domain = dice.sample(PLAIN, 2)
    for pool in dice.sample((NUMBERS, ODD, TEXTS), 2):
        domain += dice.sample(pool, dice.randint(1, 2))
    maker = _Maker(dice, domain)
    rules = maker.rules()
    outputs = sorted({rule.head.predicate for rule in rules})
    wanted = dice.sample(outputs, dice.randint(1, len(outputs)))
    return Case("\n".join(map(str, rules)), tuple(sorted(maker.facts)), tuple(sorted(wanted)))


class _Maker:
    """Makes predicates level by level; what is negated or counted lies below and is known by then."""

    def __init__(self, dice: Random, domain: list[str]) -> None:
        self.dice = dice
        self.domain = domain
        self.facts = self.base_facts()
        self.known = relations(self.facts)
        self.levels: dict[Predicate, int] = {}
        for at, name in enumerate(dice.sample(NAMES, dice.randint(3, 6))):
            arity = dice.choice((0, 1, 1, 1, 2, 2, 2, 3))
            self.levels[Predicate(name, arity)] = dice.randint(at // 3, at)

    def base_facts(self) -> set[Fact]:
        dice, domain = self.dice, self.domain
        found: set[Fact] = {("V", value) for value in domain if dice.random() < 0.75}
        found |= {("E", *dice.choices(domain, k=2)) for _ in range(dice.randint(4, 12))}
        found |= {("T", *dice.choices(domain, k=3)) for _ in range(dice.randint(4, 12))}
        found |= {("A", *dice.choices(domain[:2], k=4)) for _ in range(dice.randint(0, 4))}
        if dice.random() < 0.7:
            found.add(("On",))
        return found

    def rules(self) -> list[Rule]:
        rules: list[Rule] = []
        for level in sorted(set(self.levels.values())):
            below = [p for p, at in self.levels.items() if at < level]
            beside = [p for p, at in self.levels.items() if at == level]
            complete = self.known
            # The first rule of a predicate starts its recursion.
            first = [self.rule(predicate, [*BASE[:5], *below, *below], below) for predicate in beside]
            self.known = learn(first, complete)
            again = [predicate for predicate in beside for _ in range(self.dice.choice((0, 1, 1)))]
            more = [self.rule(predicate, [*BASE[:4], *below, *beside * 3], below) for predicate in again]
            self.known = learn(first + more, complete)
            rules += first + more
        self.dice.shuffle(rules)
        return rules

    def rule(self, predicate: Predicate, positive: list[Predicate], below: list[Predicate]) -> Rule:
        """Make a rule, trying a few times that its body holds somewhere and its tests decide something."""
        dice = self.dice
        if predicate.arity < 2 and dice.random() < 0.05:
            return Rule(Atom(predicate.name, self.constants(predicate.arity)), (Truth(),))
        for _ in range(4):
            chosen = dice.choices(positive, k=dice.choice((1, 2, 2, 3)))
            body: list[BodyAtom] = [self.atom(p, VARIABLES[:3], 0.1, 0.12) for p in chosen]
            # A few bindings are enough to see what a test decides; sorted, because sets have no order.
            solved = sorted(solutions(tuple(body), self.known), key=lambda b: sorted(b.items()))[:16]
            if solved:
                break
        bound = sorted({t.name for part in body for t in part.terms if isinstance(t, Var)})
        head = self.head(predicate, bound)
        if dice.random() < 0.6:
            solved = self.narrow(
                head, body, solved, lambda: Negated(self.atom(self.lower(below), bound, 0.1, 0.3))
            )
        if dice.random() < 0.6:
            solved = self.narrow(head, body, solved, lambda: self.count(self.lower(below), bound))
        if bound and dice.random() < 0.5:
            self.narrow(head, body, solved, lambda: self.test(bound))
        return Rule(head, tuple(dice.sample(body, len(body))))

    def narrow(
        self, head: Atom, body: list[BodyAtom], solved: list[Binding], make: Callable[[], BodyAtom]
    ) -> list[Binding]:
        """Add an atom that takes some of the rule's facts away, or, now and then, any atom."""
        for _ in range(10):
            atom = make()
            kept = [binding for binding in solved if holds(atom, binding, self.known)]
            if 0 < len({heads(head, b) for b in kept}) < len({heads(head, b) for b in solved}):
                body.append(atom)
                return kept
        if self.dice.random() < 0.15:
            body.append(atom)
            return kept
        return solved

    def head(self, predicate: Predicate, bound: list[str]) -> Atom:
        names = self.dice.sample(bound, len(bound)) * 3
        terms: list[Term] = []
        for at in range(predicate.arity):
            constant = not bound or self.dice.random() < 0.08
            terms.append(Const(self.dice.choice(self.domain)) if constant else Var(names[at]))
        return Atom(predicate.name, tuple(terms))

    def lower(self, below: list[Predicate]) -> Predicate:
        if below and self.dice.random() < 0.85:
            return max(self.dice.choices(below, k=2), key=lambda predicate: self.levels[predicate])
        return self.dice.choice(BASE)

    def atom(self, predicate: Predicate, names: Sequence[str], constant: float, anonymous: float) -> Atom:
        terms: list[Term] = []
        for _ in range(predicate.arity):
            roll = self.dice.random()
            if not names or roll < constant:
                terms.append(Const(self.dice.choice(self.domain)))
            elif roll < constant + anonymous:
                terms.append(Anonymous())
            else:
                terms.append(Var(self.dice.choice(names)))
        return Atom(predicate.name, tuple(terms))

    def count(self, predicate: Predicate, bound: list[str]) -> Cardinality:
        # L and M are local to the count; a repeated one means equal values.
        names = [*bound, "L", "M", "L"] if self.dice.random() < 0.7 else bound
        atom = self.atom(predicate, names, 0.1, 0.3)
        number = self.dice.choice(("0", "1", "1", "2", "2", "3", "4", "-1", BIG))
        return Cardinality(atom, self.dice.choice(OPS), number)

    def test(self, bound: list[str]) -> BodyAtom:
        dice = self.dice
        terms: list[Term] = [Var(dice.choice(bound)), Const(dice.choice(self.domain))]
        if dice.random() < 0.5:
            terms[1] = Var(dice.choice(bound))
        left, right = dice.sample(terms, 2)
        kind = dice.choice((0, 1, 1, 2, 3, 3))
        if kind == 0:
            return Unequal(left, right)
        if kind == 1:
            return IntCompare(left, dice.choice(OPS), right)
        if kind == 2:
            return LexCompare(left, dice.choice(OPS), right)
        start = Const(dice.choice(PIECES)) if dice.random() < 0.8 else right
        return TextShape(left, start, dice.choice(DELIMS), Const(dice.choice(PIECES)))

    def constants(self, arity: int) -> tuple[Term, ...]:
        return tuple(Const(self.dice.choice(self.domain)) for _ in range(arity))


def heads(head: Atom, binding: Binding) -> tuple[str, ...]:
    """Return the values that a head has under a binding."""
    return tuple(value(term, binding) for term in head.terms)


def learn(rules: list[Rule], known: Relations) -> Relations:
    """Add what the rules of one level derive from all that lies below it."""
    facts = {(name, *values) for (name, _), rows in known.items() for values in rows}
    return relations(facts | evaluate(make_program(rules), facts))


def relations(facts: Iterable[Fact]) -> Relations:
    """Group facts by predicate, as the oracle holds them."""
    found: Relations = {}
    for name, *values in facts:
        found.setdefault(Predicate(name, len(values)), set()).add(tuple(values))
    return found
