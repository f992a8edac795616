"""Lines from a person, with history and completion, or from a pipe, without either.

Rules of this file:
1. `readline` is loaded only where a person types: it may be missing, and it is slow to load.
2. The history is a convenience: where it cannot be read or written, the work goes on without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

LINE_BYTES = 16 * 1024 * 1024
HISTORY_LINES = 2000
# What ends a word of the rule language; `.` is part of a command, `/` of a file name.
DELIMITERS = " \t(),'"

Complete = Callable[[str, str], list[str]]
"""From the line so far and the word at its end to all words that may be meant."""


def is_typed() -> bool:
    """Tell whether a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


class PipedInput:
    """Lines of stdin; bytes that are no UTF-8 are told by whoever reads the line."""

    def read(self) -> str | None:
        """Return the next line, or None at the end."""
        raw = sys.stdin.buffer.readline(LINE_BYTES)
        return raw.decode("utf-8", "surrogateescape") if raw else None

    def close(self) -> None:
        """Leave stdin as it is."""


class TypedInput:
    """Lines that a person types after a prompt."""

    def __init__(self, prompt: str, history: Path, complete: Complete) -> None:
        self._prompt = prompt
        self._history = history
        self._readline = _readline(history, complete)
        self._pasted: list[str] = []
        """Lines that came with the one before them."""

    def read(self) -> str | None:
        """Return the next line, or None where the person ends it with Ctrl-D."""
        if self._pasted:
            return self._pasted.pop(0)
        try:
            # With `enable-bracketed-paste`, readline gives all lines of a paste as one.
            line, *self._pasted = input(self._prompt).split("\n")
        except EOFError:
            print()
            return None
        return line

    def drop(self) -> None:
        """Forget the rest of a paste."""
        self._pasted.clear()

    def close(self) -> None:
        """Keep the history for the next time."""
        if self._readline is not None:
            _write_history(self._readline, self._history)


def _readline(history: Path, complete: Complete) -> ModuleType | None:
    try:
        import readline
    except ImportError:  # a Python that was built without it
        return None
    found: list[str] = []

    def completer(word: str, at: int) -> str | None:
        if at == 0:
            found[:] = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
        return found[at] if at < len(found) else None

    readline.set_completer(completer)
    readline.set_completer_delims(DELIMITERS)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    readline.set_history_length(HISTORY_LINES)
    with suppress(OSError):
        readline.read_history_file(history)
    return readline


def _write_history(readline: ModuleType, history: Path) -> None:
    with suppress(OSError):
        # What was asked is nobody else's business.
        history.parent.mkdir(0o700, parents=True, exist_ok=True)
        history.touch(0o600)
        readline.write_history_file(history)


def completions(
    line: str, word: str, words: list[str], commands: list[str], file_commands: tuple[str, ...]
) -> list[str]:
    """Return what the word at the end of a line may become.

    >>> completions(".wh", ".wh", ["Have"], [".why", ".whynot", ".load"], (".load",))
    ['.why ', '.whynot ']
    >>> completions("?- Ha", "Ha", ["Have", "not"], [], ()), completions("?- n", "n", ["Have", "not"], [], ())
    (['Have('], ['not '])
    """
    first, blank, _ = line.lstrip().partition(" ")
    if first.startswith(".") and not blank:
        return [f"{each} " for each in commands if each.startswith(word)]
    if first in file_commands:
        return sorted(f"{each}/" if Path(each).is_dir() else each for each in glob(f"{word}*"))
    return [
        each + ("(" if each[:1].isupper() or each[:1] == "_" else " ")
        for each in words
        if each.startswith(word)
    ]
