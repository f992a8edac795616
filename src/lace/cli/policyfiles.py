"""What the verbs about policies share: whose policies, which peer, over which facts."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, nullcontext
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple

from lace.cli.command import Call
from lace.cli.grammar import Usage
from lace.cli.lakes import beside_joined, evaluating, joins_lake, open_its_lake, start_spark
from lace.cli.output import Output
from lace.cli.rulefiles import telling
from lace.errors import InputError

if TYPE_CHECKING:
    from lace.pipeline import Session
    from lace.porcelain import Lace, PolicyFile, Rehearsal
    from lace.text import Verifier

ANONYMOUS = "anonymous"
DEFAULT_FILE = "exchange.policy"
BESIDE = "beside the store file, in .lace"
"""Where files lie that are found without being named; of a lake, in the lake or its inbox."""
NO_POLICY = """\
[select]
SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S).
"""
"""Where there is no policy: everything is wanted, and nothing is exposed to anybody."""


class NotAPeer(InputError):
    """Text that names no peer."""

    code = "cli/peer"
    text = "{given!r} is no peer: write a verifier V.….H3, the name of one of your keys, or anonymous"


def add_peer(parser: ArgumentParser, default: str | None = None) -> None:
    """Add the option that says who the other side is; both of its names are those of all such verbs."""
    more = f" ({default})" if default else ""
    parser.add_argument(
        "--peer", "--as", dest="peer", metavar="PEER", required=default is None, default=default,
        help=f"whom the peer proves to be: a verifier, the name of one of your keys, or anonymous{more}",
    )  # fmt: skip


def add_peer_policy(parser: ArgumentParser) -> None:
    """Add the option that says what the other side wants."""
    parser.add_argument(
        "--peer-policy", metavar="FILE", help="the policy of the peer (else: one that wants everything)"
    )


def add_policies(parser: ArgumentParser) -> None:
    """Add the options that say how an exchange would be."""
    parser.add_argument(
        "--policy", metavar="FILE",
        help=f"our policy (else {DEFAULT_FILE} {BESIDE}, else none: nothing is exposed)",
    )  # fmt: skip
    add_peer_policy(parser)
    parser.add_argument("--here", metavar="KEY", help="whom we prove to be (else nobody)")
    parser.add_argument("--encrypted", action="store_true", help="over a transport that is encrypted")
    parser.add_argument(
        "--runtime", metavar="FILE", action="append", default=[],
        help="runtime facts of a file, one a line, such as Transport('…')",
    )  # fmt: skip
    parser.add_argument(
        "--advertised", metavar="FILE", action="append", default=[],
        help="what the peer advertises: facts of a file, one a line",
    )  # fmt: skip


def load_policy(call: Call, path: str) -> PolicyFile:
    """Read a policy that must check; what is wrong with it goes to stderr."""
    from lace.porcelain import read_policy

    with telling(call.out):
        return read_policy(path)


def chosen_policy(call: Call) -> PolicyFile:
    """Return our policy: the one that was named, or the one beside the store, or none at all."""
    from lace.porcelain import parse_policy

    if call.args.policy is not None:
        return load_policy(call, call.args.policy)
    beside = beside_joined(call, DEFAULT_FILE)
    if beside.exists():
        return load_policy(call, str(beside))
    call.out.note(f"no --policy and no {beside}: without one, nothing is exposed")
    return parse_policy(NO_POLICY, "no policy")


def chosen_peer_policy(call: Call) -> PolicyFile | None:
    """Return the peer's policy, where one was named."""
    path = call.args.peer_policy
    return None if path is None else load_policy(call, path)


def chosen_peer(call: Call, given: str | None) -> Verifier | None:
    """Return whom a side proves to be; None where it proves nothing."""
    from lace.errors import TextError
    from lace.text import parse_verifier

    if given in (None, ANONYMOUS):
        return None
    assert given is not None
    try:
        return parse_verifier(given)
    except TextError:
        found = [key.verifier for key in call.keyring().list() if key.name == given]
        if not found or found[0] is None:
            raise NotAPeer(given=given[:80]) from None
        return found[0]


class Stage(NamedTuple):
    """A store that is open, and the exchange over it that was asked about."""

    lace: Lace
    rehearsal: Rehearsal

    def working(self, call: Call) -> AbstractContextManager[None]:
        """Show how far Spark is, where it decides."""
        from lace.porcelain import LakeRehearsal

        return evaluating(call) if isinstance(self.rehearsal, LakeRehearsal) else nullcontext()


@contextmanager
def open_rehearsal(call: Call) -> Iterator[Stage]:
    """Lend the exchange that the options describe; `--peer-store` is the lace or lake of the peer."""
    from lace.porcelain import read_facts

    args = call.args
    ours, theirs = chosen_policy(call), chosen_peer_policy(call)
    peer, here = chosen_peer(call, args.peer), chosen_peer(call, args.here)
    with telling(call.out):
        runtime = [fact for path in args.runtime for fact in read_facts(path)]
        claims = [fact for path in args.advertised for fact in read_facts(path)]
    elsewhere = getattr(args, "peer_store", None)
    with (
        nullcontext() if elsewhere is None else _open_elsewhere(call, elsewhere) as there,
        call.open(read_only=True) as lace,
    ):
        rehearsal = lace.rehearse(
            ours,
            peer=peer,
            here=here,
            theirs=theirs,
            there=there,
            advertised=claims if args.advertised else None,
            encrypted=args.encrypted,
            runtime=runtime,
            session=spark_if_large(call),
        )
        yield Stage(lace, rehearsal)


def _open_elsewhere(call: Call, place: str) -> Lace:
    """Open the lace of a peer for reading, or its lake, where that is small enough."""
    from lace.porcelain import Lace, LakeInstead, fits_in_memory

    try:
        return Lace.open(place, read_only=True)
    except LakeInstead:
        from lace.pipeline import open_lake

        if fits_in_memory(open_lake(place).snapshot()):
            return Lace.open_lake(place)
    reason = (
        f"the lake {place} has more facts than --peer-store takes; `lace lake converge` with --dry-run and"
        " both policies says what would move, both ways"
    )
    raise Usage(reason=reason, command=call.args.parser.prog)


def spark_if_large(call: Call) -> Session | None:
    """Start Spark where a lake is named that is large, or where it was asked for."""
    from lace.porcelain import fits_in_memory

    if joins_lake(call) and (
        call.args.master is not None or not fits_in_memory(open_its_lake(call).snapshot(call.args.at))
    ):
        return start_spark(call)
    return None


def counted(records: AbstractSet[str], limit: int | None) -> dict[str, Any]:
    """Return how many records there are and the first of them by their ids, as a program reads it."""
    if limit is None:
        shown = sorted(records)
    else:
        # What is large knows its first records itself.
        first = getattr(records, "first", None)
        shown = nsmallest(limit, records) if first is None else first(limit)
    return {"count": len(records), "records": shown}


def write_records_named(out: Output, lace: Lace, chosen: dict[str, Any]) -> None:
    """Write the first of some records with where they belong, and how many more there are."""
    for record in chosen["records"]:
        out.line(f"  {record}  {place_of(lace, record)}".rstrip())
    if chosen["count"] > len(chosen["records"]):
        out.line(f"  … and {chosen['count'] - len(chosen['records']):,} more")


def place_of(lace: Lace, record: str) -> str:
    """Return the coordinate of a record, where it is here and has one."""
    from lace.errors import LaceError

    try:
        fields = {fact[2]: fact[4] for fact in lace.facts(record) if fact[0] == "Field"}
    except LaceError:
        return ""
    parts = [fields.get(name) for name in ("Group", "App", "Name")]
    return "" if None in parts else "//" + "//".join(map(str, parts))
