"""lace lake fold"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.lakes import add_inbox, add_its_lake, add_spark, fold, open_its_lake, spark_if_asked, told_fold


def _arguments(parser: ArgumentParser) -> None:
    add_its_lake(parser)
    add_inbox(parser)
    add_spark(
        parser, "work on Spark there, for a lake and an inbox that all machines see (else: in this process)"
    )


def _run(call: Call) -> int:
    from lace.pipeline import LakePeer
    from lace.porcelain import JoinedLake

    out = call.out
    with JoinedLake(LakePeer(open_its_lake(call), call.args.inbox)) as lake:
        out.kept = "what was not folded waits in the inbox"
        done = fold(lake, spark_if_asked(call))
        version = lake.peer.snapshot.version
    if done is None:
        stored = known = refused = 0
        line = "nothing waits in the inbox"
    else:
        stored, known, refused = done.stored, done.known, done.refused
        line = told_fold(done)
    told = {"stored": stored, "known": known, "refused": refused, "version": version}
    out.result(f"{line}; version {version}", told)
    return 0


COMMAND = Command(
    "fold",
    "put what arrived in live exchanges into the tables of a lake",
    "`lace sync`, `follow` and `serve` with --lake do it when they end; this is for one that was killed. "
    "It is an ingest of the inbox: everything is checked, nothing comes twice, and whatever stops it, "
    "records are in the inbox, in the tables, or in both until it is run again.",
    ("lace lake init waters", "lace lake fold --lake waters"),
    _arguments,
    _run,
)
