"""Passphrases: from a file, or typed where nobody sees them. Never from the command line.

Rules of this file:
1. What is typed in for a new passphrase is typed twice.
2. A key without a passphrase never asks for one.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from getpass import GetPassWarning, getpass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from warnings import catch_warnings, simplefilter

from lace.errors import InputError

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from lace.porcelain import Keyring
    from lace.signing import Secret

MAX_PASSPHRASE_BYTES: Final = 4096


class NobodyToAsk(InputError):
    """A passphrase is to be typed, and there is no terminal."""

    code = "cli/no-terminal"
    text = "there is no terminal to type a passphrase on: give --passphrase-file FILE"


class NotTheSame(InputError):
    """Two passphrases that differ."""

    code = "cli/passphrase"
    text = "the two passphrases are not the same; nothing was done"


def add_passphrase(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the option that names a file with a passphrase."""
    parser.add_argument(
        "--passphrase-file", metavar="FILE", help="read the passphrase from the first line of a file"
    )


def new_passphrase(args: Namespace) -> str | None:
    """Return the passphrase of a new key, None where it gets none."""
    if args.passphrase_file:
        return _first_line(args.passphrase_file)
    if not args.passphrase:
        return None
    typed = _ask("new passphrase: ")
    if _ask("the same again: ") != typed:
        raise NotTheSame
    return typed


def open_key(keyring: Keyring, name: str, args: Namespace) -> Secret:
    """Return the secret of a key, and ask for its passphrase where it has one."""
    from lace.porcelain import PassphraseNeeded

    try:
        return keyring.load(name, None)
    except PassphraseNeeded:
        if args.passphrase_file:
            return keyring.load(name, _first_line(args.passphrase_file))
        if not sys.stdin.isatty():
            raise
        return keyring.load(name, _ask(f"passphrase of {name}: "))


def _ask(prompt: str) -> str:
    with catch_warnings():
        # It warns where it cannot hide what is typed.
        simplefilter("error", GetPassWarning)
        try:
            typed: str = getpass(prompt)
        except (EOFError, GetPassWarning):
            raise NobodyToAsk from None
    return typed


def _first_line(path: str) -> str:
    from lace.porcelain import read_short_file

    line = read_short_file(Path(path), MAX_PASSPHRASE_BYTES).partition(b"\n")[0].removesuffix(b"\r")
    return line.decode("utf-8", "surrogateescape")  # whatever bytes they are, they are the passphrase
