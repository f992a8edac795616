"""The header of a section: what a line in brackets says.

[select]   [select application]   [select for V.….H3]
[expose to anyone]   [expose to proven peers]   [expose to V.….H3]   [expose selected]   [expose union]
[send]   [receive]   [trust V.….H3]
"""

from __future__ import annotations

import re

from lace.errors import TextError
from lace.policy import Kind
from lace.porcelain.policies.file import (
    ANYONE,
    EXPOSE,
    LISTED,
    PROVEN,
    SELECT,
    SELECTED,
    TRUST,
    UNION,
    SectionHeader,
)
from lace.text import Verifier, parse_verifier

_HEADER = re.compile(r"[ \t]*\[(?P<words>[^\[\]]*)\][ \t]*")


class NoHeader(Exception):
    """A line that is no header: the code of its fault, the words that are wrong, and what would be right."""

    def __init__(self, code: str, found: str, reason: str = "") -> None:
        super().__init__(code)
        self.code, self.found, self.reason = code, found, reason


def parse_header(line: str) -> SectionHeader:
    """Read a header, or raise NoHeader.

    >>> str(parse_header("[ select  for V.OEL2sxn4GhPnCm_bU7hnAPU0Q0gVS8KxFlNg3zfHT2O.H3 ]"))[:12]
    '[select for '
    """
    found = _HEADER.fullmatch(line)
    if found is None:
        reason = "lines end with LF alone" if line.endswith("\r") else "a header is one line in brackets"
        raise NoHeader("policy/header", line, reason)
    words = found["words"].split()
    match words:
        case ["select", *rest]:
            return _select(rest, line)
        case ["expose", "to", "anyone"]:
            return SectionHeader(EXPOSE, ANYONE)
        case ["expose", "to", "proven", "peers"]:
            return SectionHeader(EXPOSE, PROVEN)
        case ["expose", "to", *peers] if peers:
            return SectionHeader(EXPOSE, LISTED, _peers(peers))
        case ["expose", ("selected" | "union") as detail]:
            return SectionHeader(EXPOSE, {"selected": SELECTED, "union": UNION}[detail])
        case ["expose", *_]:
            reason = (
                "say [expose to anyone], [expose to proven peers], [expose to V.….H3] or [expose selected]"
            )
            raise NoHeader("policy/header", line, reason)
        case [("send" | "receive") as word]:
            return SectionHeader(word)
        case ["trust", *peers] if peers:
            return SectionHeader(TRUST, "", _peers(peers))
    raise NoHeader("policy/header", line, "each begins with one of these words")


def _select(words: list[str], line: str) -> SectionHeader:
    kinds = [each.value for each in Kind]
    kind = words.pop(0) if words and words[0] in kinds else None
    peers = None
    if words[:1] == ["for"] and len(words) > 1:
        peers = _peers(words[1:])
    elif words:
        reason = f"say [select], [select KIND] with one of {', '.join(kinds)}, or [select for V.….H3]"
        raise NoHeader("policy/header", line, reason)
    plain = Kind.APPLICATION if peers is None else Kind.PEER
    return SectionHeader(SELECT, kind or plain.value, peers)


def _peers(words: list[str]) -> frozenset[Verifier]:
    try:
        return frozenset(parse_verifier(word) for word in words)
    except TextError:
        wrong = next(word for word in words if not is_verifier(word))
        raise NoHeader("policy/peer", wrong) from None


def is_verifier(word: str) -> bool:
    """Tell whether a word is a verifier."""
    try:
        return bool(parse_verifier(word))
    except TextError:
        return False
