"""lace lake converge"""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_count, parse_path
from lace.cli.lakes import add_inbox, add_spark, start_spark
from lace.cli.output import Output, count
from lace.cli.policyfiles import chosen_peer, load_policy
from lace.cli.progress import progress_bar

if TYPE_CHECKING:
    from lace.pipeline import ConvergeProgress, ConvergeReport, ConvergeSide
    from lace.porcelain import PolicyFile

SHOWN = 10
_DOING = {
    "agree": "agreeing",
    "summarize": "summarizing what may be sent",
    "compare": "comparing",
    "ask": "choosing what to ask for",
    "serve": "choosing what to send",
    "move": "moving records",
    "end": "writing history",
}


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("left", metavar="A", type=parse_path, help="a lake, or a lace")
    parser.add_argument("right", metavar="B", type=parse_path, help="another one")
    parser.add_argument("--policy", metavar="FILE", help="the policy of both sides")
    for side in ("a", "b"):
        name = side.upper()
        parser.add_argument(f"--policy-{side}", metavar="FILE", help=f"the policy of {name} (else --policy)")
        parser.add_argument(
            f"--as-{side}", metavar="PEER",
            help=f"whom the other side takes {name} for: a verifier or the name of a key (else nobody)",
        )  # fmt: skip
    parser.add_argument(
        "--loops", metavar="N", type=parse_count, help="stop after so many loops, if it has not ended (64)"
    )
    parser.add_argument("--dry-run", action="store_true", help="compare, say what would move, move nothing")
    parser.add_argument(
        "--report", metavar="FILE", type=parse_path, help="write the report as a page of HTML too"
    )
    parser.add_argument(
        "--no-spark", action="store_true", help="work in this process: quicker for what fits into memory"
    )
    add_inbox(parser, "a folder of this machine for the history of a lake that is not on its disks")
    add_spark(parser)


def _run(call: Call) -> int:
    from lace.porcelain import converge_lakes, new_file

    args, out = call.args, call.out
    policies = _policies(call)
    proven = chosen_peer(call, args.as_a), chosen_peer(call, args.as_b)
    if args.no_spark and args.master is not None:
        raise Usage(reason="--no-spark and --master contradict each other", command="lace lake converge")
    with ExitStack() as stack:
        # A place that cannot be written is told before the work, not after it.
        page = args.report and stack.enter_context(new_file(Path(args.report), replace=True))
        with progress_bar("starting Spark", "tasks") as update:
            update(0, None)
            session = None if args.no_spark else partial(start_spark, call)

            def moved(progress: ConvergeProgress) -> None:
                # Who could not even begin has committed nothing.
                out.kept = "what was committed stays; run it again to go on"
                update(progress.done, progress.total, f"loop {progress.loop}: {_DOING[progress.stage]}")

            more = {} if args.loops is None else {"loops": args.loops}
            done = converge_lakes(
                args.left,
                args.right,
                policies,
                session=session,
                proven=proven,
                progress=moved,
                dry_run=args.dry_run,
                inbox=args.inbox,
                **more,
            )
        if page:
            page.write(done.to_report().to_html().encode())
    if out.as_json:
        out.value({**done.to_json(), "report": done.to_report().to_json()})
    else:
        _tell(out, done)
    if done.error is not None:
        out.error(done.error)
        return done.error.exit_code
    return 0


def _policies(call: Call) -> tuple[PolicyFile, PolicyFile]:
    args = call.args
    files = [args.policy_a or args.policy, args.policy_b or args.policy]
    if None in files:
        reason = "give --policy for both sides, or --policy-a and --policy-b"
        raise Usage(reason=reason, command="lace lake converge")
    left = load_policy(call, files[0])
    return left, left if files[0] == files[1] else load_policy(call, files[1])


def _tell(out: Output, done: ConvergeReport) -> None:
    if done.plan is not None:
        out.line(f"by {done.plan}")
    verb = "would receive" if done.dry_run else "received"
    for side in done.sides:
        out.line(
            f"{side.where} {verb} {count(side.received, 'record')} ({count(side.bytes_received, 'byte')})"
        )
        for line in _rest(side):
            out.line(f"  {line}")
    places = sorted(done.moved.items(), key=lambda each: (-each[1][0], each[0]))
    for (group, app), (records, size) in places[:SHOWN]:
        place = f"//{group}//{app}" if app else group
        out.line(f"  {records:>9,}  {place}  {count(size, 'byte')}")
    if len(places) > SHOWN:
        out.line(f"  … and {len(places) - SHOWN:,} more places")
    for note in done.notes:
        out.note(note)
    ended = "a fixed point" if done.complete else "no fixed point"
    seconds = sum(done.seconds.values())
    out.line(
        f"{ended} after {count(len(done.loops), 'loop')}; {count(done.compared, 'partition')} compared,"
        f" {done.skipped:,} skipped; {seconds:.1f} s"
    )


def _rest(side: ConvergeSide) -> list[str]:
    lines = [f"{number:,} rejected: {code}" for code, number in sorted(side.rejections.items())]
    told = {"not available any more": side.not_available, "left for later": side.deferred}
    return lines + [f"{number:,} {what}" for what, number in told.items() if number]


COMMAND = Command(
    "converge",
    "bring two lakes, or a lake and a lace, to the fixed point of their policies",
    "Both sides' policies decide, as in any exchange; what arrives is checked like a stranger's record. "
    "Whatever stops a run leaves both sides whole: run it again to go on. `lace history` and `lace why-sent` "
    "tell of it, of a lake with --lake.",
    (
        "lace lake init waters",
        "lace policy new group town.policy --set town=u",
        "lace lake converge waters . --policy town.policy --no-spark --dry-run",
        "lace lake converge waters . --policy town.policy --no-spark --json",
    ),
    _arguments,
    _run,
)
