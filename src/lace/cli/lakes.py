"""Options of verbs that work on lakes."""

from __future__ import annotations

from argparse import ArgumentParser, _ArgumentGroup
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call
from lace.cli.grammar import Usage, parse_count, parse_path
from lace.cli.output import Output, count
from lace.cli.progress import progress_bar

if TYPE_CHECKING:
    from logging import LogRecord

    from lace.pipeline import IngestReport, Lake, LakeFacts, Session, SparkWork
    from lace.porcelain import JoinedLake, Lace


def add_lake(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the options that name a lake in place of a store."""
    group = parser.add_argument_group("a lake in place of a store")
    group.add_argument("--lake", metavar="PATH", type=parse_path, help="read the records of this lake")
    group.add_argument(
        "--at", metavar="VERSION", type=parse_count, help="as it was (else: the newest version)"
    )
    return group


def add_lake_of_rules(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the options of verbs that run rules on Spark where a lake is named."""
    group = add_lake(parser)
    group.add_argument(
        "--strategy", choices=("auto", "local", "parts", "loop"), default="auto",
        help="how Spark evaluates: in one task, in parts, in rounds over the cluster (else: it chooses)",
    )  # fmt: skip
    add_spark(group)
    return group


def add_lake_of_policies(parser: ArgumentParser) -> None:
    """Add the options of verbs that try policies, on Spark where a large lake is named."""
    group = add_lake(parser)
    add_spark(group, "where Spark runs (else: in this process for few facts, on all cores of it for many)")


def add_lake_peer(parser: ArgumentParser) -> None:
    """Add the options that let a lake take part in an exchange in place of a store."""
    group = parser.add_argument_group("a lake in place of a store")
    group.add_argument("--lake", metavar="PATH", type=parse_path, help="exchange the records of this lake")
    add_inbox(group)
    group.add_argument(
        "--max-resident", metavar="FACTS", type=parse_count,
        help="so many facts of the lake may be held in memory (32000000); a larger lake is refused at once",
    )  # fmt: skip


def add_send_only(parser: ArgumentParser) -> None:
    """Add the option that leaves the store as it is."""
    parser.add_argument(
        "--send-only", metavar="HISTORY", type=parse_path,
        help="only read the store: ask for nothing, and note what leaves in this file",
    )  # fmt: skip


def add_inbox(
    parser: ArgumentParser | _ArgumentGroup,
    text: str = "a folder of this machine in which what arrives waits, for a lake that is not on its disks",
) -> None:
    """Add the option that says where what arrives for a lake waits, and where its exchanges are noted."""
    parser.add_argument("--inbox", metavar="FOLDER", type=parse_path, help=text)


def add_its_lake(parser: ArgumentParser) -> None:
    """Add the option that names the lake of a verb that needs one."""
    parser.add_argument(
        "--lake", metavar="PATH", type=parse_path, required=True, help="the lake: a folder, or a URL of HDFS"
    )


def add_spark(
    parser: ArgumentParser | _ArgumentGroup,
    text: str = "where Spark runs (else: on the cores of this machine)",
) -> None:
    """Add the option that says where Spark runs."""
    parser.add_argument(
        "--master", metavar="URL", help=f"{text}: local[4], spark://…, yarn, k8s://…, or sc://… for Connect"
    )


def open_its_lake(call: Call) -> Lake:
    """Open the lake that --lake names."""
    from lace.pipeline import open_lake

    return open_lake(call.args.lake)


def joins_lake(call: Call) -> bool:
    """Tell whether a lake takes part in an exchange; refuse options of a lake where none is named."""
    args = call.args
    if getattr(args, "lake", None) is None:
        for option in ("inbox", "max_resident"):
            if getattr(args, option, None) is not None:
                reason = f"--{option.replace('_', '-')} is about a lake: give --lake too"
                raise Usage(reason=reason, command=args.parser.prog)
        return False
    call.refuse_both()
    return True


def open_joined(call: Call) -> Lace:
    """Open the store of an exchange, or the lake that takes its place, with its facts in memory."""
    if not joins_lake(call):
        return call.open_for_exchanges()
    if call.args.send_only is not None:
        reason = "--send-only is about a store; a lake keeps what comes in its inbox"
        raise Usage(reason=reason, command=call.args.parser.prog)
    from lace.cli.reports import note_reports
    from lace.porcelain import JoinedLake

    note_reports(call.out)
    args = call.args
    lake = JoinedLake.join(args.lake, inbox=args.inbox, max_resident=args.max_resident)
    try:
        with progress_bar("loading the facts of the lake", "records") as update:
            update(0, None)
            lake.load()
    except BaseException:
        lake.close()
        raise
    return lake


def beside_joined(call: Call, name: str) -> Path:
    """Return where a file of this name lies beside the store, in the lake, or beside its inbox."""
    from lace.porcelain import store_file

    if joins_lake(call):
        return Path(getattr(call.args, "inbox", None) or call.args.lake, name)
    return store_file(call.world.find_lace(call.args.store)).with_name(name)


def fold_joined(call: Call, lace: Lace) -> None:
    """Put what arrived in a lake into its tables, at the end of an exchange, and say so on stderr."""
    from lace.porcelain import JoinedLake

    if isinstance(lace, JoinedLake):
        call.out.kept = "what came waits in the inbox of the lake; `lace lake fold` puts it into the tables"
        done = fold(lace)
        if done is not None:
            call.out.note(f"{told_fold(done)}; version {done.version}")


def fold(lake: JoinedLake, session: Session | None = None) -> IngestReport | None:
    """Put what arrived in a lake into its tables."""
    with progress_bar("folding what arrived into the tables", "records") as update:
        update(0, None)
        return lake.fold(session)


def told_fold(done: IngestReport) -> str:
    """Say what came of a fold."""
    line = f"folded {count(done.stored, 'record')} into the tables"
    if done.known:
        line += f", {done.known:,} were there already"
    if done.refused:
        line += f", {done.refused:,} refused because they were forgotten here"
    return line


def count_inbox(lake: Lake, out: Output, inbox: str | None = None) -> int:
    """Return how many records wait in the inbox of a lake, and say so on stderr."""
    from lace.pipeline import count_waiting

    waiting = count_waiting(lake, inbox)
    if waiting and not out.as_json:
        out.note(f"{count(waiting, 'record')} in the inbox; `lace lake fold` puts them into the tables")
    return waiting


def start_spark(call: Call) -> Session:
    """Start Spark where --master says."""
    from lace.pipeline import ship_code, start_session

    hush_bridge()
    master = call.args.master
    remote = master is not None and master.startswith("sc://")
    session = start_session(remote=master) if remote else start_session(master)
    ship_code(session)
    return session


def hush_bridge() -> None:
    """Keep the bridge to Java from logging tracebacks on Ctrl-C: it raises what went wrong as well."""
    import logging

    # A filter is asked about what is logged with its own logger only.
    for name in (None, "py4j", "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_not_of_bridge)


def _not_of_bridge(logged: LogRecord) -> bool:
    return "py4j" not in Path(logged.pathname).parts


def spark_if_asked(call: Call) -> Session | None:
    """Start Spark where --master says so; the work is done in this process where it says nothing."""
    return None if call.args.master is None else start_spark(call)


@contextmanager
def evaluating(call: Call) -> Iterator[None]:
    """Show how far Spark is while rules run over a lake."""
    if not call.on_lake():
        yield
        return
    from lace.pipeline import running_session, watch

    with progress_bar("evaluating", "tasks") as update:

        def moved(work: SparkWork) -> None:
            update(work.tasks_done, work.tasks)

        with watch(running_session(), moved):
            yield


def lake_facts(call: Call) -> LakeFacts:
    """Start Spark over the facts of the lake that --lake names."""
    from lace.pipeline import LakeFacts

    snapshot = open_its_lake(call).snapshot(call.args.at)
    return LakeFacts(snapshot, start_spark(call), strategy=call.args.strategy)
