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
    """Deliver records that were stored here; say what became of them, and return the exit code.

    Where the exchange converged and a record did not arrive all the same, it is incomplete: whoever asks for
    a delivery wants the records there, whatever both policies agree on.
    """
    from lace.porcelain import EXIT_CODES, Outcome, deliver, outcome_of, words_of

    address = check_address(call, call.args.target)
    asked = asked_for(call)
    introduced = introduced_by(address, asked)
    note_withheld(call, introduced)
    report, result = deliver(lace.exchanges, address, records, _policy(call), **asked)
    before = [] if not report.not_wanted else _there_before(lace, report.not_wanted, address, result)
    not_wanted = [record for record in report.not_wanted if record not in set(before)]
    outcome, words = outcome_of(result), words_of(result, introduced)
    if outcome is Outcome.CONVERGED and (not_wanted or report.held_back):
        outcome = Outcome.INCOMPLETE
    if call.out.as_json:
        call.out.value({
            "outcome": outcome.value, "address": address, "words": words, "sent": report.sent,
            "there_before": before, "not_wanted": not_wanted, "held_back": report.held_back,
        })  # fmt: skip
        return EXIT_CODES[outcome]
    told = [f"{count(len(report.sent), 'record')} sent"]
    if before:
        told.append(f"{len(before):,} there before")
    if not_wanted:
        told.append(f"{len(not_wanted):,} not asked for: its policy does not want them, or it has them")
    if report.held_back:
        told.append(f"{len(report.held_back):,} asked for and held back")
    call.out.note(f"{address}: {', '.join(told)}")
    if outcome is not Outcome.CONVERGED:
        call.out.note(outcome.value if words is None else f"{outcome.value}: {words}")
    return EXIT_CODES[outcome]


def _there_before(
    lace: Lace, records: Iterable[RecordId | str], address: str, result: InterlaceResult
) -> list[str]:
    """Return the records that the history has as gone to this peer, or as come from it."""
    from lace.drive import Way

    known: dict[int, bool] = {}

    def same_peer(number: int) -> bool:
        if number not in known:
            entry = lace.kept.exchange(number, records=False).entry
            # Whoever is behind stdio can be another one each time.
            same_place = address != "stdio" and entry.address == address
            known[number] = entry.peer == result.peer_verifier and (entry.peer is not None or same_place)
        return known[number]

    def is_there(record: str) -> bool:
        moved = (each for each in lace.kept.passages(record) if each.way in (Way.LEFT, Way.CAME))
        return any(same_peer(each.number) for each in moved)

    return [record for record in records if is_there(record)]


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
