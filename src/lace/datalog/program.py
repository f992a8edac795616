"""A checked program, and the ways to get one (030; PROFILE sections 7 and 10).

text ──read──▶ lines ──parse──▶ rules ──checks──▶ Program
                    every step reports, and only a text without errors becomes a Program
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from lace.algebra import Pipeline
from lace.datalog.canonical import in_canonical_order
from lace.datalog.check import CHECKS, MEANING, WARNINGS, Draft
from lace.datalog.dependencies import (
    Below,
    Components,
    Dependency,
    dependencies,
    grouped,
    needed_below,
    strata,
)
from lace.datalog.diagnostics import Diagnostic, Report, invalid
from lace.datalog.facets import FACETS, Facet
from lace.datalog.parse import parse_rules
from lace.datalog.pipelines import compile_rule
from lace.datalog.quick_reader import read_plainly
from lace.datalog.rules import Rule
from lace.datalog.source import Line, Source, read_source
from lace.errors import LacegramError
from lace.facts import Predicate
from lace.text import LacegramId, RuleId, lacegram_id, rule_id


class UnknownFacet(LacegramError):
    """A facet that no profile defines."""

    code = "lacegram/facet"
    text = "{facet!r} is no facet: a lacegram is read as one of {known}"


@dataclass(frozen=True)
class Program:
    """A valid lacegram. Two programs are equal when their canonical texts and facets are.

    >>> program = parse_program("Path(X,Z) :- Path(X,Y), Edge(Y,Z).\\nPath(X,Y):-Edge(X,Y).")
    >>> print(program)
    Path(X,Y) :- Edge(X,Y).
    Path(X,Z) :- Path(X,Y), Edge(Y,Z).
    >>> program.id
    'R.TsLYQmVMYEiu9eZVa4wfABRJ0t_OaPhBUyWZJ88fNbS'
    """

    lines: tuple[str, ...]
    """The canonical rule lines."""
    facet: str
    text: str | bytes = field(default="", compare=False, repr=False)
    """What it was read from, where its rules are not made yet."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order of their lines; made when somebody looks at them."""
        source = read_source(self.text)
        return tuple(in_canonical_order(parse_rules(source.lines, source.report).rules).values())

    @cached_property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """What each rule means, its steps in their written order, each once."""
        return tuple(map(compile_rule, self.rules))

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def raw(self) -> bytes:
        """The canonical bytes."""
        return str(self).encode()

    @cached_property
    def id(self) -> LacegramId:
        """The R. id."""
        return lacegram_id(self.raw)

    @cached_property
    def rule_ids(self) -> tuple[RuleId, ...]:
        """The U. id of each rule."""
        return tuple(rule_id(line.encode()) for line in self.lines)

    @cached_property
    def heads(self) -> frozenset[Predicate]:
        """The derived predicates."""
        return frozenset([pipeline.head for pipeline in self.pipelines])

    @cached_property
    def predicates(self) -> frozenset[Predicate]:
        """All predicates that the program names."""
        return self.heads.union(need.on for need in self.dependencies)

    def base_predicates(self) -> frozenset[Predicate]:
        """Return the predicates that the program reads and does not derive."""
        return self.predicates - self.heads

    @cached_property
    def dependencies(self) -> tuple[Dependency, ...]:
        """What depends on what, and how."""
        return dependencies(self.rules)

    @cached_property
    def below(self) -> Below:
        """What each derived predicate needs of the derived ones."""
        return needed_below(self.rules, self.dependencies)

    @cached_property
    def components(self) -> Components:
        """Derived predicates that need each other, lowest group first."""
        return grouped(self.below)

    @cached_property
    def strata(self) -> Components:
        """The derived predicates by stratum, lowest first."""
        return strata(self.components, self.dependencies)

    def rules_for(self, predicates: Iterable[Predicate]) -> tuple[Rule, ...]:
        """Return the rules whose heads are among these predicates: of a stratum, or of a component."""
        wanted = frozenset(predicates)
        return tuple(rule for rule in self.rules if rule.head.predicate in wanted)


def parse_program(
    text: str | bytes, facet: str = "datalog", extra_base: Iterable[Predicate] | None = None
) -> Program:
    """Read a lacegram, or raise InvalidLacegram with everything that is wrong with it."""
    row = _facet(facet)
    if extra_base is not None:
        extra_base = tuple(extra_base)
    read = read_plainly(text, row, row.base.union(extra_base) if extra_base else row.base)
    if read is not None:
        program = Program(read.lines, facet, text)
        program.__dict__.update(pipelines=read.pipelines, below=read.below, components=read.components)
        return program
    source = read_source(text)
    draft = check_lines(source, source.lines, facet, extra_base)
    raise_errors(source, draft)
    return make_checked(draft)


def check_program(
    text: str | bytes,
    facet: str = "datalog",
    *,
    extra_base: Iterable[Predicate] | None = None,
    outputs: Iterable[Predicate] | None = None,
) -> list[Diagnostic]:
    """Return all errors and warnings of a text. What it could be is known better the more is given:
    `extra_base`, the predicates that facts will be supplied for, and `outputs`, those that will be read.
    """
    source = read_source(text)
    draft = check_lines(source, source.lines, facet, extra_base, outputs)
    return warned(source.report, draft)


def make_program(rules: Iterable[Rule], facet: str = "datalog") -> Program:
    """Make a program of rules that were generated here: safe and stratified, whatever its names and size."""
    report = Report(())
    draft = Draft(tuple(rules), _facet(facet), frozenset())
    for check in MEANING:
        report.extend(check(draft))
    if report:
        raise invalid(report.diagnostics())
    return make_checked(draft)


def check_lines(
    source: Source,
    lines: Iterable[Line],
    facet: str,
    extra_base: Iterable[Predicate] | None = None,
    outputs: Iterable[Predicate] | None = None,
) -> Draft:
    """Parse the lines of a source that hold rules and put what the checks find into its report."""
    row = _facet(facet)
    parsed = parse_rules(lines, source.report)
    draft = Draft(
        parsed.rules,
        row,
        base=row.base.union(extra_base or ()),
        closed=row.closed or extra_base is not None,
        outputs=frozenset(row.outputs if outputs is None else outputs),
        repeats=parsed.repeats,
        broken=parsed.broken,
        lost=parsed.lost or source.lost > 0,
        texts=parsed.texts,
    )
    for check in CHECKS:
        source.report.extend(check(draft))
    return draft


def raise_errors(source: Source, draft: Draft) -> None:
    """Raise what the report holds; it holds nothing but errors, and then every warning helps."""
    if source.report:
        raise invalid(warned(source.report, draft))


def warned(report: Report, draft: Draft) -> list[Diagnostic]:
    """Add the warnings to a report and return all of it."""
    for warning in WARNINGS:
        report.extend(warning(draft))
    return report.diagnostics()


def _facet(name: str) -> Facet:
    if name not in FACETS:
        raise UnknownFacet(facet=name, known=", ".join(FACETS))
    return FACETS[name]


def make_checked(draft: Draft) -> Program:
    """Make the program of a draft in which no check found an error."""
    program = Program(tuple(draft.lines), draft.facet.name)
    # What the checks had to find out about the same rules in the same order.
    program.__dict__.update(
        rules=tuple(draft.lines.values()),
        dependencies=draft.canonical_needs,
        components=draft.canonical_components,
    )
    return program
