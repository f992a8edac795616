"""What can be wrong with a policy file, each under a code of its own (040, Rejection examples).

Rules of this file:
1. A fault is a diagnostic like those of rules: a place, a message, a note that teaches.
2. What 040 refuses has the code under which `lace.policy` refuses it, so that both can be looked up as one.
   What is wrong with a rule as a rule keeps its number `L-…`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

from lace.datalog import NOWHERE, Diagnostic, Severity, Span
from lace.policy import (
    FlatRules,
    ForeignHelper,
    GeneratedName,
    MissingExport,
    ModuleRefused,
    NothingToPresent,
    ReservedName,
    SelectedNotExposable,
    UnreadableFacts,
)

LATE: Final = "exchange/late-section"
WARNINGS: Final = frozenset({LATE, "policy/hidden-not-held", "policy/nothing-exposed", "policy/viewer"})
SCOPES: Final = ("o0_", "o1_")


class Wording(NamedTuple):
    """What is said under a code."""

    message: str
    note: str


FAULTS: Final = {
    "policy/header": Wording(
        "this is no section: {found}",
        "sections are [select], [expose to …], [send], [receive] and [trust …]; {reason}",
    ),
    "policy/peer": Wording(
        "{found} names no peer",
        "a peer is named by its verifier, V.….H3; everybody is [expose to anyone]; a label is good for one"
        " exchange only",
    ),
    "policy/no-rules": Wording(
        "{section} has no rules of its own", "rules stand below [select], [expose to …], [send] or [receive]"
    ),
    "policy/sections": Wording("this is section {seen}", "a policy has at most {bound} of them"),
    "policy/composed": Wording(
        "what would be presented to {peer} is no operand: {reason}", "in it are {parts}; {advice}"
    ),
    "policy/case": Wording("{reason}", "a case reads: send NAME: Group 'town', Name 'first'"),
    FlatRules.code: Wording(
        "a rule outside of every section",
        "rules alone are no policy: a section says what they are for, such as [select]",
    ),
    NothingToPresent.code: Wording(
        "there is no [select] section", "a side presents one selector, so there must be one to present"
    ),
    SelectedNotExposable.code: Wording(
        "SelectHave depends on advertisement facts, so what it selects cannot be exposed",
        "what a peer claims must not decide what it may see; write an [expose to …] section",
    ),
    "policy/viewer": Wording(
        "{found} is nobody's verifier",
        "a viewer is named by its verifier, V.….H3; a label such as Opq_x is whoever happens to get it, and"
        " _Viewer(V) is whoever asks",
    ),
    LATE: Wording(
        "an exchange in which a peer proves itself only after setup is refused because of {section}",
        "its SelectHave reads what the peer advertises, so it has to be presented before: say who is"
        " expected, or let the transport prove it",
    ),
    "policy/nothing-exposed": Wording(
        "nothing is exposed to any peer",
        "a peer's rules then find nothing here, and get only what they name by its id; say [expose to …] or"
        " [expose selected]",
    ),
    "policy/hidden-not-held": Wording(
        "[select] may select more than {section} shows, and no [send] section holds the rest back",
        "a peer's rules get what they name by its id, or by a link that they may see, although it is hidden"
        " from them; what must not leave is not selected, or held by a [send] section",
    ),
}


@dataclass(frozen=True, slots=True)
class PolicyFault(Diagnostic):
    """A diagnostic about a policy."""

    @property
    def severity(self) -> Severity:
        """`error` or `warning`."""
        return "warning" if self.code in WARNINGS else "error"


def find_fault(code: str, line: str = "", at: Span = NOWHERE, **values: object) -> PolicyFault:
    """Make a fault from its row in the table, about a line of the file."""
    row = FAULTS[code]
    return placed(code, row.message.format_map(values), row.note.format_map(values), line, at)


def placed(code: str, message: str, note: str, line: str, at: Span) -> PolicyFault:
    """Make a fault about a place in a line."""
    utf16 = (len(line[: at.start].encode("utf-16-le")) // 2, len(line[: at.end].encode("utf-16-le")) // 2)
    return PolicyFault(code, message, note, at, line, utf16=utf16)


def as_refusal(found: Diagnostic, header: str, at: Span) -> Diagnostic:
    """Give a diagnostic about names the code under which 040's policy layer refuses it.

    What stands nowhere in the text is shown at the header of its section.
    """
    kind = _refusal(found)
    if found.span.line == 0:
        found = replace(found, span=at, excerpt=header, utf16=(at.start, at.end))
    if kind is None:
        return found
    values = {each.name: getattr(found, each.name) for each in fields(Diagnostic)}
    return PolicyFault(**{**values, "code": kind.code})


def _refusal(found: Diagnostic) -> type[ModuleRefused] | None:
    if found.code == "L-403":
        return MissingExport
    if found.code == "L-404":
        return UnreadableFacts
    if found.code != "L-402":
        return None
    if found.message.startswith(SCOPES):
        # A head starts its line; whatever stands further right is read.
        before = found.excerpt[: max(0, found.span.start - found.excerpt_start)]
        return ForeignHelper if before.strip() or found.excerpt_start else GeneratedName
    return ReservedName
