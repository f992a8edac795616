"""Annotated source: rules with comments and metadata, and the sidecar that keeps the metadata
(030, Annotations; PROFILE sections 7 and 10).

    # for people: nothing reads it
    #:json {"label":"member proof","tags":["evidence"]}
    Member(K) :- Have(P), Field(P,'Name',_,K).

Rules of this file:
1. `#` is the first byte of its line; `#:json` is followed by one space and one JSON object.
2. `#:json` lines belong to the next rule, over blank lines and comments; later keys replace earlier ones.
   One with no rule after it is an error.
3. Nothing here changes a lacegram's identifier: the lines are left out, the rules are what they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isinf
from types import MappingProxyType
from typing import Any, NoReturn

from lace.datalog.canonical import name_rule
from lace.datalog.check import Draft
from lace.datalog.diagnostics import Diagnostic
from lace.datalog.program import Program, check_lines, make_checked, raise_errors, warned
from lace.datalog.rules import Span
from lace.datalog.source import Line, Source, read_source
from lace.facts import Predicate
from lace.text import RuleId, is_nfc

_JSON = "#:json"
_DEEPEST = 32  # metadata for people and tools; reading it must not depend on a stack


@dataclass(frozen=True, slots=True)
class AnnotatedProgram:
    """A program and what its source said about its rules."""

    program: Program
    annotations: Mapping[RuleId, Mapping[str, Any]]
    """The merged objects of each rule that has any."""

    def sidecar(self) -> str:
        """Write the annotations as one JSON object keyed by rule id, with the lacegram's id."""
        content = {
            "lacegram": self.program.id,
            "annotations": {k: dict(v) for k, v in self.annotations.items()},
        }
        text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
        # An escape can say what NFC text cannot; then it stays an escape.
        return text if is_nfc(text) else json.dumps(content, indent=1, sort_keys=True)


def parse_annotated(
    text: str | bytes, facet: str = "datalog", extra_base: Iterable[Predicate] | None = None
) -> AnnotatedProgram:
    """Read annotated source, or raise InvalidLacegram with everything that is wrong with it."""
    source, draft, notes = _read(text, facet, extra_base, None)
    raise_errors(source, draft)
    merged: dict[RuleId, dict[str, Any]] = {}
    for rule in sorted((*draft.rules, *draft.repeats), key=lambda rule: rule.span):
        for fields in notes.get(rule.span.line, ()):
            merged.setdefault(name_rule(rule), {}).update(fields)
    frozen = {key: MappingProxyType(merged[key]) for key in sorted(merged)}
    return AnnotatedProgram(make_checked(draft), MappingProxyType(frozen))


def check_annotated(
    text: str | bytes,
    facet: str = "datalog",
    *,
    extra_base: Iterable[Predicate] | None = None,
    outputs: Iterable[Predicate] | None = None,
) -> list[Diagnostic]:
    """Return all errors and warnings of annotated source, as check_program does of plain text."""
    source, draft, _ = _read(text, facet, extra_base, outputs)
    return warned(source.report, draft)


def _read(
    text: str | bytes,
    facet: str,
    extra_base: Iterable[Predicate] | None,
    outputs: Iterable[Predicate] | None,
) -> tuple[Source, Draft, dict[int, list[dict[str, Any]]]]:
    source = read_source(text)
    rule_lines: list[Line] = []
    notes: dict[int, list[dict[str, Any]]] = {}
    pending: list[tuple[Line, dict[str, Any]]] = []
    for line in source.lines:
        if line.text.startswith(_JSON):
            pending.append((line, _fields(line, source)))
        elif not line.text.startswith("#") and line.text.strip(" \t"):
            rule_lines.append(line)
            notes[line.number] = [fields for _, fields in pending]
            pending.clear()
    for line, _ in pending:
        source.report.add("L-801", Span(line.number, 0, len(line.text), line.offset))
    return source, check_lines(source, rule_lines, facet, extra_base, outputs), notes


def _fields(line: Line, source: Source) -> dict[str, Any]:
    """Read the object of a #:json line; a bad one is reported and counts as empty."""
    payload = line.text[len(_JSON) + 1 :]
    start = len(_JSON)
    if line.text[start : start + 1] != " " or payload[:1] in ("", " ", "\t"):
        source.report.add("L-803", Span(line.number, 0, len(line.text), line.offset))
        return {}
    try:
        value = json.loads(payload, parse_constant=_no_number, parse_float=_float)
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        at = start + 1 + error.pos
        source.report.add("L-802", _from(line, at), reason=error.msg.lower())
    except (ValueError, RecursionError) as error:
        # A number that is none, half a surrogate pair, a number of too many digits, nesting without end.
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0][:80]
        source.report.add("L-802", _from(line, start + 1), reason=reason)
    else:
        if isinstance(value, dict) and not _is_deep(value):
            return value
        reason = "nested too deeply" if isinstance(value, dict) else "it is no object"
        source.report.add("L-802", _from(line, start + 1), reason=reason)
    return {}


def _from(line: Line, start: int) -> Span:
    start = min(start, len(line.text))
    return Span(
        line.number, start, max(start + 1, len(line.text)), line.offset + len(line.text[:start].encode())
    )


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _float(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError("a number is too big")
    return value


def _is_deep(value: object) -> bool:
    layer: list[object] = [value]
    for _ in range(_DEEPEST):
        inner = [v for v in layer if isinstance(v, dict | list)]
        if not inner:
            return False
        layer = [child for v in inner for child in (v.values() if isinstance(v, dict) else v)]
    return True
