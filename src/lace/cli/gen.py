"""lace gen"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_count, parse_number, parse_size
from lace.cli.output import count
from lace.cli.progress import progress_bar
from lace.cli.targets import STDOUT, add_target, chosen_target, tell_written

if TYPE_CHECKING:
    from lace.record import Record

_BATCH = 1000

# What a set looks like; the names are those of porcelain's Shape.
_SHAPE = (
    ("blobs", "bare Blobs in each thousand (30)"),
    ("sealed", "signed Plexes in each thousand (100)"),
    ("linked", "Plexes with links in each thousand (100)"),
    ("large", "records with large data in each thousand (0)"),
    ("groups", "how many groups (16)"),
    ("apps", "how many apps (16)"),
    ("members", "how many authors (200)"),
    ("names", "how many names on each shelf of an app (4096)"),
    ("signers", "how many signers (5)"),
)
_SIZES = (("data-bytes", "the mean of ordinary data (54)"), ("large-bytes", "the most of large data (64k)"))


def _arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--seed", metavar="N", type=parse_number, default=1, help="which set (1)")
    parser.add_argument(
        "--count", metavar="N", type=parse_count, default=1000, help="how many records (1000)"
    )
    parser.add_argument(
        "--start", metavar="N", type=parse_count, default=0, help="leave out the first N of the set"
    )
    parser.add_argument(
        "--pair", choices=("left", "right"), help="one of two sets that have records in common"
    )
    parser.add_argument(
        "--overlap", metavar="SHARE", type=float, default=0.8, help="how much a pair has in common (0.8)"
    )
    shape = parser.add_argument_group("the shape of the set")
    for name, text in _SHAPE:
        shape.add_argument(f"--{name}", metavar="N", type=parse_count, help=text)
    for name, text in _SIZES:
        shape.add_argument(f"--{name}", metavar="SIZE", type=parse_size, help=text)


def _run(call: Call) -> int:
    args = call.args
    if args.store is not None and args.target != STDOUT:
        raise Usage(reason="give TARGET or --store, not both", command="lace gen")
    records = _records(args)
    with progress_bar("generating", "records") as update:

        def moved(done: int) -> None:
            update(done, args.count)

        if args.store is not None:
            return _store(call, records, moved)
        return _write(call, records, moved)


def _records(args: Namespace) -> Iterator[Record]:
    from dataclasses import fields

    from lace.porcelain import Shape, generate, generate_pair

    names = [field.name for field in fields(Shape)]
    given = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
    shape = Shape(**given)
    if args.pair is None:
        return generate(args.seed, args.count, shape=shape, start=args.start)
    left, right = generate_pair(args.seed, args.count, overlap=args.overlap, shape=shape)
    return islice(left if args.pair == "left" else right, args.start, None)


def _store(call: Call, records: Iterator[Record], moved: Callable[[int], None]) -> int:
    done = new = 0
    with call.open() as lace:
        while batch := list(islice(records, _BATCH)):
            new += sum(stored.new for stored in lace.put_records(batch))
            done += len(batch)
            call.out.kept = f"{count(done, 'record')} stored"
            moved(done)
    text = f"stored {count(new, 'record')}, {done - new:,} known already"
    call.out.result(text, {"stored": new, "known": done - new})
    return 0


def _write(call: Call, records: Iterator[Record], moved: Callable[[int], None]) -> int:
    from lace.porcelain import write_records

    target, bound = chosen_target(call.args)
    report = write_records(records, target, shard_bytes=bound, replace=call.args.force, progress=moved)
    tell_written(call.out, call.args, report)
    return 0


COMMAND = Command(
    "gen",
    "make up records: the same from the same seed, anywhere",
    "For trying things out, demonstrations and benchmarks. The records go to stdout, a file, a folder of "
    "shards, or with --store straight into a lace.",
    (
        "lace gen --seed 7 --count 1000 made-up.records",
        "lace gen --seed 7 --count 500 --pair left --overlap 0.5 left.records",
        "lace gen --seed 7 --count 1000 --sealed 0 --store .",
    ),
    _arguments,
    _run,
)
