"""lace history"""

from __future__ import annotations

from argparse import ArgumentParser
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_count, parse_part, parse_path
from lace.cli.lakes import add_inbox
from lace.cli.output import Output, count
from lace.cli.policyfiles import write_records_named
from lace.cli.tables import short_id, write_table

if TYPE_CHECKING:
    from lace.drive import Account, Agreement, ExchangeEntry
    from lace.porcelain import Lace

SHOWN = 10
NO_END = "no end noted"
_WAYS = {
    "left": "left",
    "may-have-left": "may have left: its process was killed, or goes on",
    "came": "came",
    "not-available": "asked for, and not available",
    "deferred": "asked for, and left for later by the peer",
    "held-back": "asked for by the peer, and held back",
}


def add_exchange_peer(parser: ArgumentParser) -> None:
    """Add the option that says with whom."""
    parser.add_argument(
        "--peer", metavar="PEER", type=parse_part,
        help="with whom: a verifier or its beginning, the name of one of your keys, a part of an address, "
        "or anonymous",
    )  # fmt: skip


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("number", metavar="N", nargs="?", type=parse_count, help="tell this one in full")
    add_exchange_peer(parser)
    parser.add_argument("--since", metavar="TIME", help="that began then or later, such as 3d or 2024-01-31")
    parser.add_argument(
        "--plan", metavar="ID", type=parse_part, help="under this plan: an E. id, or the beginning of one"
    )
    parser.add_argument(
        "-n", "--limit", metavar="COUNT", type=parse_count,
        help=f"at most so many exchanges; of one exchange, so many records of each kind ({SHOWN})",
    )  # fmt: skip
    parser.add_argument("--rules", action="store_true", help="of one exchange: the rules that decided, too")
    parser.add_argument(
        "--forget-before", metavar="TIME",
        help="forget the exchanges that ended before then, such as 90d or 2024-01-31, and print how many",
    )  # fmt: skip
    add_noted(parser)


def add_noted(parser: ArgumentParser) -> None:
    """Add the options that say where the exchanges that are asked about were noted."""
    parser.add_argument(
        "--history", metavar="FILE", type=parse_path,
        help="the notes of `lace sync --send-only FILE` (else: those beside the store)",
    )  # fmt: skip
    lake = parser.add_argument_group("a lake in place of a store")
    lake.add_argument(
        "--lake", metavar="PATH", type=parse_path,
        help="the exchanges of this lake, over a wire or by converge",
    )  # fmt: skip
    add_inbox(lake)


def open_noted(call: Call, *, writing: bool = False) -> Lace:
    """Open the lace, or the lake, and the notes of its exchanges; `writing` lets those of a file be cut."""
    from lace.drive import NotAHistory
    from lace.porcelain import Lace, file_faults, store_file
    from lace.stores import SqliteStore, check_is_file

    if call.args.history is None:
        return call.open(read_only=True)
    if call.args.lake is not None:
        reason = "--history is about a store; the notes of a lake lie in its inbox"
        raise Usage(reason=reason, command=call.args.parser.prog)
    notes = Path(call.args.history)
    check_is_file(notes)
    with file_faults(notes), notes.open("rb") as file:
        if not file.read(1):  # beside a store it would be one that was never begun
            raise NotAHistory(where=str(notes), reason="it is empty")
    place = store_file(call.world.find_lace(call.args.store))
    return Lace(SqliteStore(place, create=False, read_only=True), history=notes, sends_only=writing)


def _run(call: Call) -> int:
    args, out = call.args, call.out
    if args.number is not None and (args.peer or args.since or args.plan):
        raise Usage(reason="a number names one exchange: leave --peer, --since and --plan out",
                    command=args.parser.prog)  # fmt: skip
    if args.forget_before is not None:
        return _forget(call)
    if args.rules and args.number is None:
        raise Usage(reason="rules are told of one exchange: give its number too", command=args.parser.prog)
    with open_noted(call) as lace:
        if args.number is not None:
            account = lace.exchange(args.number)
            if out.as_json:
                out.value(account.to_json())
            else:
                _tell(call, lace, account)
            return 0
        peer = named_peer(call, args.peer)
        found = lace.history(peer=peer, since=args.since, plan=args.plan, limit=args.limit)
        missing = lace.history_gaps()
        if out.as_json:
            for entry in found:
                out.value(entry.to_json())
        elif (first := next(found, None)) is None:
            chosen = args.peer or args.since or args.plan
            if (chosen or not missing) and args.limit != 0:
                out.note("no such exchange was noted here" if chosen else "no exchange was noted here yet")
        else:
            head = ["exchange", "began", "with", "left", "came", "ended"]
            write_table(out, head, map(_row, chain([first], found)))
        for words in missing:
            out.note(words)
    return 0


def _forget(call: Call) -> int:
    args = call.args
    if (
        args.number is not None
        or args.peer
        or args.since
        or args.plan
        or args.limit is not None
        or args.rules
    ):
        raise Usage(reason="--forget-before is about everything that is older: leave the rest out",
                    command=args.parser.prog)  # fmt: skip
    with call.open() if args.history is None else open_noted(call, writing=True) as lace:
        gone = lace.forget_history(args.forget_before)
    call.out.result(f"forgot {count(gone, 'exchange')}", {"forgotten": gone})
    return 0


def named_peer(call: Call, given: str | None) -> str | None:
    """Return the verifier of one of our keys where its name was given, else what was given."""
    if given is None or given.startswith("V."):
        return given
    found = [key.verifier for key in call.keyring().list() if key.name == given]
    return found[0] if found and found[0] else given


def _row(entry: ExchangeEntry) -> list[str]:
    from lace.porcelain import show_time

    left = f"{entry.left:,}" + (f" (+{entry.may_have_left:,}?)" if entry.may_have_left else "")
    ended = entry.cause or NO_END
    return [
        str(entry.number),
        show_time(entry.began),
        f"{short_id(entry.peer) if entry.peer else 'anonymous'}  {entry.address or ''}".rstrip(),
        left,
        f"{entry.came:,}",
        f"{ended} [{entry.error_code}]" if entry.error_code else ended,
    ]


def _tell(call: Call, lace: Lace, account: Account) -> None:
    from lace.drive import Way
    from lace.porcelain import show_time, whom

    out, entry = call.out, account.entry
    limit = SHOWN if call.args.limit is None else call.args.limit
    ended = NO_END if entry.ended is None else f"ended {show_time(entry.ended)}"
    out.line(f"exchange {entry.number}: began {show_time(entry.began)}, {ended}")
    out.line(f"with {whom(entry)}")
    if entry.cause:
        reason = f": {entry.words} [{entry.error_code}]" if entry.error_code else ""
        out.line(f"cause: {entry.cause}{reason}")
    sums = entry.sums
    loops, turns = count(sums.loops, "loop"), count(sums.turns, "turn")
    out.line(f"{loops}, {turns}; {sums.bytes_sent:,} bytes sent, {sums.bytes_received:,} received")
    for agreement in account.agreements:
        _tell_agreement(out, agreement, rules=call.args.rules)
    for way, words in _WAYS.items():
        records = account.fared(Way(way))
        if records:
            out.line(f"{words}: {count(len(records), 'record')}")
            write_records_named(out, lace, {"count": len(records), "records": records[:limit]})
    if account.rejections:
        out.line(f"came, and rejected: {count(len(account.rejections), 'record')}")
    for each in account.rejections[:limit]:
        out.line(f"  {each.record}  {each.words} [{each.error_code}]")


def _tell_agreement(out: Output, agreed: Agreement, *, rules: bool) -> None:
    from lace.porcelain import show_time, tell_section

    out.line(f"epoch {agreed.epoch}, {show_time(agreed.at)}: plan {agreed.plan}")
    out.line(f"  we are operand {agreed.side}; the peer's rules saw what is shown to {agreed.viewer}")
    for section in agreed.in_force.sections:
        out.line(f"  in force: {tell_section(section)}")
        if rules:
            _tell_rules(out, section.text)
    if agreed.in_force.trusted:
        out.line("  the peer is trusted: its rules read everything")
    if rules:
        for index, text in enumerate(agreed.operands):
            out.line(f"  operand {index}, {'ours' if index == agreed.side else 'the peer'}:")
            _tell_rules(out, text)


def _tell_rules(out: Output, text: str) -> None:
    for line in text.split("\n"):
        out.line(f"    {line}")


COMMAND = Command(
    "history",
    "list the exchanges of this lace, or tell one in full",
    "What left and what came, to and from whom, under which plan, and how it ended; the newest first. "
    "`(+3?)` are records that were about to leave when their process ended. "
    "`lace why-sent` says why one record left. With --json one object a line. --forget-before "
    "cuts it: nobody can be told of an older exchange any more, only until when they are gone, and records "
    "stay. An exchange whose process was killed has no end: its line stays, without what moved.",
    (
        "lace history",
        "lace history --since 3d --peer anonymous -n 20 --json",
        "lace history --forget-before 90d",
    ),
    _arguments,
    _run,
)
