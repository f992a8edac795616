"""Rules over facts that stay: evaluate, ask, ask why.

    bench = Workbench(lace.store)
    bench.use(read_rules("mine.lacegram").program())
    bench.ask("Selected(P)").rows
    print(show_proof(bench.why(("Selected", "P.…"))))

Rules of this file:
1. Only what was asked for is evaluated: a relation that nobody reads may be far larger than its answer.
2. An evaluation is kept as long as its rules are the same; facts that come later are added to it.
3. An error leaves rules and facts as they were.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, cast

from lace.algebra import (
    LIMITS,
    Budget,
    Engine,
    Evaluation,
    EvaluationLimits,
    EvaluationStopped,
    RelationProgram,
    Result,
)
from lace.datalog import (
    EXPLAINING,
    Atom,
    Const,
    Explainer,
    NotEvaluated,
    Program,
    Proof,
    Question,
    Var,
    WhyNot,
    compile_program,
    make_program,
)
from lace.errors import InputError
from lace.facts import Fact, Predicate, Values, check_fact
from lace.porcelain.arguments import WrongArgument, check_limit, check_many, check_store
from lace.porcelain.rules.file import parse_predicate, read_goal, read_question
from lace.porcelain.rules.resident import ResidentFacts
from lace.stores import Store

if TYPE_CHECKING:
    from lace.engines import EmbeddedEvaluation

GivenPredicates: TypeAlias = str | Predicate | Iterable[str | Predicate]
"""One predicate or many, each as it is or as text such as Edge/2."""

_RULE: Final = re.compile(r"^rule ([0-9]+),")
_FACTS: Final = "a list of facts, such as [('Edge', 'a', 'b')]"


class HeldFacts(Protocol):
    """Facts that an engine holds: those of a store in memory, or those of a lake on Spark."""

    @property
    def database(self) -> Engine:
        """What runs programs over them."""
        ...

    def refresh(self) -> list[Fact] | None:
        """Bring them up to date; return what was added, or None where all are loaded again."""
        ...

    def give(self, facts: Iterable[Fact]) -> list[Fact]:
        """Hold more facts; return those that were not given before."""
        ...

    def counts(self) -> dict[Predicate, int]:
        """Return how many are held, by predicate."""
        ...


class NotDerived(InputError):
    """A wanted predicate that has no rules."""

    code = "rules/not-derived"
    text = "no rule derives {predicate}; the rules derive {derived}"


class Answers(NamedTuple):
    """What a question's variables can be."""

    variables: tuple[str, ...]
    rows: list[Values]
    """The values of the variables, sorted as text, each row once; one empty row is a plain yes."""
    more: int | None = 0
    """How many answers the limit left out; None where there are more and nobody counted them."""


class RuleProfile(NamedTuple):
    """What one rule cost."""

    number: int
    """Its place among the canonical lines, from 0."""
    id: str
    line: str
    rounds: int
    """Rounds that its predicate, and those it needs in turn, took until nothing new came."""
    runs: int
    """How often the rule ran, whole or for what was new in one of its atoms."""
    candidates: int
    """Facts it put out."""
    new: int
    """Those of them that were not there yet."""
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A program beside what an engine made of it."""

    program: Program
    compiled: RelationProgram
    evaluation: Evaluation
    steps: int
    """Rows that all joins put out."""
    milliseconds: float
    wanted: frozenset[Predicate]
    """What was asked for; what was asked for before may be evaluated too."""

    @property
    def result(self) -> Result:
        """The present version of what was derived."""
        return self.evaluation.result()

    def facts(self, predicates: GivenPredicates | None = None, *, limit: int | None = None) -> Iterator[Fact]:
        """Yield derived facts, by default of all wanted predicates, in the order of their texts.

        An engine that holds more facts than this process can streams them.
        """
        limit = check_limit(limit)
        wanted = sorted(self.wanted if predicates is None else given_predicates(predicates))
        _check_derived(self.program, wanted)
        for predicate in wanted:
            if predicate not in self.compiled.wanted:  # the result knows nothing of it, or not all
                raise NotEvaluated(predicate=predicate)
        result = self.result
        rows = ((p.name, *values) for p in wanted for values in _sorted_rows(result, p, limit))
        return islice(rows, limit)

    def profile(self) -> list[RuleProfile]:
        """Say what each rule cost; one that was not needed is not there. The embedded engine counts this."""
        running = cast("EmbeddedEvaluation", self.evaluation)
        found = []
        for component in self.compiled.components:
            rounds = running.rounds.get(component.predicates[0], 0)
            for rule in component.rules:
                at, cost = rule.rule, running.costs.get(rule.rule)
                runs, rows, new, seconds = (
                    (cost.runs, cost.rows, cost.new, cost.seconds) if cost else (0, 0, 0, 0.0)
                )
                found.append(
                    RuleProfile(
                        at,
                        self.program.rule_ids[at],
                        self.program.lines[at],
                        rounds,
                        runs,
                        rows,
                        new,
                        seconds * 1e3,
                    )
                )
        return sorted(found, key=lambda each: each.number)


class Workbench:
    """A program and facts, of a store and given by hand; for one thread at a time.

    >>> from lace.datalog import parse_program
    >>> bench = Workbench()
    >>> bench.use(parse_program("Path(X,Y) :- Edge(X,Y).\\nPath(X,Z) :- Path(X,Y), Edge(Y,Z)."))
    >>> bench.give([("Edge", "a", "b"), ("Edge", "b", "c")])
    2
    >>> bench.ask("Path('a',Y)").rows
    [('b',), ('c',)]
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        facts: HeldFacts | None = None,
        limits: EvaluationLimits = LIMITS,
    ) -> None:
        check_store(store)
        self.limits = limits
        self._facts = ResidentFacts(store) if facts is None else facts
        self._program = make_program(())
        self._kept: Evaluated | None = None
        self._explainer: tuple[Result, Explainer] | None = None

    @property
    def program(self) -> Program:
        """The rules in use."""
        return self._program

    def use(self, program: Program) -> None:
        """Take other rules."""
        if not isinstance(program, Program):
            wanted = "a Program, such as read_rules(path).program() or parse_program(text) gives"
            raise WrongArgument(
                name="program", wanted=wanted, found=f"a value of type {type(program).__name__}"
            )
        if program != self._program:
            self._program = program
            self._drop()

    def give(self, facts: Iterable[Fact | str] | str) -> int:
        """Add facts by hand, as tuples or as text such as \"Edge('a','b')\"; return how many were new."""
        new = self._facts.give(given_facts("facts", [facts] if isinstance(facts, str) else facts, _FACTS))
        self._insert(new)
        return len(new)

    def supplied(self) -> dict[Predicate, int]:
        """Return how many facts are given, by predicate."""
        self._refresh()
        return self._facts.counts()

    def compile(self, wanted: GivenPredicates | None = None) -> RelationProgram:
        """Return the relational program for wanted predicates, by default for all that the rules derive."""
        return compile_wanted(self._program, None if wanted is None else given_predicates(wanted))

    def evaluate(self, wanted: GivenPredicates | None = None) -> Evaluated:
        """Evaluate the rules as far as wanted predicates need it, by default all of them."""
        asked = self._program.heads if wanted is None else frozenset(given_predicates(wanted))
        self._refresh()
        kept = self._kept
        if kept is None or not asked.issubset(kept.compiled.wanted):
            # What was asked for before is likely to be asked for again.
            more = asked.union(() if kept is None else kept.compiled.wanted)
            kept = self._kept = self._run(self._program, compile_wanted(self._program, more))
        return kept if kept.wanted == asked else replace(kept, wanted=asked)

    def ask(self, question: Question | str, *, limit: int | None = None) -> Answers:
        """Answer a question: one atom, or a body as long as you like; with a limit, its first answers.

        An engine elsewhere sends no more than the limit, and one that tells whether there are more.
        """
        limit = check_limit(limit)
        if isinstance(question, str):
            question = read_question(question, self._program)
        elif not isinstance(question, Question):
            wanted = "text such as Edge('a',X), or what parse_question gives"
            found = f"a value of type {type(question).__name__}"
            raise WrongArgument(name="question", wanted=wanted, found=found)
        atom = question.atom
        most = None if limit is None else limit + 1
        if atom is not None:
            return _answers(question, self._look_up(atom, question.variables, most), limit)
        program = make_program((*self._program.rules, question.rule))
        asked = question.rule.head.predicate
        self._refresh()
        try:
            found = self._run(program, compile_program(program, (asked,))).result
        except EvaluationStopped as error:
            where = _without_question(error.fields["where"], program, asked)
            raise EvaluationStopped(**{**error.fields, "where": where}) from None
        return _answers(question, _sorted_rows(found, asked, most), limit, found.count(asked))

    def why(self, fact: Fact | str) -> Proof | None:
        """Return a proof of a fact, or None where it does not hold."""
        fact = given_fact(fact)
        return self._explain(fact).why(fact, self._explaining())

    def why_not(self, fact: Fact | str) -> WhyNot:
        """Say for each rule that could derive a fact what stops it; of a fact that holds, why it does."""
        fact = given_fact(fact)
        return self._explain(fact).why_not(fact, budget=self._explaining())

    def _look_up(self, atom: Atom, variables: tuple[str, ...], most: int | None) -> Iterable[Values]:
        """Return what the variables of an atom can be, sorted; where an engine cuts, at most so many."""
        result = self._evaluate_for(atom.predicate).result
        pattern = tuple(term.value if isinstance(term, Const) else None for term in atom.terms)
        places: dict[str, list[int]] = {}
        for at, term in enumerate(atom.terms):
            if isinstance(term, Var):
                places.setdefault(term.name, []).append(at)
        alike = [(first, again) for first, *rest in places.values() for again in rest]
        shown = tuple([places[name][0] for name in variables])
        matches = getattr(result, "sorted_matches", None)
        if matches is not None:
            found: Iterable[Values] = matches(atom.predicate, pattern, alike, shown, most)
            return found
        return sorted(
            {
                tuple([row[at] for at in shown])
                for row in result.lookup(atom.predicate, pattern)
                if all(row[first] == row[again] for first, again in alike)
            }
        )

    def _evaluate_for(self, predicate: Predicate) -> Evaluated:
        if predicate in self._program.heads:
            return self.evaluate((predicate,))
        return self.evaluate(())

    def _explain(self, fact: Fact) -> Explainer:
        evaluated = self._evaluate_for(Predicate(fact[0], len(fact) - 1))
        result = evaluated.result
        if self._explainer is None or self._explainer[0] is not result:
            self._explainer = (result, Explainer(evaluated.compiled, result))
        return self._explainer[1]

    def _run(self, program: Program, compiled: RelationProgram) -> Evaluated:
        database = self._facts.database
        budget = self._budget()
        started = time.perf_counter()
        evaluation = database.evaluate(compiled, budget)
        milliseconds = (time.perf_counter() - started) * 1e3
        return Evaluated(
            program, compiled, evaluation, budget.steps, milliseconds, frozenset(compiled.wanted)
        )

    def _budget(self) -> Budget:
        return Budget(self.limits, now=time.perf_counter)

    def _explaining(self) -> Budget:
        return Budget(replace(EXPLAINING, seconds=self.limits.seconds), now=time.perf_counter)

    def _refresh(self) -> None:
        added = self._facts.refresh()
        if added is None:
            self._drop()
        elif added:
            self._insert(added)

    def _insert(self, facts: list[Fact]) -> None:
        kept = self._kept
        if not facts or kept is None:
            return
        self._drop()  # also when the insertion is interrupted
        if any(Predicate(fact[0], len(fact) - 1) in kept.program.heads for fact in facts):
            return
        try:
            kept.evaluation.insert(facts, self._budget())
        except EvaluationStopped:  # the facts are there; whoever asks next is told
            return
        self._kept = kept

    def _drop(self) -> None:
        self._kept = None
        self._explainer = None


def given_fact(fact: Fact | str) -> Fact:
    """Return a fact that a caller gave: a tuple, or text.

    >>> given_fact("Edge('a','b')"), given_fact(("Edge", "a", "b"))
    (('Edge', 'a', 'b'), ('Edge', 'a', 'b'))
    """
    if isinstance(fact, str):
        return read_goal(fact)
    if not isinstance(fact, tuple) or not fact:
        wanted = "a tuple of texts, the name of its predicate first, or text such as Edge('a','b')"
        raise WrongArgument(name="fact", wanted=wanted, found=repr(fact)[:80])
    if not all(isinstance(each, str) for each in fact):
        check_fact(fact)  # it says which one: looked up, it would only be found to be none of the facts
    return fact


def given_facts(name: str, facts: Iterable[Fact | str], wanted: str) -> list[Fact]:
    """Return facts that a caller gave; one alone would be taken for many, each of its texts for one.

    >>> given_facts("facts", ["Edge('a','b')", ("Edge", "b", "c")], "a list of facts")
    [('Edge', 'a', 'b'), ('Edge', 'b', 'c')]
    """
    check_many(name, facts, wanted)
    if isinstance(facts, tuple) and facts and isinstance(facts[0], str) and "(" not in facts[0]:
        raise WrongArgument(name=name, wanted=wanted, found="one fact, and no list with it,")
    return [given_fact(each) for each in facts]


def given_predicates(predicates: GivenPredicates) -> list[Predicate]:
    """Return predicates that a caller gave, one or many, each as it is or as text.

    >>> given_predicates("Edge/2") == given_predicates(["Edge/2"]) == given_predicates(Predicate("Edge", 2))
    True
    """
    many = (predicates,) if isinstance(predicates, str | Predicate) else predicates
    return [parse_predicate(each) if isinstance(each, str) else each for each in many]


def _sorted_rows(result: Result, predicate: Predicate, limit: int | None) -> Iterable[Values]:
    """Return derived facts in the order of their texts; an engine that holds many streams them, and cuts."""
    stream: Callable[[Predicate, int | None], Iterable[Values]] | None
    stream = getattr(result, "sorted_rows", None)
    return result.facts(predicate) if stream is None else stream(predicate, limit)


def _answers(
    question: Question, rows: Iterable[Values], limit: int | None, total: int | None = None
) -> Answers:
    """Return the first answers, and how many more there are, where that is known."""
    found = rows if isinstance(rows, list) else list(rows)
    if limit is None or len(found) <= limit:
        return Answers(question.variables, found)
    if isinstance(rows, list):
        total = len(found)
    return Answers(question.variables, found[:limit], None if total is None else total - limit)


def _without_question(where: str, program: Program, asked: Predicate) -> str:
    """Say where a limit was passed with the numbers that rules have without the question among them."""
    if where.endswith(str(asked)):
        return "the question"
    own = [rule.head.predicate for rule in program.rules].index(asked)
    return _RULE.sub(lambda found: f"rule {int(found[1]) - (int(found[1]) > own)},", where)


def compile_wanted(program: Program, wanted: Iterable[Predicate] | None = None) -> RelationProgram:
    """Compile a program for wanted predicates, or raise which of them it does not derive."""
    asked = None if wanted is None else tuple(wanted)
    _check_derived(program, asked or ())
    return compile_program(program, asked)


def _check_derived(program: Program, wanted: Iterable[Predicate]) -> None:
    for predicate in wanted:
        if predicate not in program.heads:
            derived = ", ".join(map(str, sorted(program.heads))) or "nothing"
            raise NotDerived(predicate=predicate, derived=derived)
