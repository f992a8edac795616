"""The table of all diagnostics: number, severity, what it says, and what it teaches.

The hundreds follow the way of a text through the front end: 1 spelling, 2 syntax, 3 safety, 4 names,
5 strata, 6 limits, 7 received text, 8 annotations, 9 legal, and may be a slip.

Rules of this file:
1. A number never changes its meaning and is never given away again.
2. `{places}` are filled with text that is already short and safe to print (diagnostics.shown).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class Code(NamedTuple):
    """One row of the table."""

    severity: Severity
    message: str
    note: str


def _error(message: str, note: str) -> Code:
    return Code("error", message, note)


def _warning(message: str, note: str) -> Code:
    return Code("warning", message, note)


CODES: dict[str, Code] = {
    # A warning: where errors were left out, the hundred before it are errors.
    "L-001": _warning("and {more} more, not shown", "fix the first ones and check again"),
    # Spelling.
    "L-101": _error("this line is not UTF-8 text", "a lacegram is UTF-8; save the file in that encoding"),
    "L-102": _error(
        "this line is not in Unicode normal form C",
        "write composed characters: the same text must have the same bytes everywhere",
    ),
    "L-103": _error("carriage return", "lines end with LF alone; save the file with Unix line ends"),
    "L-104": _error("{found} has no meaning here", "between tokens only blanks and tabs may stand"),
    "L-105": _error(
        "this constant does not end", "a constant ends with ' on its own line; write \\' for a quote inside"
    ),
    "L-106": _error(
        "{found} is no escape", "a constant knows two escapes: \\\\ is a backslash, \\' is a quote"
    ),
    "L-107": _error("{found} is not a constant", "constants stand in single quotes: 'text'"),
    "L-108": _error(
        "comments are not part of a lacegram",
        "# lines belong to annotated source, where # is the first byte of its line",
    ),
    "L-109": _error(
        "the text begins with a byte order mark (U+FEFF)",
        "save the file as UTF-8 without one: editors have it as 'UTF-8', beside 'UTF-8 with BOM'",
    ),
    # Syntax.
    "L-201": _error(
        "expected {expected}, found {found}", "a rule is one line: Head(Term, ...) :- Atom, Atom."
    ),
    "L-202": _error("the rule does not end", "each rule is one line and ends with a period"),
    "L-203": _error("{found} after the period", "each rule has a line of its own"),
    "L-204": _error("the rule has no body", "a rule that always holds has the body true: {head} :- true."),
    "L-205": _error(
        "{found} is no term",
        "a term is a Variable (upper case first), _ or a 'constant'; numbers are quoted too: '42'",
    ),
    "L-206": _error(
        "{found} is no variable", "write _ for any value, or a name that starts with a letter A to Z"
    ),
    "L-207": _error(
        "{found} needs parentheses", "a predicate without terms is written with empty ones: {found}()"
    ),
    "L-208": _error(
        "= is not Lace Datalog",
        "use one variable in both places, or put the constant where the variable stands; != is inequality",
    ),
    "L-209": _error("Prefix is no built-in any more", "write TextShape({text},{start},'','')"),
    "L-210": _error(
        "{found} is no ordinary predicate", "built-ins can be neither heads nor negated nor counted"
    ),
    "L-211": _error("{name} takes {wanted} terms, not {found}", "its form is {form}"),
    "L-212": _error("{found} is no comparison", "the operator is one of '<' '<=' '>' '>=', in quotes"),
    "L-213": _error(
        "the delimiters of TextShape are a constant",
        "write them in quotes; '' is none: a prefix or suffix test",
    ),
    "L-214": _error(
        "{found} is no number to compare a count with",
        "write a decimal integer in quotes, without leading zeros: '100'",
    ),
    "L-215": _error("Cardinality counts an atom, found {found}", "its form is Cardinality(P(X,_),'<','100')"),
    "L-216": _error(
        "{found} is no predicate name",
        "a name starts with a letter, or with _ and a letter; letters, digits, _ ~ and - follow",
    ),
    "L-217": _error("terms do not nest", "there are no functions: {found} can only be an atom of the body"),
    "L-218": _error(
        "{found} is not Lace Datalog",
        "write IntCompare(A,'<',B) for numbers or LexCompare(A,'<',B) for texts",
    ),
    # Safety.
    "L-301": _error(
        "{variable} in the head is not bound",
        "a variable is bound by a positive atom of the body that is no built-in",
    ),
    "L-302": _error(
        "_ in a rule head", "a head says which values hold; give the value a name and bind it in the body"
    ),
    "L-303": _error(
        "{variable} in the negated atom is not bound",
        "bind it in a positive atom, or write _ for 'no such fact with any value'",
    ),
    "L-304": _error(
        "{variable} in {name} is not bound",
        "built-ins test values and never bind them: bind it in a positive atom",
    ),
    "L-305": _error(
        "_ in {name}", "built-ins test values: give the value a name and bind it in a positive atom"
    ),
    "L-306": _error(
        "{variable} stands inside and outside this Cardinality but is not bound",
        "bind it in a positive atom; where it means 'any', write _ or another name inside",
    ),
    # Names.
    "L-401": _error(
        "{predicate} is a base predicate", "its facts are supplied, not derived: give the head another name"
    ),
    "L-402": _error("{name} is a reserved name in a {facet}", "{why}"),
    "L-403": _error("a {facet} must define {predicate}", "for nothing at all: {example}"),
    "L-404": _error(
        "advertisement facts in an expose module",
        "what a peer claims must not decide what it may see; use record, runtime and _Viewer facts",
    ),
    # Strata.
    "L-501": _error(
        "{predicate} depends on its own {what}: {cycle}",
        "what is negated or counted must be complete before; break the cycle at one of its rules",
    ),
    # Limits, the same for everybody (PROFILE section 7).
    "L-601": _error(
        "rule {seen}; a lacegram has at most {bound}", "repeats do not count; move constants into facts"
    ),
    "L-602": _error(
        "{predicate} has {seen} terms; at most {bound} are allowed",
        "split the predicate in two that share a key",
    ),
    "L-603": _error(
        "a constant of {seen} bytes; at most {bound} are allowed",
        "the bytes of the text count, not its escapes",
    ),
    # Received text.
    "L-701": _error(
        "this is not canonical text: expected {expected}",
        "received text is never repaired; the sender must print it with `lace rules fmt`",
    ),
    # Annotations.
    "L-801": _error("this annotation has no rule", "a #:json line belongs to the next rule; there is none"),
    "L-802": _error("not one JSON object: {reason}", 'the line reads #:json {{"label":"…"}}'),
    "L-803": _error(
        "#:json is followed by one space and its object", 'the line reads #:json {{"label":"…"}}'
    ),
    # Legal, and may be a slip.
    "L-901": _warning(
        "nothing is called {predicate}; did you mean {known}?", "a predicate without facts or rules is empty"
    ),
    "L-902": _warning(
        "{name} has {wanted} terms, here it has {found}",
        "another arity is another predicate, and this one is empty",
    ),
    "L-903": _warning("nobody reads {predicate}", "no wanted output depends on it: {outputs}"),
    "L-904": _warning("{predicate} has neither rules nor facts", "so it is empty, and the atom {effect}"),
    "L-905": _warning(
        "{predicate} can never get its first fact", "every rule for it needs a fact of {needs} first"
    ),
    "L-906": _warning("this atom can never hold: {reason}", "so the rule derives nothing"),
    "L-907": _warning("this atom always holds: {reason}", "it can be left out"),
    "L-908": _warning("this atom stands in the rule twice", "the second one changes nothing"),
    "L-909": _warning("{variable} is used only once", "write _ for a value that does not matter"),
    "L-910": _warning("the rule derives only what it needs", "its head stands in its own body"),
    "L-911": _warning("the rule stands here twice, first in line {line}", "canonical text has it once"),
    "L-912": _warning(
        "nothing is exposed: no rule for {predicate}", "an expose module says what may be seen: {example}"
    ),
    "L-913": _warning(
        "{atom} is about our own records, and {record} is to be asked for",
        "what is here already is never asked for, so the rule gets nothing; {meant}",
    ),
    "L-914": _warning(
        "no standard field is called {found}; did you mean {known}?",
        "names of fields differ by case; this one is found only where somebody wrote such a header",
    ),
}
