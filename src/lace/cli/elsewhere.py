"""`--from ADDRESS` and `--to ADDRESS`: the local verbs with a lace elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lace.cli.command import Call
from lace.cli.connecting import (
    add_command,
    add_connecting,
    asked_for,
    check_address,
    introduced_by,
    note_withheld,
)
from lace.cli.output import count
from lace.cli.policyfiles import load_policy

if TYPE_CHECKING:
    from lace.interlace import InterlaceResult
    from lace.policy import Module
    from lace.porcelain import Introduction, Lace, PolicyFile
    from lace.text import RecordId


def add_from(parser: ArgumentParser) -> None:
    """Add the options that fetch records first."""
    parser.add_argument("--from", metavar="ADDRESS", dest="origin", help="fetch it from this lace first")
    add_connecting(parser)
    add_command(parser)


def add_to(parser: ArgumentParser) -> None:
    """Add the options that deliver records afterwards."""
    parser.add_argument("--to", metavar="ADDRESS", dest="target", help="and bring it to this lace")
    add_connecting(parser, passphrase=False)
    add_command(parser)


def fetch_first(call: Call, lace: Lace, operation: Module) -> int:
    """Fetch what an operation selects; return the exit code, with a word on stderr where it is not 0."""
    from lace.porcelain import fetch

    address = check_address(call, call.args.origin)
    asked = asked_for(call)
    introduced = introduced_by(address, asked)
    note_withheld(call, introduced)
    result = fetch(lace.exchanges, address, operation, _policy(call), **asked)
    return _code(call, result, introduced)


def deliver_then(call: Call, lace: Lace, records: Iterable[RecordId]) -> int:
    """Deliver records that were stored here; say what became of them, and return the exit code."""
    from lace.porcelain import deliver

    address = check_address(call, call.args.target)
    asked = asked_for(call)
    introduced = introduced_by(address, asked)
    note_withheld(call, introduced)
    report, result = deliver(lace.exchanges, address, records, _policy(call), **asked)
    out = call.out
    words = [f"{count(len(report.sent), 'record')} sent"]
    if report.not_wanted:
        words.append(
            f"{len(report.not_wanted):,} not asked for: it has them, or its policy does not want them"
        )
    if report.held_back:
        words.append(f"{len(report.held_back):,} asked for and held back")
    out.note(f"{address}: {', '.join(words)}")
    return _code(call, result, introduced)


def _policy(call: Call) -> PolicyFile | None:
    """Return the policy that was named, or lies beside the store; None where there is neither."""
    from lace.cli.policyfiles import DEFAULT_FILE
    from lace.porcelain import store_file

    if call.args.policy is not None:
        return load_policy(call, call.args.policy)
    beside = store_file(call.world.find_lace(call.args.store)).with_name(DEFAULT_FILE)
    return load_policy(call, str(beside)) if beside.exists() else None


def _code(call: Call, result: InterlaceResult, introduced: Introduction) -> int:
    from lace.porcelain import EXIT_CODES, Outcome, outcome_of, words_of

    outcome = outcome_of(result)
    if outcome is not Outcome.CONVERGED:
        words = words_of(result, introduced)
        call.out.note(outcome.value if words is None else f"{outcome.value}: {words}")
    return EXIT_CODES[outcome]
