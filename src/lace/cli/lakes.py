"""Options of verbs that read a lake as they read a store."""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.grammar import parse_count


def add_lake(parser: ArgumentParser) -> None:
    """Add the options that name a lake in place of a store."""
    group = parser.add_argument_group("a lake in place of a store")
    group.add_argument("--lake", metavar="PATH", help="read the records of this lake")
    group.add_argument(
        "--at", metavar="VERSION", type=parse_count, help="as it was (else: the newest version)"
    )
