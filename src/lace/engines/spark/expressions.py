"""Text tests as Spark expressions (030, Built-ins).

Each says what `lace.algebra` defines, in Spark's own terms, so that no row goes through Python:

- Spark compares texts by their UTF-8 bytes, which is what LexCompare means.
- A decimal integer becomes a text whose byte order is the order of numbers: sign, number of digits, digits;
  below zero everything is turned around. No digit is ever converted, so integers have any size.
- A shape is asked with lengths in code points; `startswith` and `endswith` look at bytes, and for valid UTF-8
  these are the same question.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from lace.algebra import Compare, NotEqual, Shape, Term, Test

# Java's `$` also matches before a line end, `\z` does not.
_DECIMAL = r"\A(?:0|-?[1-9][0-9]*)\z"
_DIGITS = 10
"""Digits of the longest length that a text can have."""

Bind = Callable[[Term], Expression]
"""Says what stands for a column or constant of the rule."""


def holds(test: Test, bind: Bind) -> Expression:
    """Return whether a row passes a test."""
    if isinstance(test, NotEqual):
        return bind(test.left) != bind(test.right)
    if isinstance(test, Compare):
        return compared(test.kind, bind(test.left), test.op, bind(test.right))
    return _shaped(test, bind)


def compared(kind: str, left: Expression, op: str, right: Expression) -> Expression:
    """Return a comparison by number or by text; what is no number compares as false."""
    if kind == "Lex":
        return ordered(left, op, right)
    # A text that is no number has no key, and a comparison with nothing is not true.
    return F.coalesce(ordered(sort_key(kind, left), op, sort_key(kind, right)), F.lit(False))


def ordered(left: Expression, op: str, right: Expression) -> Expression:
    """Return a comparison of two values that Spark orders itself."""
    match op:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
    return left >= right


def sort_key(kind: str, text: Expression) -> Expression:
    """Return a text that sorts as a value compares; null for one that cannot be compared."""
    if kind == "Lex":
        return text
    length = F.length(text)
    above = F.concat(F.lit("1"), F.lpad(length.cast("string"), _DIGITS, "0"), text)
    # Below zero more digits are less, and greater digits are less.
    fewer = (F.lit(10**_DIGITS - 1) - length.cast("long")).cast("string")
    turned = F.translate(F.substring(text, 2, 2**31 - 1), "0123456789", "9876543210")
    below = F.concat(F.lit("0"), F.lpad(fewer, _DIGITS, "0"), turned)
    return F.when(text.rlike(_DECIMAL), F.when(text.startswith("-"), below).otherwise(above))


def _shaped(test: Shape, bind: Bind) -> Expression:
    text, start, end = bind(test.text), bind(test.start), bind(test.end)
    ends = F.startswith(text, start) & F.endswith(text, end)
    between = F.length(text) - F.length(start) - F.length(end)
    if not test.delims:
        # 030: "Start and End do not overlap".
        return ends & (between >= 0)
    delims = list(dict.fromkeys(test.delims))
    # One segment that is not empty, then one delimiter where End begins.
    segment = F.substring(text, F.length(start) + 1, between - 1)
    delimiter = F.substring(text, F.length(start) + between, F.lit(1))
    free = F.length(F.translate(segment, "".join(delims), "")) == F.length(segment)
    return ends & (between >= 2) & delimiter.isin(delims) & free
