"""`lace VERB …`: from the command line to a command, and from what happens to an exit code.

Rules of this file:
1. An error of ours is one sentence with its code on stderr, never a traceback. Anything else is a bug, and
   is shown as one.
2. Interrupted, by Ctrl-C or SIGTERM, is 130, with a word about what is stored, however often the keys are
   pressed. A reader that went away is 141, without a word.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from errno import EBADF
from typing import TextIO

from lace.cli import (
    allow,
    backup,
    eval_,
    export,
    facts,
    follow,
    forget,
    gen,
    get,
    history,
    import_,
    init,
    key,
    lake,
    ls,
    plan,
    policy,
    preview,
    put,
    repl,
    replay,
    rm,
    rules,
    serve,
    sim,
    stat,
    sync,
    tap,
    verify,
    why,
    why_not_send,
    why_send,
    why_sent,
    whynot,
)
from lace.cli.command import Call
from lace.cli.grammar import make_parser
from lace.cli.output import Output
from lace.cli.signals import ENDS, interrupt_on_term
from lace.cli.world import World
from lace.errors import InputError, LaceError

_RECORDS = (init, key, put, get, ls, facts, verify, import_, export, backup, rm, forget, allow, stat, gen)
_RULES = (rules, eval_, why, whynot, repl)
_POLICIES = (policy, plan, preview, why_send, why_not_send)
_EXCHANGES = (serve, sync, follow, history, why_sent, tap, replay, sim)
_LAKES = (lake,)
COMMANDS = tuple(module.COMMAND for module in (*_RECORDS, *_RULES, *_POLICIES, *_EXCHANGES, *_LAKES))

GARBAGE = 10_000
"""Python looks for cycles after so many new objects. Its own number, 700, costs an exchange a fifth of its
time: records and facts stay, and are looked through each time."""
INTERRUPTED = 130
BROKEN_PIPE = 141


class NotUtf8(InputError):
    """An argument that is no text."""

    code = "cli/not-utf8"
    text = "the argument {given} is no UTF-8: names in a lace are"


class CalledOff(LaceError):
    """Ctrl-C, or SIGTERM."""

    code = "cli/interrupted"
    text = "interrupted; {kept}"
    exit_code = INTERRUPTED


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if argv is None:  # the process is ours
        gc.set_threshold(GARBAGE)
        interrupt_on_term()
    given = list(sys.argv[1:] if argv is None else argv)
    out = Output(as_json="--json" in given)
    _replace_closed_streams()
    try:
        if sys.stdout is None:
            raise OSError("stdout is closed")
        code = _run(given, out)
        sys.stdout.flush()
        return code
    except LaceError as error:
        return _fail(out, error)
    except KeyboardInterrupt:
        if argv is not None:
            return _interrupted(out)
        # A second one does nothing while the sentence is written, and ends the process at once after that.
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)
        code = _interrupted(out)
        for number in ENDS:
            signal.signal(number, lambda *_: os._exit(INTERRUPTED))
        return code
    except BrokenPipeError:
        _drop(sys.stdout)
        return BROKEN_PIPE
    except UnicodeEncodeError:
        wrong = [text for text in given if not _is_text(text)]
        if not wrong:
            raise
        return _fail(out, NotUtf8(given=wrong[0]))
    except OSError as error:
        from lace.porcelain import FileRefused

        code = _fail(out, FileRefused(where=error.filename or "output", reason=error.strerror or str(error)))
        _finish(sys.stdout)
        return code
    finally:
        _finish(sys.stderr)


def _run(given: list[str], out: Output) -> int:
    parser = make_parser(COMMANDS)
    try:
        args, unknown = parser.parse_known_args(given)
    except SystemExit as ended:  # --help and --version have written what was asked for
        return int(ended.code or 0)
    out.as_json = args.json
    command = getattr(args, "command", None)
    if unknown:
        # Said by the verb's own parser, so that its own help is named.
        (args.parser if command else parser).error(_left_over(unknown))
    if command is None or command.commands:
        asked = args.parser if command else parser
        if out.as_json:
            asked.error("a VERB is missing")
        asked.print_help()
        return 2
    code: int = command.run(Call(args, out, World.here()))
    return code


def _left_over(unknown: list[str]) -> str:
    told = " ".join(unknown)
    if any(each.startswith("-") for each in unknown):
        return f"unknown: {told}"
    # argparse takes all arguments of a verb where the first one stands: later ones are left over.
    return f"one argument too many, or apart from the others: {told}; options go before or behind all of them"


def _is_text(given: str) -> bool:
    # Python lets bytes that are no UTF-8 through as lone surrogates.
    return not any("\ud800" <= character <= "\udfff" for character in given)


class _Closed(io.RawIOBase):
    """A stdin that is not there, and says so to whoever reads it."""

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: object) -> int:
        raise OSError(EBADF, "stdin is closed", "-")


def _replace_closed_streams() -> None:
    """Give a process that was started without stdin or stderr something that can be asked.

    What reads this stdin is refused: no input is something else than an empty one.
    """
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed()), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _fail(out: Output, error: LaceError) -> int:
    out.error(error)
    for words in (out.kept, out.advice):
        if words and not out.as_json:
            out.note(words)
    return error.exit_code


def _interrupted(out: Output) -> int:
    told = CalledOff(kept=out.kept or "whatever was reported stored is stored")
    if out.as_json:
        out.error(told)
    else:  # whoever pressed the keys looks up no code
        out.note(str(told))
    return told.exit_code


def _finish(stream: TextIO | None) -> None:
    """Write what is still buffered: where that fails, Python would say so at exit, with a code of its own."""
    if stream is not None:
        try:
            stream.flush()
        except OSError:
            _drop(stream)


def _drop(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: flushing it at exit would complain again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):  # it is no file, as under a test
        return
