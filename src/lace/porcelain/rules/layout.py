"""How annotated source is best laid out (`lace rules fmt`).

    # Who may see the notes of the house.
    #:json {"label":"members"}
    Member(K) :- Have(P), Field(P,'Signed-By',_,K).

Rules of this file:
1. A plain lacegram has one form, the canonical one. In annotated source rules stay in the order in which they
   were written, because comments speak about what stands around them; each rule is printed canonically.
2. No comment, no annotation and no rule is lost or changed, a repeated rule neither: it may be annotated.
3. One blank line where there were any; none at the ends, none between an annotation and its rule; no blanks
   at the ends of lines; LF after the last line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from lace.datalog import parse_program

COMMENT: Final = "#"
ANNOTATION: Final = "#:json"


class Block(NamedTuple):
    """A rule with the lines that stand before it."""

    before: tuple[str, ...]
    """Comments and annotations; a blank line is empty text."""
    rule: str
    """Empty for what follows the last rule."""


def is_plain(text: str) -> bool:
    """Tell whether a source has neither comments nor annotations.

    >>> is_plain("A() :- true."), is_plain("# why\\nA() :- true.")
    (True, False)
    """
    return not any(line.startswith(COMMENT) for line in text.split("\n"))


def cut_blocks(text: str) -> Iterator[Block]:
    """Cut a source that checks into its rules, each canonical, with what stands before it."""
    before: list[str] = []
    for line in text.split("\n"):
        bare = line.rstrip(" \t")
        if bare.startswith(COMMENT) or not bare:
            before.append(bare)
            continue
        # What is valid among other rules is valid alone.
        yield Block(tuple(before), str(parse_program(line)))
        before.clear()
    if any(before):
        yield Block(tuple(before), "")


def arrange(text: str) -> str:
    """Write annotated source that checks in its best form.

    >>> print(arrange("\\n\\n# one\\n\\n\\n#:json {}\\n\\nA( ):-true .\\n"), end="")
    # one
    <BLANKLINE>
    #:json {}
    A() :- true.
    """
    return join_blocks(cut_blocks(text))


def join_blocks(parts: Iterable[Block]) -> str:
    """Write blocks one after another."""
    lines: list[str] = []
    for block in parts:
        annotated = False
        for line in block.before:
            if line:
                lines.append(line)
                annotated = annotated or line.startswith(ANNOTATION)
            elif lines and lines[-1] and not annotated:
                lines.append("")
        if block.rule:
            lines.append(block.rule)
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)
