"""Reads a policy file and says everything that is wrong with it, at once.

Rules of this file:
1. Each section is checked by itself, as the facet that it is, at the lines where it stands.
2. What is wrong in one section hides nothing in another.
3. Only a file without errors becomes a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from os.path import exists
from pathlib import Path
from typing import Final, TypeAlias

from lace.datalog import (
    ADVERTISEMENT_PREDICATES,
    ALLOW_QUERY_RECORD,
    RUNTIME_PREDICATES,
    SELECT_HAVE,
    VIEWER,
    Const,
    Diagnostic,
    InvalidLacegram,
    Span,
    check_annotated,
    parse_program,
)
from lace.errors import LaceError
from lace.policy import (
    FlatRules,
    Kind,
    MissingExport,
    ModuleRefused,
    NothingToPresent,
    SelectedNotExposable,
    read_restriction,
    restrict_like,
)
from lace.porcelain.arguments import WrongArgument
from lace.porcelain.policies.faults import LATE, as_refusal, find_fault, placed
from lace.porcelain.policies.file import (
    EXPOSE,
    LISTED,
    RECEIVE,
    SELECT,
    SELECTED,
    SEND,
    TRUST,
    UNION,
    PolicyFile,
    PolicySection,
    SectionHeader,
    read_policy_text,
    refuse_policy,
)
from lace.porcelain.policies.header import NoHeader, is_verifier, parse_header
from lace.porcelain.policies.hidden import find_hiding
from lace.porcelain.policies.operand import NoOperand, check_carried, late_sections, make_operand
from lace.porcelain.rules.layout import COMMENT, Block, cut_blocks, join_blocks
from lace.text import Verifier

GivenPolicy: TypeAlias = PolicyFile | str | Path
"""What callers give as a policy: one that was read, or the path of its file."""
MOST_SECTIONS: Final = 64
_EXAMPLES: Final = {
    SEND: "AllowSend(P) :- Have(P), TransportEncrypted().",
    RECEIVE: "AllowRequest(P,S) :- Advertised(P,S), Peer(S).",
}
_FOR_SOMEBODY: Final = {
    SELECT: SectionHeader(SELECT, Kind.PEER.value, frozenset()),
    EXPOSE: SectionHeader(EXPOSE, LISTED, frozenset()),
    TRUST: SectionHeader(TRUST, "", frozenset()),
}
_FACETS: Final = {SELECT: "selector", EXPOSE: "expose"}


@dataclass(slots=True)
class _Chunk:
    """The lines of one section."""

    first: int
    """Of the comments above its header, from 0."""
    head: int
    """Of its header; -1 for what stands before the first one."""
    end: int
    header: SectionHeader | None = None
    faults: list[Diagnostic] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        return any(each.severity == "error" for each in self.faults)


def read_policy(path: str | Path) -> PolicyFile:
    """Read a policy file, or raise PolicyRefused with all that is wrong with it; `-` is stdin."""
    _check_path(path)
    name, raw = read_policy_text(path)
    return parse_policy(raw, name)


def given_policy(policy: GivenPolicy) -> PolicyFile:
    """Return the policy that a caller gave; whatever takes one takes it through here."""
    return policy if isinstance(policy, PolicyFile) else read_policy(policy)


def _check_path(path: object) -> None:
    if not isinstance(path, str | Path):
        found = f"a value of type {type(path).__name__}"
    elif ("\n" in str(path) or ":-" in str(path)) and not exists(path):
        found = "the text of one, for parse_policy,"
    else:
        return
    wanted = "the path of a policy file, or what read_policy or parse_policy gives"
    raise WrongArgument(name="policy", wanted=wanted, found=found)


def parse_policy(text: str | bytes, name: str = "policy") -> PolicyFile:
    """Read a policy, or raise PolicyRefused.

    >>> policy = parse_policy(\"\"\"
    ... # Everything.
    ... [select]
    ... SelectHave(P) :- Have(P).
    ... SelectAdvertised(P,S) :- Advertised(P,S).
    ... [expose selected]
    ... \"\"\")
    >>> [str(section.header) for section in policy.sections]
    ['[select]', '[expose selected]']
    """
    policy, found = check_policy(text, name)
    if policy is None:
        raise refuse_policy(name, found)
    return policy


def check_policy(text: str | bytes, name: str = "policy") -> tuple[PolicyFile | None, list[Diagnostic]]:
    """Return a policy, where there are no errors, and all errors and warnings of its text."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    lines = raw.split(b"\n")
    chunks = list(_cut(lines))
    for number, chunk in enumerate(chunks):
        _check(chunk, lines)
        if number > MOST_SECTIONS:
            fault = find_fault("policy/sections", *_at(lines, chunk.head), seen=number, bound=MOST_SECTIONS)
            chunk.faults = [fault]
            chunks = chunks[: number + 1]
            break
    found = [each for chunk in chunks for each in chunk.faults]
    policy = None
    if not any(each.severity == "error" for each in found):
        policy = _assemble(chunks, lines, name)
        found += _check_whole(policy, lines)
        if any(each.severity == "error" for each in found):
            policy = None
    found.sort(key=lambda each: (each.span.line or len(lines) + 1, each.span.start))
    return policy, found


def _cut(lines: list[bytes]) -> Iterator[_Chunk]:
    """Cut a text into what stands before the first header, and its sections."""
    heads = [at for at, line in enumerate(lines) if line.lstrip(b" \t").startswith(b"[")]
    starts = []
    for head in heads:
        first = head
        while first and lines[first - 1].startswith(b"#") and not lines[first - 1].startswith(b"#:json"):
            first -= 1
        starts.append(first)
    ends = [*starts, len(lines)]
    yield _Chunk(0, -1, ends[0])
    for number, head in enumerate(heads):
        yield _Chunk(starts[number], head, ends[number + 1])


def _at(lines: list[bytes], number: int, start: int = 0, end: int | None = None) -> tuple[str, Span]:
    """Return a line as text, and a place in it."""
    line = lines[number].decode("utf-8", "replace")
    offset = sum(len(each) + 1 for each in lines[:number]) + len(line[:start].encode())
    return line, Span(number + 1, start, len(line) if end is None else end, offset)


def _check(chunk: _Chunk, lines: list[bytes]) -> None:
    """Find what is wrong with one section."""
    if chunk.head < 0:
        _check_preamble(chunk, lines)
        return
    line, at = _at(lines, chunk.head)
    try:
        chunk.header = parse_header(line)
    except NoHeader as error:
        start = max(0, line.find(error.found))
        end = start + len(error.found)
        chunk.faults.append(
            find_fault(
                error.code,
                *_at(lines, chunk.head, start, end),
                found=error.found.strip()[:60],
                reason=error.reason,
            )
        )
        if error.code != "policy/peer":
            return
        # Whoever was meant, what stands below is right or wrong all the same.
        chunk.header = _FOR_SOMEBODY[line.strip(" \t[").split()[0]]
    text = _alone(lines, chunk)
    if not chunk.header.has_rules:
        _refuse_rules(chunk, lines, "policy/no-rules")
        return
    facet = _FACETS.get(chunk.header.word, "datalog")
    # A restriction may be given whatever an exchange supplies.
    extra = (*RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES) if facet == "datalog" else None
    found = check_annotated(text, facet, extra_base=extra)
    # What is missing is told at the header; where that is wrong itself, one fault is enough there.
    chunk.faults += [as_refusal(each, line, at) for each in found if each.span.line or not chunk.faults]
    if chunk.header.word in (SEND, RECEIVE) and not chunk.is_wrong:
        _check_restriction(chunk, lines)
    if chunk.header.word == EXPOSE and not chunk.is_wrong:
        _check_viewers(chunk, lines)


def _check_preamble(chunk: _Chunk, lines: list[bytes]) -> None:
    found = check_annotated(_alone(lines, chunk))
    # What is no text is no rule either.
    chunk.faults += [each for each in found if each.code in ("L-101", "L-109")][:1]
    if not chunk.faults:
        _refuse_rules(chunk, lines, FlatRules.code)
    if not chunk.faults:
        chunk.faults += found


def _refuse_rules(chunk: _Chunk, lines: list[bytes], code: str) -> None:
    """Say that there are rules where none can be; once, at the first of them."""
    for number in range(chunk.head + 1, chunk.end):
        line = lines[number].strip(b" \t\r")
        if line and not line.startswith(b"#"):
            chunk.faults.append(find_fault(code, *_at(lines, number), section=str(chunk.header)))
            return


def _alone(lines: list[bytes], chunk: _Chunk) -> bytes:
    """Return the text with nothing but one section in it, everything at its place."""
    kept = range(chunk.first, chunk.end)
    return b"\n".join(
        line if at in kept and at != chunk.head else b" " * len(line) for at, line in enumerate(lines)
    )


def _check_viewers(chunk: _Chunk, lines: list[bytes]) -> None:
    """Find viewers that are named by something else than a verifier: anybody could be one."""
    for number in range(chunk.head + 1, chunk.end):
        line = lines[number].decode()
        if not line.strip(" \t") or line.startswith(COMMENT):
            continue
        for rule in parse_program(line).rules:
            for atom in (rule.head, *rule.mentions()):
                viewer = atom.terms[0] if atom.predicate in (ALLOW_QUERY_RECORD, VIEWER) else None
                if isinstance(viewer, Const) and not is_verifier(viewer.value):
                    at = _at(lines, number, viewer.span.start, viewer.span.end)
                    chunk.faults.append(find_fault("policy/viewer", *at, found=str(viewer)[:60]))


def _check_restriction(chunk: _Chunk, lines: list[bytes]) -> None:
    """Find what a restriction may not say, rule by rule, and whether it says what it is for."""
    assert chunk.header is not None
    gate: Final = "send" if chunk.header.word == SEND else "request"
    for number in range(chunk.head + 1, chunk.end):
        line = lines[number].decode()
        if not line.strip(" \t") or line.startswith(COMMENT):
            continue
        try:
            read_restriction(line, gate)
        except MissingExport:
            continue  # another rule may say it
        except ModuleRefused as error:
            names = [word for word in str(error.fields["what"]).split() if word in line]
            start = line.find(names[0]) if names else 0
            end = start + len(names[0]) if names else len(line)
            chunk.faults.append(_told(error, *_at(lines, number, start, end)))
    if not chunk.is_wrong:
        try:
            read_restriction(_alone_rules(lines, chunk), gate)
        except MissingExport as error:
            note = "it says which records may go: " + _EXAMPLES[chunk.header.word]
            what = str(error.fields["what"])
            chunk.faults.append(placed(error.code, what, note, *_at(lines, chunk.head)))


def _told(error: ModuleRefused, line: str, at: Span) -> Diagnostic:
    message, _, note = str(error).partition(": ")[2].partition("; ")
    return placed(error.code, message, note, line, at)


def _alone_rules(lines: list[bytes], chunk: _Chunk) -> str:
    rows = [lines[at].decode() for at in range(chunk.head + 1, chunk.end)]
    return "\n".join(row for row in rows if not row.startswith(COMMENT))


def _assemble(chunks: list[_Chunk], lines: list[bytes], name: str) -> PolicyFile:
    sections = []
    for chunk in chunks[1:]:
        assert chunk.header is not None
        before = tuple(lines[at].decode().rstrip(" \t") for at in range(chunk.first, chunk.head))
        blocks = _blocks(lines[chunk.head + 1 : chunk.end])
        sections.append(PolicySection(chunk.header, blocks, before, chunk.head + 1))
    rows = [line.decode().rstrip(" \t") for line in lines[: chunks[0].end]]
    told = join_blocks([Block(tuple(rows), "")])
    return PolicyFile(tuple(sections), tuple(told.split("\n")[:-1]), name)


def _blocks(lines: list[bytes]) -> tuple[Block, ...]:
    # Written and cut once more, so that blank lines are where the writer leaves them.
    text = join_blocks(cut_blocks(b"\n".join(lines).decode()))
    return tuple(cut_blocks(text.removesuffix("\n")))


def _check_whole(policy: PolicyFile, lines: list[bytes]) -> Iterator[Diagnostic]:
    """Find what is wrong with sections that are right by themselves."""
    selects = policy.of(SELECT)
    if not selects:
        yield find_fault(NothingToPresent.code)
        return
    yield from _check_operands(policy, lines)
    for section in policy.of(EXPOSE):
        if section.header.detail == SELECTED and any(
            each.module.reads_advertisements((SELECT_HAVE,)) for each in selects
        ):
            yield find_fault(SelectedNotExposable.code, *_at(lines, section.line - 1))
    if not policy.trusted and not any(each.header.detail != UNION for each in policy.of(EXPOSE)):
        yield find_fault("policy/nothing-exposed")
    hiding = find_hiding(policy)
    if hiding is not None:
        yield find_fault("policy/hidden-not-held", *_at(lines, hiding.line - 1), section=hiding.header)


def _check_operands(policy: PolicyFile, lines: list[bytes]) -> Iterator[Diagnostic]:
    """Make what would be presented to every peer that the policy tells apart, and what narrows it later."""
    selects = policy.of(SELECT)
    peers = sorted({peer for section in selects for peer in section.header.peers or ()})
    # Peers whom the same sections are for are presented the same; what is exposed may ask for the time.
    alike = {
        tuple(
            [each.line for each in policy.select_sections(peer)]
            + [each.line for each in policy.expose_sections() if each.expose_module.is_for(peer)]
        ): peer
        for peer in reversed(peers)
    }
    for peer in (None, *reversed(alike.values())):
        try:
            made = make_operand([policy], peer, stranger=policy)
            check_carried(made.module, peer)
        except NoOperand as error:
            chosen = policy.select_sections(peer) or selects
            values = {name: error.fields[name] for name in ("peer", "reason", "parts", "advice")}
            yield find_fault(error.code, *_at(lines, chosen[-1].line - 1), **values)
            return
        except LaceError as error:
            line, at = _at(lines, selects[-1].line - 1)
            yield placed(error.code, str(error), "change one of the [select] sections", line, at)
            return
        shown = [each for each in policy.of(EXPOSE) if each.header.detail == SELECTED]
        if shown and policy.select_sections(peer):
            yield from _check_made(shown[0], lines, partial(_expose_own, policy, peer))
    presented = frozenset(each.module.id for each in policy.select_sections(None))
    for section in late_sections([policy], presented):
        if section.module.reads_advertisements((SELECT_HAVE,)):
            # Whoever it is for has to be known before, and then nothing is made of it.
            yield find_fault(LATE, *_at(lines, section.line - 1), section=section.header)
            continue
        yield from _check_made(section, lines, partial(restrict_like, section.module))


def _expose_own(policy: PolicyFile, peer: Verifier | None) -> None:
    # What cannot be exposed at all is told by itself.
    with suppress(SelectedNotExposable):
        policy.active(peer)


def _check_made(
    section: PolicySection, lines: list[bytes], make: Callable[[], object]
) -> Iterator[Diagnostic]:
    """Find out that a module of our own, made of what a section selects, would have too many rules."""
    try:
        make()
    except InvalidLacegram as error:
        first = error.diagnostics[0]
        message = f"what {section.header} selects becomes a module with one rule more: {first.message}"
        yield placed("policy/composed", message, "say the same in fewer rules", *_at(lines, section.line - 1))
