"""lace sim"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_count
from lace.cli.output import count

if TYPE_CHECKING:
    from lace.drive.sim import Outcome

SEEDS = "0-9"


def parse_seeds(text: str) -> range:
    """Read which seeds to run.

    >>> parse_seeds("3-5"), parse_seeds("7")
    (range(3, 6), range(7, 8))
    """
    found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", text, re.ASCII)
    first, last = (0, -1) if found is None else (int(found[1]), int(found[2] or found[1]))
    if last < first:
        raise ArgumentTypeError(f"{text!r} are no seeds: write 0-99, the smaller one first")
    return range(first, last + 1)


def _arguments(parser: ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", metavar="N", type=parse_count, help="run this one")
    which.add_argument("--seeds", metavar="A-B", type=parse_seeds, help=f"run these ({SEEDS})")
    parser.add_argument("--trace", action="store_true", help="show every step")
    parser.add_argument("--ring", action="store_true", help="five peers in a circle instead of two")


def _run(call: Call) -> int:
    args = call.args
    if args.ring and args.trace:
        raise Usage(reason="a ring is too wide for a trace: leave --trace out", command=args.parser.prog)
    chosen = range(args.seed, args.seed + 1) if args.seed is not None else args.seeds or parse_seeds(SEEDS)
    failed = [seed for seed in chosen if not _run_one(call, seed)]
    if failed and len(chosen) > 1:
        call.out.note(f"{count(len(failed), 'seed')} of {len(chosen):,} failed")
    return 1 if failed else 0


def _run_one(call: Call, seed: int) -> bool:
    """Run a simulation and say what came of it; tell whether everything held."""
    from lace.drive.sim import InvariantBroken, Ring, Simulation

    running = Ring(seed) if call.args.ring else Simulation(seed, trace=call.args.trace)
    outcome = running.outcome
    broken: InvariantBroken | None = None
    try:
        running.run()
    except InvariantBroken as error:
        broken = error
    except Exception:
        # A bug of ours, which is shown as one; but its seed is worth more than its traceback.
        call.out.note(_replay(call, seed))
        raise
    finally:
        for line in outcome.trace if not call.out.as_json else ():
            call.out.line(line)
    call.out.result(_summary(outcome, broken), _told(outcome, broken))
    if broken is not None:
        call.out.note(_replay(call, seed))
    return broken is None


def _replay(call: Call, seed: int) -> str:
    return f"to see it again: lace sim --seed {seed} {'--ring' if call.args.ring else '--trace'}"


def _summary(outcome: Outcome, broken: Exception | None) -> str:
    done = f"{count(outcome.steps, 'step')}, {count(outcome.exchanges, 'exchange')}"
    if broken is not None:
        return f"FAILED after {done}: {broken}"
    return f"seed {outcome.seed}: {done}; ends: {_counts(outcome.causes)}; events: {_counts(outcome.faults)}"


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counted.most_common()) or "none"


def _told(outcome: Outcome, broken: Exception | None) -> dict[str, object]:
    return {
        "seed": outcome.seed,
        "holds": broken is None,
        "error": None if broken is None else str(broken),
        "steps": outcome.steps,
        "exchanges": outcome.exchanges,
        "causes": dict(outcome.causes),
        "faults": dict(outcome.faults),
        "trace": outcome.trace,
    }


COMMAND = Command(
    "sim",
    "run exchanges through a bad day: real machines, a simulated wire, disk and clock",
    "Everything comes from the seed: bytes cut, lost and spoiled, stores that fail, clocks that jump, "
    "writers, and policies that change. What must hold is checked after every step. A failure names its "
    "seed, and the same seed fails again; the exit code is 1 then.",
    ("lace sim --seeds 0-3", "lace sim --seed 7 --trace"),
    _arguments,
    _run,
)
