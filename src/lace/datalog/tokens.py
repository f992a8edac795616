"""One line of source as tokens (030, Syntax; PROFILE section 7).

Rules of this file:
1. Every character belongs to a token or is a blank or tab between two; nothing is skipped silently.
2. Work is linear in the line, whatever stands in it: each alternative of the pattern is decided by its
   first character and takes what it takes for good (possessive quantifiers).
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from lace.datalog.rules import Span
from lace.datalog.source import Line

_TOKEN = re.compile(
    r"""
    [ \t]*+ (?:
      ( [A-Za-z0-9_~] [A-Za-z0-9_~-]*+ )                # 1 word
    | ( :- | != | [(),.] )                              # 2 mark
    | ( ' [^'\\]*+ (?> (?: \\. [^'\\]*+ )* ) ' )        # 3 constant
    | ( ' .*+ )                                         # 4 a constant without end
    | ( " [^"]*+ "? )                                   # 5 text in double quotes
    | ( [^\ \t'"(),.A-Za-z0-9_~]++ )                    # 6 no part of the language
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = ("", "word", "mark", "constant", "open", "quoted", "foreign")
_MARKS = {mark: mark for mark in (":-", "!=", "(", ")", ",", ".")}


class Token(NamedTuple):
    """A piece of a line."""

    kind: str
    """A mark's own spelling (`:-` `!=` `(` `)` `,` `.`), else word, constant, open (a constant without end),
    quoted (in double quotes), foreign (no part of the language) or end."""
    text: str
    start: int
    """Its column."""
    offset: int
    """Where it starts in the whole text, in bytes."""

    def span(self, line: int, last: Token | None = None) -> Span:
        """Return where it stands, or the stretch from it to another token."""
        _, text, start, _ = last or self
        return make_span((line, self.start, start + (len(text) or 1), self.offset))


def tokenize(line: Line) -> list[Token]:
    """Cut a line into tokens; the last one is `end`.

    >>> [token.text for token in tokenize(Line(1, "A(X) :- B(X).", 0))]
    ['A', '(', 'X', ')', ':-', 'B', '(', 'X', ')', '.', '']
    """
    text = line.text.rstrip(" \t")
    # Byte minus column: grows behind each token that is not ASCII.
    shift = line.offset
    if text.isascii():
        tokens = [
            _token(
                (found[at] if at == 2 else _KINDS[at], found[at], found.start(at), found.start(at) + shift)
            )
            for found in _TOKEN.finditer(text)
            if (at := found.lastindex)
        ]
    else:
        tokens = []
        for found in _TOKEN.finditer(text):
            group = found.lastindex or 0
            piece = found[group]
            start = found.start(group)
            tokens.append(_token((piece if group == 2 else _KINDS[group], piece, start, start + shift)))
            shift += len(piece.encode()) - len(piece)
    tokens.append(Token("end", "", len(text), len(text) + shift))
    return tokens


# A line has many tokens; these are Token(*…) and Span(*…) without the call in between.
_token = partial(tuple.__new__, Token)
make_span = partial(tuple.__new__, Span)
