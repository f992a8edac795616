"""What can be wrong with a server file, each under a code of its own, all of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lace.datalog import Diagnostic, Severity, Span
from lace.errors import LaceError, PolicyError
from lace.porcelain.rules.file import Diagnosed, summarize_diagnostics

FAULTS: Final = {
    "serve/word": "a line is one word and its values; {advice}",
    "serve/value": "{advice}",
    "serve/repeated": "a word of one value stands once at most; line {first} has it already",
    "serve/section": "a group of peers begins with its name in brackets, such as [members]",
    "serve/nobody": "say who is in it: peers V.….H3, users NAME, hosts NETWORK or transports NAME",
    "serve/twice": "a peer is in one group; it stands in [{first}] already",
    "serve/file": "the path is seen from the folder of the server file; {advice}",
    "serve/no-address": "write a line such as: address tcp:127.0.0.1:4790",
    "serve/no-policy": "write a line such as: policy exchange.policy; `lace policy new` makes one",
    "serve/not-utf8": "write it as UTF-8",
}
TYPED: Final = {
    "serve/file": "{advice}",
    "serve/no-address": "name an address: lace serve tcp:127.0.0.1:4790",
    "serve/no-policy": "give --policy FILE; `lace policy new` makes one",
}
"""What is said instead to whoever wrote no file, and typed the words."""


@dataclass(frozen=True, slots=True)
class ServerFault(Diagnostic):
    """A diagnostic about a server file."""

    @property
    def severity(self) -> Severity:
        """Always an error: nothing is served with a file that was not understood."""
        return "error"


class ServerRefused(Diagnosed, PolicyError):
    """A server file, or a policy that it names, with errors; all of them."""

    code = "serve/refused"
    text = "{where}: {summary}; nothing of it is used"

    @property
    def policies(self) -> tuple[LaceError, ...]:
        """What is wrong with the policies that it names."""
        found: tuple[LaceError, ...] = self.fields["policies"]
        return found

    def brief(self) -> list[str]:
        """Return a line for each fault, those of the policies too."""
        policies = []
        for error in self.policies:
            parts = error.brief() if isinstance(error, Diagnosed) else []
            policies += [f"{error.fields['where']}, {part}" for part in parts] or [error.sentence]
        return super().brief() + policies

    def details(self) -> list[str]:
        """Return everything for people."""
        lines = super().details()
        for error in self.policies:
            more = getattr(error, "details", None)
            lines += [*(more() if more else ()), f"{error.sentence} [{error.code}]"]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the error as a program reads it."""
        return {**super().to_json(), "policies": [each.to_json() for each in self.policies]}


def find_server_fault(
    code: str, message: str, line: str = "", at: Span | None = None, *, typed: bool = False, **values: object
) -> ServerFault:
    """Make a fault about a stretch of a line; without one, about the file, or about what was `typed`."""
    notes = {**FAULTS, **TYPED} if typed else FAULTS
    note = notes[code].format_map(values)
    if at is None:
        return ServerFault(code, message, note)
    utf16 = (len(line[: at.start].encode("utf-16-le")) // 2, len(line[: at.end].encode("utf-16-le")) // 2)
    return ServerFault(code, message, note, at, line, utf16=utf16)


def refuse_server(
    where: str, diagnostics: Sequence[Diagnostic], policies: Sequence[LaceError] = ()
) -> ServerRefused:
    """Make the error that carries all of this."""
    told = [summarize_diagnostics(diagnostics)] if diagnostics else []
    told += [f"{len(policies)} of its policies cannot be used"] if policies else []
    return ServerRefused(
        where=where, summary="; ".join(told), diagnostics=tuple(diagnostics), policies=tuple(policies)
    )
