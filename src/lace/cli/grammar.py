"""The grammar of the command line: `lace VERB …`, and options that every verb has.

Local verbs reach other laces with `--from ADDRESS` and `--to ADDRESS`; no verb uses these two names for
anything else.
"""

from __future__ import annotations

import sys
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Iterable
from functools import partial
from shutil import get_terminal_size
from textwrap import fill
from typing import NoReturn

from lace._version import __version__
from lace.cli.command import Command
from lace.errors import LaceError

_WIDEST = 100
_COUNT_DIGITS = 18  # fits 64 bits, also when two of them are added
_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

EXIT_CODES = """\
exit codes:
  0  done                     5  the rules of an exchange were broken
  1  no: not found, damage    6  a limit was passed
  2  wrong usage              7  a store, key or file cannot be used
  3  wrong input              8  an engine failed
  4  a policy does not fit    9  a peer was not reached
  130  interrupted            10  time was over
"""


class Usage(LaceError):
    """A command line that does not follow the grammar."""

    code = "cli/usage"
    text = "{reason}; see `{command} --help`"
    exit_code = 2


class Parser(ArgumentParser):
    """A parser that raises instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the command line."""
        raise Usage(reason=message, command=self.prog)

    def _print_message(self, message: str, file: object = None) -> None:
        # The library's own drops what the system says, so that a full disk would look like success, and
        # fails where the locale knows no UTF-8. It is only ever asked to write to stdout.
        sys.stdout.buffer.write(message.encode())


def make_parser(commands: Iterable[Command]) -> Parser:
    """Make the parser of all commands."""
    width = min(_WIDEST, get_terminal_size().columns)
    parser = Parser(
        prog="lace",
        description="Keep records, look at them, and take them from one place to another.",
        epilog=f"{EXIT_CODES}\n`lace VERB --help` shows a verb with an example.",
        formatter_class=_form(width),
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"lace {__version__}")
    _add_everywhere(parser, top=True)
    _add_commands(parser, commands, width)
    return parser


def _form(width: int) -> partial[RawDescriptionHelpFormatter]:
    return partial(RawDescriptionHelpFormatter, width=width, max_help_position=28)


def _add_commands(above: Parser, commands: Iterable[Command], width: int) -> None:
    verbs: _SubParsersAction[Parser] = above.add_subparsers(metavar="VERB", title="verbs")
    for command in commands:
        examples = "".join(f"  {example}\n" for example in command.examples)
        parser = verbs.add_parser(
            command.name,
            help=command.summary,
            description=fill(f"{command.summary[0].upper()}{command.summary[1:]}. {command.details}", width),
            epilog=f"example{'s' if len(command.examples) > 1 else ''}:\n{examples}",
            formatter_class=_form(width),
            allow_abbrev=False,
        )
        command.arguments(parser)
        _add_everywhere(parser, top=False)
        if command.commands:
            _add_commands(parser, command.commands, width)
        parser.set_defaults(command=command, parser=parser)


def _add_everywhere(parser: ArgumentParser, *, top: bool) -> None:
    # Before or after the verb: a verb's own default must not undo what stood before it.
    default = None if top else SUPPRESS
    everywhere = parser.add_argument_group("everywhere")
    everywhere.add_argument(
        "--store", metavar="PATH", type=parse_path, default=default,
        help="the lace to use: a folder or a store file (else $LACE_STORE, else the nearest .lace upward)",
    )  # fmt: skip
    everywhere.add_argument(
        "--keys", metavar="FOLDER", type=parse_path, default=default,
        help="the folder of keys (else $LACE_KEYS, else ~/.config/lace/keys)",
    )  # fmt: skip
    everywhere.add_argument(
        "--json", action="store_true", default=False if top else SUPPRESS, help="write JSON, errors too"
    )


def parse_path(text: str) -> str:
    """Read a path, which is never empty: an unset variable of a script is not the current folder.

    >>> parse_path("notes")
    'notes'
    """
    if not text:
        raise ArgumentTypeError("the path is empty: write . for the current folder")
    return text


def parse_part(text: str) -> str:
    """Read a name or a part of one, which is never empty: everything has that part.

    >>> parse_part("anonymous")
    'anonymous'
    """
    if not text:
        raise ArgumentTypeError("it is empty, which would be everybody and everything: leave it out for that")
    return text


def parse_size(text: str) -> int:
    """Read a number of bytes.

    >>> parse_size("64M"), parse_size("1000")
    (67108864, 1000)
    """
    digits, unit = (text[:-1], text[-1:].lower()) if text[-1:].lower() in _SIZES else (text, "")
    if not (digits.isascii() and digits.isdigit()) or int(digits) < 1:
        raise ArgumentTypeError(f"{text!r} is no size: write 1000, 64k, 16M or 1G")
    return int(digits) * _SIZES.get(unit, 1)


def parse_count(text: str) -> int:
    """Read a number of things.

    >>> parse_count("12")
    12
    """
    number = parse_number(text)
    if number >= 10**_COUNT_DIGITS:
        raise ArgumentTypeError(f"{text[:_COUNT_DIGITS]}… is too large: write at most {_COUNT_DIGITS} digits")
    return number


def parse_number(text: str) -> int:
    """Read a number of any size.

    >>> parse_number("12")
    12
    """
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is no number: write digits")
    return int(text)
