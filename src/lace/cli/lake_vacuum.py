"""lace lake vacuum"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_its_lake, open_its_lake
from lace.cli.output import count

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def parse_age(text: str) -> float:
    """Read a length of time; return seconds.

    >>> parse_age("12h"), parse_age("0s")
    (43200.0, 0.0)
    """
    digits, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise ArgumentTypeError(f"{text!r} is no age: write 30m, 12h or 7d")
    return int(digits) * _UNITS[unit]


def _arguments(parser: ArgumentParser) -> None:
    add_its_lake(parser)
    parser.add_argument(
        "--keep", metavar="N", type=parse_count, default=1, help="keep at least so many versions (1)"
    )
    parser.add_argument(
        "--older-than", metavar="AGE", type=parse_age, default=parse_age("7d"),
        help="keep versions that were the newest within this time (7d)",
    )  # fmt: skip
    parser.add_argument(
        "--grace", metavar="AGE", type=parse_age, default=parse_age("1d"),
        help="leave files alone that no version named and that are younger: their writer may be at work (1d)",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and leave it")


def _run(call: Call) -> int:
    from lace.pipeline import vacuum

    args = call.args
    done = vacuum(
        open_its_lake(call),
        keep=args.keep,
        older_than=args.older_than,
        grace=args.grace,
        dry_run=args.dry_run,
    )
    verb = "would remove" if args.dry_run else "removed"
    call.out.result(
        f"{verb} {count(len(done.versions), 'version')} and {count(done.files, 'file')}"
        f" of {count(done.bytes, 'byte')}; {count(len(done.kept), 'version')} can still be read",
        {
            "versions": list(done.versions), "files": done.files, "bytes": done.bytes,
            "kept": list(done.kept), "dry_run": args.dry_run,
        },
    )  # fmt: skip
    return 0


COMMAND = Command(
    "vacuum",
    "remove old versions of a lake, and files that no version names",
    "What was erased is gone from the disk once no version that is kept has it.",
    ("lace lake init waters", "lace lake vacuum --lake waters --keep 3 --older-than 30d --dry-run"),
    _arguments,
    _run,
)
