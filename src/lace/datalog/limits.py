"""The limits that decide whether a lacegram is valid (030, Limits; PROFILE section 7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LacegramLimits:
    """What a valid lacegram may hold at most. Fixed: two peers must agree on whether an operand is valid."""

    rules: int = 256
    """Rules after repeats are dropped: 030's minimum for the rule count."""
    arity: int = 8
    """Terms of one atom: 030's minimum for the tuple arity."""
    constant_bytes: int = 1024
    """UTF-8 bytes of a constant without its quotes and escapes: 030's minimum for value bytes."""


FIXED = LacegramLimits()
