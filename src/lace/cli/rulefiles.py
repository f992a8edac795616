"""What the verbs about rules share: which rules, which facts, how much an evaluation may cost."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from lace.cli.command import Call
from lace.cli.grammar import Usage, parse_count, parse_size
from lace.cli.lakes import lake_facts
from lace.cli.output import Output, harmless, without_secrets, write_aside
from lace.cli.world import NoLaceHere

if TYPE_CHECKING:
    from lace.algebra import EvaluationLimits
    from lace.datalog import Diagnostic, Program
    from lace.facts import Predicate
    from lace.porcelain import RuleFile, Workbench
    from lace.stores import Store

STDIN = "-"
LIMIT_OPTIONS = {
    "steps": "--max-steps",
    "derived_total": "--max-facts",
    "derived_per_predicate": "--max-facts",
    "memory_bytes": "--max-memory",
    "seconds": "--seconds",
}
"""By which option each limit of an evaluation is moved."""


def add_rule_file(parser: ArgumentParser) -> None:
    """Add the argument that names the rules."""
    parser.add_argument("file", metavar="FILE", help="a lacegram, or annotated source; - for stdin")


def add_wanted(parser: ArgumentParser, text: str) -> None:
    """Add the option that names wanted predicates."""
    parser.add_argument("--want", metavar="NAME/ARITY", action="append", default=[], help=text)


def add_facts(parser: ArgumentParser, *, stdin: bool = True) -> None:
    """Add the options that say which facts the rules read; where `stdin` is taken, they come from files."""
    group = parser.add_argument_group("facts; those of the lace, and")
    group.add_argument(
        "--facts", metavar="FILE", action="append", default=[],
        help="facts of a file, one a line as `lace facts` writes them" + "; - for stdin" * stdin,
    )  # fmt: skip
    group.add_argument("--no-store", action="store_true", help="leave the facts of the lace out")


def add_limits(parser: ArgumentParser) -> None:
    """Add the options that bound an evaluation."""
    group = parser.add_argument_group("limits; past one of them there is no result, and the exit code is 6")
    group.add_argument(
        "--max-steps", metavar="N", type=parse_count, help="rows that all joins put out (268,435,456)"
    )
    group.add_argument("--max-facts", metavar="N", type=parse_count, help="derived facts (67,108,864)")
    group.add_argument("--max-memory", metavar="SIZE", type=parse_size, help="columns held at once, as bytes")
    group.add_argument("--seconds", metavar="S", type=parse_seconds, help="time")


def parse_seconds(text: str) -> float:
    """Read a length of time.

    >>> parse_seconds("0.5")
    0.5
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise ArgumentTypeError(f"{text!r} is no time: write seconds, such as 30 or 0.5")
    return seconds


def chosen_limits(call: Call) -> EvaluationLimits:
    """Return the limits that the options choose."""
    from dataclasses import replace

    from lace.algebra import LIMITS

    args = call.args
    limits = replace(LIMITS, seconds=args.seconds, memory_bytes=args.max_memory)
    if args.max_steps is not None:
        limits = replace(limits, steps=args.max_steps)
    if args.max_facts is not None:
        limits = replace(limits, derived_total=args.max_facts, derived_per_predicate=args.max_facts)
    return limits


def chosen_predicates(names: Iterable[str]) -> list[Predicate] | None:
    """Return the predicates that an option names; None where it names none."""
    from lace.porcelain import parse_predicate

    return [parse_predicate(name) for name in names] or None


def load_file(call: Call, path: str) -> RuleFile:
    """Read a file of rules."""
    from lace.porcelain import read_rules

    if path == STDIN and STDIN in getattr(call.args, "facts", ()):
        raise Usage(reason="rules and facts cannot both be stdin", command=call.args.parser.prog)
    return read_rules(path)


def load_program(call: Call, path: str) -> Program:
    """Read rules that must check; what is wrong with them goes to stderr."""
    with telling(call.out):
        return load_file(call, path).program()


@contextmanager
def open_workbench(call: Call, *, bare: bool = False) -> Iterator[Workbench]:
    """Lend a workbench over the lace and the facts that were chosen; `bare` may have neither."""
    from lace.algebra import EvaluationStopped
    from lace.porcelain import Workbench, read_facts

    if call.args.facts.count(STDIN) > 1:
        raise Usage(reason="stdin can be read once: give --facts - once", command=call.args.parser.prog)
    with ExitStack() as stack:
        limits = chosen_limits(call)
        if call.on_lake():
            bench = Workbench(facts=lake_facts(call), limits=limits)
        else:
            bench = Workbench(_store(call, stack, bare=bare), limits=limits)
        for path in call.args.facts:
            with telling(call.out):
                bench.give(read_facts(path))
        try:
            yield bench
        except EvaluationStopped as error:
            if (option := LIMIT_OPTIONS.get(error.fields["limit"])) is not None:
                call.out.advice = f"{option} moves this limit"
            raise


def _store(call: Call, stack: ExitStack, *, bare: bool) -> Store | None:
    if call.args.no_store:
        return None
    try:
        return stack.enter_context(call.open(read_only=True)).store
    except NoLaceHere:
        if bare or call.args.facts:
            return None
        raise


@contextmanager
def telling(out: Output) -> Iterator[None]:
    """Write the details of an error of many parts to stderr, above its one sentence."""
    from lace.porcelain import BadFactFile, PolicyRefused, RulesRefused, ServerRefused

    try:
        yield
    except (BadFactFile, PolicyRefused, RulesRefused, ServerRefused) as error:
        if not out.as_json:
            write_details(error.details())
        raise


def tell_warnings(out: Output, warnings: Sequence[Diagnostic], where: str) -> None:
    """Write warnings to stderr: for people with a caret, for programs as an object."""
    from lace.porcelain import render_diagnostics

    if warnings and out.as_json:
        write_details([json.dumps({"warnings": [each.to_json() for each in warnings]}, ensure_ascii=False)])
    else:
        write_details(render_diagnostics(warnings, where))


def write_details(lines: Iterable[str]) -> None:
    """Write lines to stderr that belong to what is said next."""
    text = "".join(f"{without_secrets(harmless(line))}\n" for line in lines)
    write_aside(text.encode("utf-8", "backslashreplace"))
