"""Options of verbs that work on lakes."""

from __future__ import annotations

from argparse import ArgumentParser, _ArgumentGroup
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lace.cli.command import Call
from lace.cli.grammar import parse_count
from lace.cli.progress import progress_bar

if TYPE_CHECKING:
    from lace.pipeline import Lake, LakeFacts, Session, SparkWork


def add_lake(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the options that name a lake in place of a store."""
    group = parser.add_argument_group("a lake in place of a store")
    group.add_argument("--lake", metavar="PATH", help="read the records of this lake")
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


def add_its_lake(parser: ArgumentParser) -> None:
    """Add the option that names the lake of a verb that needs one."""
    parser.add_argument("--lake", metavar="PATH", required=True, help="the lake: a folder, or a URL of HDFS")


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


def start_spark(call: Call) -> Session:
    """Start Spark where --master says."""
    from lace.pipeline import ship_code, start_session

    master = call.args.master
    remote = master is not None and master.startswith("sc://")
    session = start_session(remote=master) if remote else start_session(master)
    ship_code(session)
    return session


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
