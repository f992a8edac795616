"""lace repl"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from contextlib import suppress
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_count
from lace.cli.lineinput import PipedInput, TypedInput, completions, is_typed
from lace.cli.output import count
from lace.cli.rulefiles import STDIN, add_facts, add_limits, open_workbench, tell_warnings, telling
from lace.cli.signals import Terminated
from lace.errors import LaceError

if TYPE_CHECKING:
    from lace.cli.dialogue import Dialogue
    from lace.porcelain import Workbench

PROMPT = "lace> "
HISTORY = "repl_history"
SHOWN = 100


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--rules", metavar="FILE", action="append", default=[], help="begin with the rules of a file"
    )
    parser.add_argument(
        "-n", "--limit", metavar="N", type=parse_count, default=SHOWN,
        help=f"show at most so many answers ({SHOWN})",
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="the exit code tells when a line failed")
    add_facts(parser, stdin=False)
    add_limits(parser)


def _run(call: Call) -> int:
    from lace.cli.dialogue import Dialogue

    if STDIN in (*call.args.rules, *call.args.facts):
        raise Usage(reason="stdin is what is typed: rules and facts come from files", command="lace repl")
    with open_workbench(call, bare=True) as bench:
        dialogue = Dialogue(bench, call.args.limit)
        with telling(call.out):
            for path in call.args.rules:
                loaded = dialogue.load(path)
                tell_warnings(call.out, loaded.warnings, loaded.where)
        typed = is_typed()
        if typed:
            _welcome(call, bench)
        failed = _talk(call, dialogue, typed=typed)
    return failed if call.args.strict else 0


def _talk(call: Call, dialogue: Dialogue, *, typed: bool) -> int:
    """Answer line after line; return the exit code of the first that failed."""
    failed = 0
    lines: TypedInput | PipedInput = _typed_input(call, dialogue) if typed else PipedInput()
    try:
        while not dialogue.ended:
            line = None
            try:
                line = lines.read()
                if line is None:
                    break
                _answer(call, dialogue, line)
            except LaceError as error:
                call.out.error(error)
                failed = failed or error.exit_code
            except KeyboardInterrupt as pressed:
                if not isinstance(lines, TypedInput) or isinstance(pressed, Terminated):
                    raise
                lines.drop()
                with suppress(KeyboardInterrupt):  # pressed twice
                    call.out.note("dropped" if line is None else "stopped")
    finally:
        lines.close()
    return failed


def _answer(call: Call, dialogue: Dialogue, line: str) -> None:

    out = call.out
    with telling(out):
        reply = dialogue.answer(line)
    if reply is None:
        return
    tell_warnings(out, reply.warnings, reply.where)
    if out.as_json:
        out.value(reply.value)
    else:
        for each in reply.lines:
            out.line(each)
    sys.stdout.flush()  # whoever asked waits for it


def _typed_input(call: Call, dialogue: Dialogue) -> TypedInput:
    from lace.cli.dialogue import FILE_VERBS, VERBS

    commands = list(VERBS)
    return TypedInput(
        PROMPT,
        call.world.find_state() / HISTORY,
        lambda line, word: completions(line, word, dialogue.words(), commands, FILE_VERBS),
    )


def _welcome(call: Call, bench: Workbench) -> None:
    facts = count(sum(bench.supplied().values()), "fact")
    call.out.note(f"{facts}, {count(len(bench.program.rules), 'rule')}; .help lists what can be done")


COMMAND = Command(
    "repl",
    "try rules out: add them, ask, ask why",
    "The facts stay in memory; what others store meanwhile is seen by the next question. In a pipe there is "
    "no prompt, and --strict makes the exit code tell when a line failed. With --json: an object for each "
    "line that did something.",
    (
        "echo \"?- Field(P,'Group',_,'u'), Field(P,'Name',_,N)\" | lace repl --limit 3",
        "echo \".whynot Field('x','Name','0','y')\" | lace repl --strict",
    ),
    _arguments,
    _run,
)
