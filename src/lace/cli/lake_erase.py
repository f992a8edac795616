"""lace lake erase, allow"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.lakes import add_inbox, add_its_lake, add_spark, count_inbox, open_its_lake, spark_if_asked
from lace.cli.output import count
from lace.errors import LaceError


def _erase_arguments(parser: ArgumentParser) -> None:
    _records(parser, "ids, beginnings of ids, or //group//app//name for the newest")
    parser.add_argument("--forget", action="store_true", help="and let ingest refuse them from now on")
    add_inbox(parser)
    add_spark(parser, "work on Spark there (else: in this process)")


def _allow_arguments(parser: ArgumentParser) -> None:
    _records(parser, "ids of forgotten records, or their beginnings")


def _records(parser: ArgumentParser, text: str) -> None:
    parser.add_argument("records", metavar="RECORD", nargs="+", help=text)
    add_its_lake(parser)


def _erase(call: Call) -> int:
    from lace.pipeline import LakeStore, erase
    from lace.porcelain import Lace

    args = call.args
    lake = open_its_lake(call)
    waiting: int | None = None
    try:
        # Before anything is erased: what is folded meanwhile is in the tables then.
        waiting = count_inbox(lake, call.out, args.inbox)
    except LaceError as error:  # whatever its state, it keeps nobody from erasing
        call.out.note(f"what waits in the inbox cannot be told: {error}")
    with Lace(LakeStore(lake)) as lace:
        ids = [lace.find(each) for each in args.records]
    done = erase(lake, ids, forget=args.forget, session=spark_if_asked(call))
    if done.ids:
        line = f"took {count(len(done.ids), 'record')} out; version {done.snapshot.version}."
        line += " Older versions hold them until `lace lake vacuum` removes those: in a week, or now with"
        line += " --older-than 0s"
    else:
        line = "no such record is in the tables"
        line += " and it is refused from now on" if args.forget else ", and nothing was changed"
        line += f"; version {done.snapshot.version}"
    call.out.result(
        line,
        {
            "erased": list(done.ids), "version": done.snapshot.version, "forgotten": bool(args.forget),
            "waiting": waiting,
        },
    )  # fmt: skip
    return 0 if done.ids or args.forget else 1


def _allow(call: Call) -> int:
    from lace.pipeline import LakeStore, allow
    from lace.porcelain import Lace

    lake = open_its_lake(call)
    with Lace(LakeStore(lake)) as lace:
        ids = [lace.find_forgotten(each) for each in call.args.records]
    done = allow(lake, ids)
    call.out.result(
        f"{count(len(done.ids), 'record')} may come back: ingest their sources again",
        {"allowed": list(done.ids), "version": done.snapshot.version},
    )
    return 0 if done.ids else 1


ERASE = Command(
    "erase",
    "take records out of a lake, and their facts",
    "They come back when a source that holds them is ingested again, unless they are forgotten too. "
    "What waits in the inbox is not erased: `lace lake fold` puts it into the tables first. "
    "The exit code is 1 where none of them was there.",
    (
        "lace lake init waters",
        f"lace lake erase --lake waters --forget P.{'0' * 43}.H3",
    ),
    _erase_arguments,
    _erase,
)
ALLOW = Command(
    "allow",
    "let forgotten records come back into a lake",
    "The exit code is 1 where none of them was forgotten.",
    (
        "lace lake init waters",
        f"lace lake erase --lake waters --forget P.{'0' * 43}.H3",
        f"lace lake allow --lake waters P.{'0' * 43}.H3",
    ),
    _allow_arguments,
    _allow,
)
