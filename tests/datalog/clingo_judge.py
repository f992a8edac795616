"""An outside judge: the same program and facts, evaluated by clingo.

Texts become small integers, so that nothing depends on how clingo reads strings, and each built-in atom
becomes a table over all texts in play. Rules, recursion, negation and counting are clingo's own. Built-ins
have no judge here; the golden vectors are theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import clingo

from lace.datalog import (
    TESTS,
    Anonymous,
    Atom,
    Cardinality,
    Const,
    Negated,
    Program,
    Rule,
    Term,
    Test,
    Truth,
    Var,
)
from lace.datalog.meaning import holds
from lace.facts import Fact, Predicate


def judge(program: Program, facts: Iterable[Fact]) -> set[Fact]:
    """Return what clingo derives."""
    return _Judge(program, list(facts)).derived()


class _Judge:
    def __init__(self, program: Program, facts: list[Fact]) -> None:
        self.program = program
        self.texts = sorted({value for fact in facts for value in fact[1:]} | set(constants(program)))
        self.number = {text: at for at, text in enumerate(self.texts)}
        given = {Predicate(fact[0], len(fact) - 1) for fact in facts}
        self.predicates = sorted(program.predicates | given)
        self.name = {predicate: f"p{at}" for at, predicate in enumerate(self.predicates)}
        self.tables = 0
        self.lines = [self.fact(fact) for fact in facts]
        for rule in program.rules:
            self.lines.append(self.rule(rule))

    def derived(self) -> set[Fact]:
        # A head that is also supplied would be read back as derived; no case does that.
        control = clingo.Control(["--warn=none"])
        control.add("base", [], "\n".join(self.lines))
        control.ground([("base", [])])
        by_name = {name: predicate for predicate, name in self.name.items()}
        found: set[Fact] = set()
        with control.solve(yield_=True) as models:
            for symbol in next(iter(models)).symbols(atoms=True):
                predicate = by_name.get(symbol.name)
                if predicate in self.program.heads:
                    found.add((predicate.name, *(self.texts[term.number] for term in symbol.arguments)))
        return found

    def fact(self, fact: Fact) -> str:
        name = self.name[Predicate(fact[0], len(fact) - 1)]
        return f"{name}({','.join(str(self.number[value]) for value in fact[1:])})."

    def rule(self, rule: Rule) -> str:
        body = [
            self.atom(part)
            if isinstance(part, Atom)
            else f"not {self.atom(part.atom)}"
            if isinstance(part, Negated)
            else self.count(part)
            if isinstance(part, Cardinality)
            else "#true"
            if isinstance(part, Truth)
            else self.table(part)
            for part in rule.body
        ]
        return f"{self.atom(rule.head)} :- {', '.join(body)}."

    def atom(self, atom: Atom) -> str:
        return f"{self.name[atom.predicate]}({','.join(map(self.term, atom.terms))})"

    def term(self, term: Term) -> str:
        if isinstance(term, Const):
            return str(self.number[term.value])
        return "_" if isinstance(term, Anonymous) else f"V{term.name}"

    def count(self, part: Cardinality) -> str:
        """Count distinct facts: every position is part of what is counted."""
        names = [
            f"Any{at}" if isinstance(term, Anonymous) else self.term(term)
            for at, term in enumerate(part.terms)
        ]
        # clingo's integers have 32 bits, and no count here comes near a million.
        number = max(-1_000_000, min(1_000_000, int(part.count)))
        inside = f"{self.name[part.atom.predicate]}({','.join(names)})"
        return f"#count {{ {','.join(names) or '0'} : {inside} }} {part.op} {number}"

    def table(self, part: Test) -> str:
        """Write a built-in out as facts, and ask those."""
        names = sorted({term.name for term in part.terms if isinstance(term, Var)})
        self.tables += 1
        table = f"t{self.tables}"
        rows = [
            values
            for values in product(self.texts, repeat=len(names))
            if holds(part, dict(zip(names, values, strict=True)), {})
        ]
        self.lines += [f"{table}({','.join(str(self.number[value]) for value in row)})." for row in rows]
        terms = ",".join(f"V{name}" for name in names)
        return f"{table}({terms})" if rows else "#false"


def constants(program: Program) -> Iterator[str]:
    """Yield the constants that can become values."""
    for rule in program.rules:
        for part in (rule.head, *rule.body):
            assert isinstance(part, (Atom, Negated, Cardinality, Truth, *TESTS))
            yield from (term.value for term in part.terms if isinstance(term, Const))
