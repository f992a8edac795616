"""Records with what a policy is expected to do with them: a file that people keep beside the policy.

    have invite: Group 'town', App 'members', Signed-By 'V.….H3'      it is there

    [peer anonymous]
    given TransportEncrypted()
    send question: Group 'town', Name 'question'
    hold bread by select: Group 'home'
    ask news: Group 'town'                                            the peer advertises it, we ask for it
    leave spam: Group 'ads'                                           the peer advertises it, we do not

Rules of this file:
1. A record is made as any other, so that it has all its facts; later lines are later in time. Nobody can sign
   for a verifier that a case names, so `Signed-By` is taken from the case as it stands.
2. Each `[peer …]` is a scene of its own: what stands before the first one is there in all of them.
3. All that is wrong with a file comes at once, as with policies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from lace.datalog import RUNTIME_PREDICATES, Diagnostic, Span
from lace.errors import LaceError
from lace.facts import Fact, facts_of_record, parse_constant, parse_fact_line
from lace.porcelain.policies.faults import find_fault
from lace.porcelain.policies.file import is_proven, read_policy_text, refuse_policy
from lace.porcelain.reasons.rehearsal import BY_EXPOSE, BY_PEER, BY_RECEIVE, BY_SELECT, BY_SEND
from lace.porcelain.times import parse_time
from lace.record import make_plex, make_seal
from lace.signing import AUX_BYTES, Secret
from lace.text import Tai, Verifier, decode_text, digest

CASES_SUFFIX: Final = ".cases"
HAVE, SEND, HOLD, ASK, LEAVE = "have", "send", "hold", "ask", "leave"
ANONYMOUS: Final = "anonymous"
PARTS: Final = (BY_SELECT, BY_EXPOSE, BY_PEER, BY_SEND, BY_RECEIVE)
_START: Final = 1_700_000_000
_NOBODY: Final = Secret(digest(b"lace policy cases"))

_PEER = re.compile(r"\[peer[ \t]+(?P<who>\S+)(?:[ \t]+policy[ \t]+(?P<policy>\S[^\]]*?))?[ \t]*\]")
_CASE = re.compile(
    r"(?P<verb>have|send|hold|ask|leave)[ \t]+(?P<name>[A-Za-z0-9_~-]+)"
    r"(?:[ \t]+by[ \t]+(?P<by>[a-z]+))?[ \t]*:?[ \t]*(?P<fields>.*)"
)
_FIELD = re.compile(r"[ \t]*(?P<name>[^\s',:]+)[ \t]+(?P<value>'(?:[^'\\]|\\['\\])*')[ \t]*(?:,|$)")


class PolicyCase(NamedTuple):
    """A record and what should become of it."""

    verb: str
    name: str
    by: str | None
    """Which part of the policy should hold it back, where the case says so."""
    record: str
    facts: tuple[Fact, ...]
    line: int

    @property
    def is_here(self) -> bool:
        """Whether we have the record; else the peer advertises it."""
        return self.verb in (HAVE, SEND, HOLD)


@dataclass(frozen=True)
class PolicyScene:
    """A peer, and the cases that are about it."""

    peer: Verifier | None
    policy: str | None
    """The file of the peer's policy; None is a peer that wants everything."""
    line: int
    given: tuple[Fact, ...] = ()
    cases: tuple[PolicyCase, ...] = ()

    @property
    def facts(self) -> list[Fact]:
        """The facts of the records that are here."""
        return [fact for case in self.cases if case.is_here for fact in case.facts]

    def advertised(self, source: str) -> list[Fact]:
        """Return what the peer advertises, under the name it has in this exchange."""
        found: list[Fact] = []
        for case in self.cases:
            if not case.is_here:
                found.append(("Advertised", case.record, source))
                fields = [fact for fact in case.facts if fact[0] == "Field"]
                found += [("AdvertisedField", fact[1], source, *fact[2:]) for fact in fields]
        return found


class _NoCase(Exception):
    """A line that is no case."""


@dataclass
class _Draft:
    """What was read so far."""

    scenes: list[PolicyScene] = field(default_factory=list)
    shared: PolicyScene = field(default_factory=lambda: PolicyScene(None, None, 0))
    names: dict[str, str] = field(default_factory=dict)
    """The records that a link can name."""

    @property
    def scene(self) -> PolicyScene:
        return self.scenes[-1] if self.scenes else self.shared

    def put(self, scene: PolicyScene) -> None:
        if self.scenes:
            self.scenes[-1] = scene
        else:
            self.shared = scene


def cases_beside(policy: str | Path) -> Path:
    """Return where the cases of a policy are kept.

    >>> str(cases_beside("town.policy"))
    'town.cases'
    """
    return Path(policy).with_suffix(CASES_SUFFIX)


def read_cases(path: str | Path) -> list[PolicyScene]:
    """Read a file of cases, or raise PolicyRefused with all that is wrong with it."""
    name, raw = read_policy_text(path)
    return parse_cases(raw, name)


def parse_cases(raw: bytes | str, name: str = "cases") -> list[PolicyScene]:
    """Read cases.

    >>> [scene] = parse_cases("[peer anonymous]\\nhold draft by select: App 'drafts'\\n")
    >>> [(case.verb, case.name, case.by) for case in scene.cases]
    [('hold', 'draft', 'select')]
    """
    lines = (raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw).split(b"\n")
    draft = _Draft()
    faults: list[Diagnostic] = []
    offset = 0
    for number, line in enumerate(lines, 1):
        try:
            text = decode_text(line).strip(" \t")
            if text and not text.startswith("#"):
                _read(draft, text, number)
        except (LaceError, _NoCase) as error:
            shown = line.decode("utf-8", "replace")
            span = Span(number, 0, max(1, len(shown)), offset)
            faults.append(find_fault("policy/case", shown, span, reason=str(error)))
        offset += len(line) + 1
    if not faults and not any(case.verb != HAVE for scene in draft.scenes for case in scene.cases):
        faults.append(find_fault("policy/case", reason="nothing is expected anywhere in this file"))
    if faults:
        raise refuse_policy(name, faults)
    return draft.scenes


def _read(draft: _Draft, text: str, number: int) -> None:
    if text.startswith("["):
        draft.scenes.append(_scene(text, number, draft.shared))
        draft.names = {case.name: case.record for case in draft.shared.cases}
        return
    scene = draft.scene
    word, _, rest = text.partition(" ")
    if word == "given":
        fact = parse_fact_line(rest.strip(" \t"))
        if (fact[0], len(fact) - 1) not in RUNTIME_PREDICATES:
            names = ", ".join(each.name for each in RUNTIME_PREDICATES)
            raise _NoCase(f"{fact[0]} is no runtime fact; these are given: {names}")
        draft.put(PolicyScene(scene.peer, scene.policy, scene.line, (*scene.given, fact), scene.cases))
        return
    case = _case(text, number, draft.names)
    if not draft.scenes and case.verb != HAVE:
        raise _NoCase(f"{case.verb} is about a peer: say [peer anonymous] or [peer V.….H3] before")
    if case.name in draft.names:
        raise _NoCase(f"there is a record {case.name} already")
    draft.names[case.name] = case.record
    draft.put(PolicyScene(scene.peer, scene.policy, scene.line, scene.given, (*scene.cases, case)))


def _scene(text: str, number: int, shared: PolicyScene) -> PolicyScene:
    found = _PEER.fullmatch(text)
    if found is None or not (found["who"] == ANONYMOUS or is_proven(found["who"])):
        raise _NoCase("no peer: say [peer anonymous], [peer V.….H3] or [peer V.….H3 policy their.policy]")
    peer = None if found["who"] == ANONYMOUS else Verifier(found["who"])
    return PolicyScene(peer, found["policy"], number, shared.given, shared.cases)


def _case(text: str, number: int, names: dict[str, str]) -> PolicyCase:
    found = _CASE.fullmatch(text)
    if found is None:
        raise _NoCase("no case: a line begins with have, send, hold, ask, leave or given")
    verb, by = found["verb"], found["by"]
    if by is not None and (verb not in (HOLD, LEAVE) or by not in PARTS):
        raise _NoCase(f"`by` stands after hold and leave, and is one of {', '.join(PARTS)}")
    record, facts = _record(found["name"], _fields(found["fields"]), number, names)
    return PolicyCase(verb, found["name"], by, record, facts, number)


def _fields(text: str) -> list[tuple[str, str]]:
    fields = []
    at = 0
    while at < len(text):
        found = _FIELD.match(text, at)
        if found is None:
            raise _NoCase(f"no field at {text[at : at + 30]!r}: fields read Group 'town', Name 'first'")
        fields.append((found["name"], parse_constant(found["value"])))
        at = found.end()
    return fields


def _record(
    name: str, fields: Iterable[tuple[str, str]], number: int, names: dict[str, str]
) -> tuple[str, tuple[Fact, ...]]:
    """Make the record of a case; return its id and its facts."""
    now = Tai(f"{_START + number}:000000000")
    known = {"Group": "test", "App": "test", "Name": name, "TAI": now, "Data": name, "Signed-By": ""}
    extra = []
    for each, value in fields:
        if each in known:
            known[each] = value
        elif each.startswith("+"):
            said, _, target = value.rpartition(" ")
            extra.append((each, f"{said} {names.get(target, target)}".lstrip(" ")))
        else:
            extra.append((each, value))
    tai = parse_time(known["TAI"], now)
    plex = make_plex(known["Group"], known["App"], known["Name"], tai, known["Data"].encode(), extra)
    signer = known["Signed-By"]
    if not signer:
        return plex.id, tuple(facts_of_record(plex))
    # The dice follow from who is meant, so that the same record of two signers is two records.
    seal = make_seal(plex, _NOBODY, digest(signer.encode())[:AUX_BYTES])
    facts = facts_of_record(seal)
    return seal.id, tuple((*f[:4], signer) if f[2:3] == ("Signed-By",) else f for f in facts)
