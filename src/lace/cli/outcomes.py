"""What people and programs are told about an exchange: while it goes on, and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lace.cli.output import Output, count
from lace.cli.policyfiles import place_of
from lace.cli.progress import progress_bar

if TYPE_CHECKING:
    from lace.interlace import InterlaceResult
    from lace.porcelain import ExchangeProgress, Introduction, Lace, Standing

SHOWN = 5
NOTHING_IN_COMMON = "nothing in common: no record, here or there, is let through by both policies"
_PHASES = {
    "begin": "connecting", "setup": "setup", "renew": "setup", "hello": "hello", "prepare": "policy",
    "select": "policy", "advertise": "comparing", "reconcile": "comparing", "ask": "comparing",
    "answer": "comparing", "choose": "policy", "request": "asking", "serve": "policy",
    "transfer": "records", "availability": "records", "settle": "storing", "idle": "idle",
    "closing": "closing", "closed": "closed",
}  # fmt: skip


@contextmanager
def exchange_bar(address: str) -> Iterator[Callable[[ExchangeProgress], None]]:
    """Lend what shows how far an exchange has come, where a person looks."""
    with progress_bar(address, "records") as update:

        def show(now: ExchangeProgress) -> None:
            update(now.received + now.sent, _total(now), describe_progress(now))

        yield show


def _total(now: ExchangeProgress) -> int | None:
    return now.received + now.sent + now.wanted if now.wanted else None


def describe_progress(now: ExchangeProgress) -> str:
    """Say where an exchange stands, in a few words."""
    words = [_PHASES.get(now.phase, now.phase)]
    if now.partitions:
        words.append(count(now.partitions, "partition"))
    words.append(f"{now.received:,} in, {now.sent:,} out")
    words.append(f"{size(now.bytes_received)} / {size(now.bytes_sent)}")
    return " · ".join(words)


def size(number: int) -> str:
    """Write a number of bytes as people read it.

    >>> size(512), size(4096), size(5 << 20)
    ('512 B', '4.0 KiB', '5.0 MiB')
    """
    if number < 1 << 10:
        return f"{number} B"
    amount, units = number / 1024, ["KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:,.1f} {units[0]}"


def summary(
    result: InterlaceResult,
    standing: Standing | None,
    seconds: float | None,
    introduced: Introduction | None = None,
) -> list[str]:
    """Say what moved, what did not, and why."""
    from lace.porcelain import Outcome, outcome_of, words_of

    outcome, words = outcome_of(result), words_of(result, introduced)
    peer = result.peer_verifier or "a peer that proved nothing"
    took = "" if seconds is None else f" after {seconds:.1f} s,"
    lines = [f"{outcome.value} with {peer}{took} in {count(result.loops, 'loop')}"]
    if words is not None:
        lines.append(f"why: {words}")
    lines.append(f"received: {count(len(result.received_hashes), 'record')}, {size(result.bytes_received)}")
    lines.append(f"sent: {count(len(result.sent_hashes), 'record')}, {size(result.bytes_sent)}")
    for what, ids in (
        ("asked for, and the peer could no longer send", result.not_available_hashes),
        ("asked for, and left for later by the peer", result.deferred_hashes),
        ("asked for by the peer, and held back", result.held_back_hashes),
    ):
        if ids:
            lines.append(f"not moved: {count(len(ids), 'record')}, {what}")
    if result.rejected_hashes:
        lines.append(f"not kept: {count(len(result.rejected_hashes), 'record')}")
        for record in result.rejected_hashes[:SHOWN]:
            error = result.rejections[record]
            lines.append(f"  {record}: {error} [{error.code}]")
    if standing is not None and outcome is not Outcome.REFUSED:
        lines.append(_tell_ours(standing))
        if standing.passed_over:
            are = "is" if standing.passed_over == 1 else "are"
            ours = f"{count(standing.passed_over, 'record')} that we would send"
            lines.append(f"{ours} {are} not selected by the peer's rules")
        if standing.kept_out:
            was, is_ = ("was", "is") if standing.kept_out == 1 else ("were", "are")
            theirs = f"{count(standing.kept_out, 'record')} of the peer"
            lines.append(f"{theirs} {was} forgotten here and {is_} not asked for")
        if outcome is Outcome.CONVERGED and not standing.may_send and not standing.advertised:
            lines.append(NOTHING_IN_COMMON)
    return lines


def _tell_ours(standing: Standing) -> str:
    if not standing.stored:
        return "for this peer: there are no records here yet"
    here = f"{count(standing.stored, 'record')} here"
    if standing.words is not None and not standing.may_send:
        return f"for this peer: nothing of {here}, {standing.words}"
    # What the peer's own rules pass over is not our policy's doing, and `lace preview` does not know them.
    held = standing.stored - standing.may_send - standing.passed_over
    if standing.passed_over:
        others = "1 other is" if held == 1 else f"{held:,} others are"
    else:
        others = "the other one is" if held == 1 else f"the other {held:,} are"
    why = f"; {others} not for it: `lace preview` says why" if held else ""
    return f"for this peer: {standing.may_send:,} of {here}{why}"


def told_result(
    result: InterlaceResult, standing: Standing | None, address: str, seconds: float, introduced: Introduction
) -> dict[str, Any]:
    """Return a result as a program reads it."""
    from lace.porcelain import outcome_of, words_of

    told = {
        "outcome": outcome_of(result).value,
        "address": address,
        "seconds": round(seconds, 3),
        "words": words_of(result, introduced),
        "key_withheld": introduced.withheld,
        **result.to_json(),
    }
    if standing is not None:
        told["standing"] = standing._asdict()
    return told


def write_moved(out: Output, lace: Lace, result: InterlaceResult) -> None:
    """Write each record that moved, or did not."""
    for what, ids in (
        ("received", result.received_hashes),
        ("sent", result.sent_hashes),
        ("rejected", result.rejected_hashes),
        ("not available", result.not_available_hashes),
        ("deferred", result.deferred_hashes),
        ("held back", result.held_back_hashes),
    ):
        for record in ids:
            out.line(f"{what}  {record}  {place_of(lace, record)}".rstrip())
