"""A policy in a file: what this side selects, exposes and holds back, in one text (040).

    # Notes of the town, for everybody who asks.
    [select]
    SelectHave(P) :- Have(P), Field(P,'Group',_,'town').
    SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'town').

    [expose to anyone]
    AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'town').

    [send]
    AllowSend(P) :- Have(P), TransportEncrypted().

Rules of this file:
1. A section is a lacegram with a header that says what it is for. Nothing else is in a policy.
2. A comment that stands right above a header is about that section; no comment is lost.
3. Parsing what was written gives the same policy. Whoever may see something is named in the file, never
   taken from what a peer says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from lace.datalog import Diagnostic
from lace.errors import LimitExceeded, PolicyError, TextError
from lace.policy import (
    ActivePolicy,
    Compose,
    Composed,
    Constraint,
    ExposeModule,
    Exposure,
    Kind,
    Module,
    Restriction,
    expose_selected,
    read_expose,
    read_module,
    read_restriction,
)
from lace.porcelain.files import check_no_pipe
from lace.porcelain.rules.file import STDIN, Diagnosed, read_rules, summarize_diagnostics
from lace.porcelain.rules.layout import Block, join_blocks
from lace.text import Verifier, parse_verifier

POLICY_FILE_BYTES: Final = 1 << 20
"""Far more than 256 rules with their comments; a section is checked by itself, so size counts twice."""
SELECT, EXPOSE, SEND, RECEIVE, TRUST = "select", "expose", "send", "receive", "trust"
ANYONE, PROVEN, LISTED = "to anyone", "to proven peers", "to"
SELECTED, UNION = "selected", "union"


class PolicyRefused(Diagnosed, PolicyError):
    """A policy file with errors; `diagnostics` holds every one of them."""

    code = "policy/refused"
    text = "{where}: {summary}"


class PolicyFileTooBig(LimitExceeded):
    """A file that is longer than any policy needs to be."""

    code = "policy/too-big"
    text = "{where} has more than {bound} bytes: that is no policy"


class SectionHeader(NamedTuple):
    """What a section is for, and whom it is about."""

    word: str
    """`select`, `expose`, `send`, `receive` or `trust`."""
    detail: str = ""
    """Which kind of selector; who is exposed to; how exposures meet."""
    peers: frozenset[Verifier] | None = None
    """None where nobody is named."""

    @property
    def has_rules(self) -> bool:
        """Whether rules stand below it."""
        return self.word != TRUST and self.detail not in (SELECTED, UNION)

    def __str__(self) -> str:
        words = [self.word, self.detail]
        if self.word == SELECT:
            plain = Kind.APPLICATION if self.peers is None else Kind.PEER
            words = [self.word, "" if self.detail == plain.value else self.detail]
            words += [] if self.peers is None else ["for"]
        return f"[{' '.join(filter(None, [*words, *sorted(self.peers or ())]))}]"


@dataclass(frozen=True, slots=True)
class ToProvenPeers(ExposeModule):
    """An expose module for whoever proved a verifier: a label proves nothing."""

    def is_for(self, viewer: str) -> bool:
        """Tell whether the module is in scope for a viewer."""
        return is_proven(viewer)


@dataclass(frozen=True)
class PolicySection:
    """One section of a policy."""

    header: SectionHeader
    blocks: tuple[Block, ...] = ()
    """Rules, each canonical, with the comments before it."""
    before: tuple[str, ...] = ()
    """Comments right above the header."""
    line: int = field(default=0, compare=False)
    """Where the header stands, from 1."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule lines in the order in which they were written."""
        return tuple(block.rule for block in self.blocks if block.rule)

    @property
    def text(self) -> str:
        """The rules alone."""
        return "\n".join(self.rules)

    @cached_property
    def module(self) -> Module:
        """The selector of a select section."""
        return read_module(self.text)

    @cached_property
    def expose_module(self) -> ExposeModule:
        """The module of an expose section with rules, with its scope."""
        if self.header.detail == PROVEN:
            return ToProvenPeers(read_expose(self.text).program)
        return read_expose(self.text, self.header.peers)

    @cached_property
    def restriction(self) -> Restriction:
        """The restriction of a send or receive section."""
        return read_restriction(self.text, "send" if self.header.word == SEND else "request")

    def is_for(self, peer: str | None) -> bool:
        """Tell whether a select section applies to a peer; None is one that proved nothing."""
        return self.header.peers is None or peer in self.header.peers


@dataclass(frozen=True)
class PolicyFile:
    """A policy that checks; two are equal when they say the same in the same order with the same comments."""

    sections: tuple[PolicySection, ...]
    preamble: tuple[str, ...] = ()
    """Comments before everything else."""
    name: str = field(default="policy", compare=False)

    def of(self, word: str) -> tuple[PolicySection, ...]:
        """Return the sections that begin with a word."""
        return tuple(section for section in self.sections if section.header.word == word)

    def select_sections(self, peer: str | None) -> tuple[PolicySection, ...]:
        """Return the select sections that apply to a peer."""
        return tuple(section for section in self.of(SELECT) if section.is_for(peer))

    def expose_sections(self) -> tuple[PolicySection, ...]:
        """Return the expose sections that have rules."""
        return tuple(section for section in self.of(EXPOSE) if section.header.has_rules)

    def says(self, word: str, detail: str) -> bool:
        """Tell whether there is a section with this header."""
        return any(section.header[:2] == (word, detail) for section in self.sections)

    @property
    def trusted(self) -> frozenset[str]:
        """Peers whose rules read everything."""
        return frozenset(peer for section in self.of(TRUST) for peer in section.header.peers or ())

    @property
    def restrictions(self) -> tuple[Restriction, ...]:
        """What is sent and asked for at most."""
        return tuple(section.restriction for section in (*self.of(SEND), *self.of(RECEIVE)))

    def operand(self, peer: str | None = None) -> Composed:
        """Return the one module that this side presents to a peer; None is one that proved nothing."""
        return ActivePolicy(self._constraints()).operand(peer)

    def active(self, peer: str | None = None) -> ActivePolicy:
        """Return the policy in the terms of `lace.policy`, for an exchange with a peer."""
        modules = [section.expose_module for section in self.expose_sections()]
        if self.says(EXPOSE, SELECTED):
            modules.append(expose_selected(self.operand(peer).module))
        compose = Compose.UNION if self.says(EXPOSE, UNION) else Compose.INTERSECTION
        exposure = Exposure(tuple(modules), compose, self.trusted)
        return ActivePolicy(self._constraints(), exposure, self.restrictions)

    def _constraints(self) -> list[Constraint]:
        return [
            Constraint(each.module, Kind(each.header.detail), each.header.peers) for each in self.of(SELECT)
        ]

    def place(self, section: PolicySection) -> str:
        """Say where a section stands.

        >>> from lace.porcelain.policies.parse import parse_policy
        >>> all = "SelectHave(P) :- Have(P).\\nSelectAdvertised(P,S) :- Advertised(P,S)."
        >>> policy = parse_policy("[select]\\n" + all)
        >>> policy.place(policy.sections[0])
        '[select] (policy:1)'
        """
        return f"{section.header} ({self.name}:{section.line})"


def is_proven(viewer: str) -> bool:
    """Tell whether a viewer is named by a verifier, which is proved before it names anybody.

    >>> is_proven("Opq_x")
    False
    """
    try:
        parse_verifier(viewer)
    except TextError:
        return False
    return True


def write_policy(policy: PolicyFile) -> str:
    """Write a policy; parsing it gives the policy again."""
    parts = [join_blocks([Block(policy.preamble, "")])]
    for section in policy.sections:
        head = "".join(f"{line}\n" for line in (*section.before, str(section.header)))
        parts.append(head + join_blocks(section.blocks))
    return "\n".join(filter(None, parts))


def refuse_policy(where: str, diagnostics: Sequence[Diagnostic]) -> PolicyRefused:
    """Make the error that carries these diagnostics."""
    return PolicyRefused(
        where=where, summary=summarize_diagnostics(diagnostics), diagnostics=tuple(diagnostics)
    )


def read_policy_text(path: str | Path) -> tuple[str, bytes]:
    """Read a policy file; return what it is called and its bytes. `-` is what comes in on stdin."""
    if str(path) != STDIN:
        check_no_pipe(Path(path))
    file = read_rules(path)
    if len(file.raw) > POLICY_FILE_BYTES:
        raise PolicyFileTooBig(
            where=file.name, limit="policy file bytes", bound=POLICY_FILE_BYTES, seen=len(file.raw)
        )
    return file.name, file.raw
