"""IntCompare, LexCompare, TextShape: their one definition in Python (030, Built-ins; PROFILE section 7).

Rules of this file:
1. A test is a pure function of texts and always answers; odd text is false, never an error.
2. Integers have any size. They are compared as text: turning a million digits into an int takes
   seconds, and Python refuses to do it beyond 4300.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
"""The four comparisons that 030 knows, by their spelling."""

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def is_decimal(text: str) -> bool:
    """Tell whether text is a decimal integer: `0`, or digits without leading zeros, maybe after `-`.

    >>> is_decimal("-12"), is_decimal("-0"), is_decimal("01"), is_decimal("")
    (True, False, False, False)
    """
    return _DECIMAL.fullmatch(text) is not None


def int_compare(left: str, op: str, right: str) -> bool:
    """Compare two decimal integers by value; anything else makes the comparison false.

    >>> int_compare("9", "<", "10"), int_compare("-9", "<", "-10"), int_compare("x", "<=", "x")
    (True, False, False)
    """
    if not (is_decimal(left) and is_decimal(right)):
        return False
    # More digits make a greater number above zero and a lesser one below it.
    left_negative, right_negative = left[0] == "-", right[0] == "-"
    if left_negative != right_negative:
        return OPERATORS[op](not left_negative, not right_negative)
    if left_negative:
        left, right = right, left
    return OPERATORS[op]((len(left), left), (len(right), right))


def lex_compare(left: str, op: str, right: str) -> bool:
    """Compare two texts by their UTF-8 bytes.

    >>> lex_compare("10", "<", "9"), lex_compare("\\uffff", "<", "\\U00010000")
    (True, True)
    """
    # UTF-8 was made so that its byte order is the order of code points, and that is how str compares.
    return OPERATORS[op](left, right)


def text_shape(text: str, start: str, delims: str, end: str) -> bool:
    """Tell whether text is start, something, end; with delims: start, a segment, one delimiter, end.

    >>> text_shape("links/bob", "links/", "", ""), text_shape("aba", "ab", "", "ba")
    (True, False)
    >>> text_shape("links/bob.msg", "links/", "./", "msg"), text_shape("links/.msg", "links/", "./", "msg")
    (True, False)
    """
    if not text.startswith(start):
        return False
    if not delims:
        # 030: "Start and End do not overlap".
        return text.endswith(end, len(start))
    rest = text[len(start) :]
    # The first delimiter stands where End begins; the segment before it is not empty and free of them.
    cut = len(rest) - len(end) - 1
    if cut < 1 or rest[cut] not in delims or not rest.endswith(end):
        return False
    return set(delims).isdisjoint(rest[:cut])
