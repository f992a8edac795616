"""Finds what a policy selects and clearly does not show: a view hides it, and holds nothing back.

Rules of this file:
1. Rules are compared as they are written, atom by atom, and nothing is evaluated. What cannot be decided so
   is taken for shown: a warning that comes without need is soon read by nobody.
2. To whom a section exposes is not looked at: what is shown to some alone is hidden from the rest on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog import (
    ALLOW_QUERY_RECORD,
    SELECT_HAVE,
    VIEWER,
    Anonymous,
    Atom,
    BodyAtom,
    Const,
    Negated,
    Program,
    Rule,
    Term,
    Var,
)
from lace.facts import Predicate
from lace.porcelain.policies.file import EXPOSE, SELECT, SELECTED, SEND, UNION, PolicyFile, PolicySection
from lace.record import FORBIDDEN

_HAVE = Predicate("Have", 1)
_FIELD = Predicate("Field", 4)


def find_hiding(policy: PolicyFile) -> PolicySection | None:
    """Return an expose section that hides some of what is selected, where no send section is behind it.

    >>> from lace.porcelain.policies.parse import parse_policy
    >>> policy = parse_policy(
    ...     "[select]\\nSelectHave(P) :- Have(P).\\nSelectAdvertised(P,S) :- Advertised(P,S).\\n"
    ...     "[expose to anyone]\\nAllowQueryRecord(V,P) :- _Viewer(V), Field(P,'App',_,'notes').\\n"
    ... )
    >>> print(find_hiding(policy).header)
    [expose to anyone]
    """
    sections = policy.expose_sections()
    union = policy.says(EXPOSE, UNION)
    if not sections or policy.of(SEND) or (union and policy.says(EXPOSE, SELECTED)):
        return None
    selects = [list(_rules(each.module.program, SELECT_HAVE)) for each in policy.of(SELECT)]
    hiding = [
        section
        for section in sections
        # What one select section does not select is not selected, so each of them has to select too much.
        if all(any(_hides(section, rule, derived) for rule, derived in rules) for rules in selects)
    ]
    return hiding[0] if hiding and (not union or len(hiding) == len(sections)) else None


def _rules(program: Program, wanted: Predicate) -> Iterator[tuple[Rule, frozenset[Predicate]]]:
    """Yield the rules for a predicate, each with what its program defines itself."""
    derived = frozenset(rule.head.predicate for rule in program.rules)
    for rule in program.rules:
        if rule.head.predicate == wanted:
            yield rule, derived


def _hides(section: PolicySection, select: Rule, derived: frozenset[Predicate]) -> bool:
    """Tell whether no rule of an expose section shows all that a rule selects, as far as their texts say."""
    if any(isinstance(each, Atom) and each.predicate in derived for each in select.body):
        return False  # what it asks for stands elsewhere
    shows = _rules(section.expose_module.program, ALLOW_QUERY_RECORD)
    return all(_narrows(rule, select, helpers) for rule, helpers in shows)


def _narrows(show: Rule, select: Rule, derived: frozenset[Predicate]) -> bool:
    """Tell whether a rule that shows records asks clearly for more than one that selects them."""
    record, selected = show.head.terms[1], select.head.terms[0]
    if not isinstance(record, Var):
        return record != selected
    # What else it asks for, and cannot be compared, only shows less.
    return any(
        isinstance(each, Atom | Negated)
        and not _is_given(each, record)
        and _is_plain(each, record, derived)
        and not any(_is_enough(each, part, record, selected) for part in select.body)
        for each in show.body
    )


def _is_given(part: BodyAtom, record: Var) -> bool:
    """Tell whether an atom holds for whoever asks and every record that is sent."""
    if not isinstance(part, Atom):
        return False
    return part.predicate == VIEWER or (part.predicate == _HAVE and part.terms == (record,))


def _is_plain(part: Atom | Negated, record: Var, derived: frozenset[Predicate]) -> bool:
    """Tell whether an atom says all that it means by itself, about the record alone."""
    atom = part.atom if isinstance(part, Negated) else part
    return atom.predicate not in derived and all(
        each == record for each in atom.terms if isinstance(each, Var)
    )


def _is_enough(wanted: Atom | Negated, part: BodyAtom, record: Var, selected: Term) -> bool:
    """Tell whether an atom of a selector says what an atom of an expose rule asks for."""
    if not isinstance(wanted, Negated):
        return isinstance(part, Atom) and _covers(_about(wanted, record, selected), part)
    denied = _about(wanted.atom, record, selected)
    if isinstance(part, Atom):
        return _is_otherwise(part, denied)
    # The more a negated atom leaves open, the more it denies.
    return isinstance(part, Negated) and _covers(part.atom, denied)


def _is_otherwise(part: Atom, denied: Atom) -> bool:
    """Tell whether an atom names another value of a field than the one denied, and a record has just one.

    >>> from lace.datalog import parse_program
    >>> town, no_wages = parse_program(
    ...     "A(P) :- Field(P,'Group',_,'town').\\nB(P) :- Field(P,'Group',_,'wages')."
    ... ).rules
    >>> _is_otherwise(town.body[0], no_wages.body[0])
    True
    """
    if part.predicate != _FIELD or denied.predicate != _FIELD:
        return False
    (record, name, _, value), (other_record, other_name, _, other_value) = part.terms, denied.terms
    return (
        (record, name) == (other_record, other_name)
        and isinstance(name, Const)
        and name.value in FORBIDDEN
        and isinstance(value, Const)
        and isinstance(other_value, Const)
        and value != other_value
    )


def _about(atom: Atom, record: Var, selected: Term) -> Atom:
    return Atom(atom.name, tuple(selected if each == record else each for each in atom.terms))


def _covers(wide: Atom, narrow: Atom) -> bool:
    pairs = zip(wide.terms, narrow.terms, strict=False)
    return wide.predicate == narrow.predicate and all(
        isinstance(one, Anonymous) or one == other for one, other in pairs
    )
