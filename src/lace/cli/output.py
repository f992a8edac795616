"""What commands write: results to stdout, everything else to stderr.

Rules of this file:
1. Text is UTF-8 whatever the locale says.
2. Characters that could steer a terminal, or turn a line around, are shown as escapes: records come from
   strangers.
3. A broken pipe is not an error of ours.
4. A secret that was typed in the wrong place is never repeated on stderr.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from lace.errors import LaceError

# C0, DEL and C1 controls, line and paragraph separators, and the characters that reorder text.
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# What a secret begins with is enough: errors may quote no more than a part of it.
_SECRET = re.compile(r"&\.[0-9A-Z_a-z~]{8,}(\.H3)?")


def without_secrets(text: str) -> str:
    """Hide what looks like a secret.

    >>> without_secrets("unknown: &.0123456789.H3 x")
    'unknown: &.… x'
    """
    return _SECRET.sub("&.…", text)


def harmless(text: str) -> str:
    r"""Show steering characters as escapes, which are good JSON too.

    >>> harmless("caf\u00e9 \x9b2J")
    'café \\u009b2J'
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Output:
    """Where a command's words go."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.kept = ""
        """What to say about work already done, when the command is interrupted."""
        self.advice = ""
        """What to do about the error that ends the command."""
        self.tells_damage = False
        """Whether the command itself says which records are damaged."""
        self.lent = False
        """Whether our own stdout is the stream of an exchange: results go to stderr then."""

    @property
    def terminal(self) -> bool:
        """Tell whether a person looks at stdout."""
        return sys.stdout.isatty()

    def data(self, data: bytes) -> None:
        """Write bytes as they are."""
        if self.lent:
            write_aside(data)
        else:
            sys.stdout.buffer.write(data)

    def line(self, text: str = "") -> None:
        """Write a line of text."""
        self.data(_bytes(harmless(text)))

    def exact(self, text: str) -> None:
        """Write a line that programs read: as it is, but harmless where a person looks."""
        self.data(_bytes(harmless(text) if self.terminal else text))

    def value(self, value: Any) -> None:
        """Write a line of JSON."""
        self.exact(json.dumps(value, ensure_ascii=False))

    def result(self, text: str, value: Any) -> None:
        """Write the result for people, or for programs."""
        if self.as_json:
            self.value(value)
        else:
            self.line(text)

    def flush(self) -> None:
        """Let whoever reads have what was written, now."""
        if not self.lent:
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Say something that is not the result."""
        self.aside(f"lace: {harmless(text)}")

    def aside(self, line: str) -> None:
        """Write a line to stderr as it is, but without secrets."""
        write_aside(_bytes(without_secrets(line)))

    def error(self, error: LaceError, about: str = "") -> None:
        """Say what went wrong: for people a sentence with its code, for programs an object."""
        if self.as_json:
            told = {**error.to_json(), "about": about} if about else error.to_json()
            self.aside(json.dumps(told, ensure_ascii=False))
        else:
            said = f"{error.sentence} [{error.code}]"
            self.note(f"{about}: {said}" if about else said)


def write_aside(data: bytes) -> None:
    """Write to stderr; what a full disk there does not take is not said, and keeps nobody from the work."""
    try:
        sys.stderr.flush()
        sys.stderr.buffer.write(data)
        sys.stderr.flush()
    except BrokenPipeError:
        raise
    except OSError:
        return


def _bytes(line: str) -> bytes:
    # A path that is no UTF-8 holds lone surrogates; as escapes they are good JSON too.
    return f"{line}\n".encode("utf-8", "backslashreplace")


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Write a number of things.

    >>> count(1, "record"), count(12000, "record"), count(2, "copy", "copies")
    ('1 record', '12,000 records', '2 copies')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
