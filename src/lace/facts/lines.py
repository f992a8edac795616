r"""One fact as a line of text, and back (030 constants, 050 fact blocks).

    Field('P.…','Group','0','it\'s')        TransportEncrypted()

Rules of this file:
1. There is one spelling: no blanks, single quotes, the escapes \\ and \' and no others.
2. In received text nothing is repaired.
"""

from __future__ import annotations

import re

from lace.errors import FactError
from lace.facts.fact import VALUE_BYTES, Fact, check_value

_PLAIN = r"[^'\\\n\r]*+"
_CONSTANT = rf"'{_PLAIN}(?>(?:\\['\\]{_PLAIN})*)'"
_FACT = re.compile(rf"([A-Za-z][A-Za-z0-9_~-]*+)\(((?>{_CONSTANT}(?:,{_CONSTANT})*|))\)")
_EACH = re.compile(_CONSTANT)
_ESCAPE = re.compile(r"\\(.)")
_SPECIAL = re.compile(r"[\\']")


class NotAFactLine(FactError):
    """A line that is not one fact."""

    code = "fact/line"
    text = "{line!r} is no fact line: expected Name('value',…) with \\\\ and \\' as the only escapes"


class UnwritableValue(FactError):
    """A value that no constant can spell."""

    code = "fact/unwritable"
    text = "{value!r} cannot stand in a fact line: constants hold neither LF nor CR"


def write_constant(value: str) -> str:
    r"""Quote a value.

    >>> print(write_constant("it's"))
    'it\'s'
    """
    if "\n" in value or "\r" in value:
        raise UnwritableValue(value=value[:80])
    if "'" in value or "\\" in value:
        value = _SPECIAL.sub(r"\\\g<0>", value)
    return f"'{value}'"


def parse_constant(text: str) -> str:
    """Return the value of a quoted constant that the grammar accepted."""
    value = text[1:-1]
    return _ESCAPE.sub(r"\1", value) if "\\" in value else value


def write_fact_line(fact: Fact) -> str:
    """Write a fact without its LF.

    >>> write_fact_line(("Field", "P", "Name", "0", "x"))
    "Field('P','Name','0','x')"
    """
    return f"{fact[0]}({','.join([write_constant(value) for value in fact[1:]])})"


def parse_fact_line(line: str, limit: int = VALUE_BYTES) -> Fact:
    """Read one fact line, strictly.

    >>> parse_fact_line("TransportEncrypted()")
    ('TransportEncrypted',)
    """
    found = _FACT.fullmatch(line)
    if found is None:
        raise NotAFactLine(line=line[:120], offset=0)
    name, inside = found.groups()
    return (name, *[check_value(parse_constant(each), limit) for each in _EACH.findall(inside)])
