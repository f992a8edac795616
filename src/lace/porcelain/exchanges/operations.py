"""Get, list and put with a lace elsewhere: ordinary exchanges, narrowed to what is asked for (050, Operation
wrappers).

Rules of this file:
1. What is fetched is stored here first, validated like anything that comes; what is shown is our own.
2. Nothing else moves: the operation is one more conjunct of our operand.
3. Without a policy, what is fetched is wanted and nothing is shown to the peer; what is delivered is shown to
   it and nothing is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

from lace.drive import Place, StoreReport, report_store, select_place, select_records
from lace.errors import InputError
from lace.facts import write_constant
from lace.interlace import InterlaceResult
from lace.policy import Module
from lace.porcelain.arguments import WrongArgument
from lace.porcelain.exchanges.interlacing import Asked, check_asked, open_interlacing, run_sync
from lace.porcelain.policies.file import SELECT, PolicyFile
from lace.porcelain.policies.parse import GivenPolicy, given_policy, parse_policy
from lace.porcelain.reference import Coordinate, ShortId, parse_reference
from lace.text import RecordId

if TYPE_CHECKING:
    from lace.porcelain.exchanges.exchange import Exchanges

SELECT_ALL: Final = """\
[select]
SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S).
"""
RULES: Final = 240
"""How many rules an operand may have, with some room: 030 allows 256, and composing adds a few."""


class NotInFull(InputError):
    """The beginning of an id, where the record is elsewhere."""

    code = "reference/not-in-full"
    text = "{text} is the beginning of an id: to fetch a record, give the id in full or //group//app//name"


def select_reference(reference: str) -> Module:
    """Return the selector of what text names: one id in full, or whatever lies at a coordinate."""
    parsed = parse_reference(reference)
    if isinstance(parsed, Coordinate):
        return select_place(Place(parsed.group, parsed.app, parsed.name))
    if isinstance(parsed, ShortId):
        raise NotInFull(text=reference)
    return select_records([parsed])


def fetch(
    exchanges: Exchanges,
    address: str,
    wanted: Module,
    policy: GivenPolicy | None = None,
    **asked: Unpack[Asked],
) -> InterlaceResult:
    """Get what a selector selects from a lace elsewhere, as far as both policies allow."""
    check_asked(asked, but=("operation",))
    asked["operation"] = wanted
    chosen = parse_policy(SELECT_ALL, "no policy") if policy is None else policy
    return run_sync(open_interlacing(exchanges, address, chosen, **asked))


class Delivery(NamedTuple):
    """What became of records that were to go somewhere."""

    report: StoreReport
    result: InterlaceResult
    """Of the last exchange, which may have been one of several."""


def deliver(
    exchanges: Exchanges,
    address: str,
    records: Iterable[RecordId],
    policy: GivenPolicy | None = None,
    **asked: Unpack[Asked],
) -> Delivery:
    """Bring records to a lace elsewhere, a few hundred in each exchange; stop where one does not converge."""
    check_asked(asked, but=("operation",))
    wanted = list(dict.fromkeys(records))
    if not wanted:
        raise WrongArgument(name="records", wanted="what is to be delivered, one at least", found="none")
    ours = None if policy is None else given_policy(policy)
    used = 0 if ours is None else sum(len(section.rules) for section in ours.of(SELECT))
    sent: list[str] = []
    held: list[str] = []
    left: list[str] = []
    result = None
    for few in _some(wanted, max(1, RULES - used)):
        asked["operation"] = select_records(few)
        chosen = ours or _showing(few)
        result = run_sync(open_interlacing(exchanges, address, chosen, **asked))
        report = report_store(few, result)
        sent += report.sent
        held += report.held_back
        left += report.not_wanted
        if not result.complete:
            break
    assert result is not None
    told = {*sent, *held, *left}
    left += [record for record in wanted if record not in told]
    return Delivery(StoreReport(tuple(sent), tuple(held), tuple(left), result.complete), result)


def _some(records: Sequence[RecordId], most: int) -> Iterator[Sequence[RecordId]]:
    for start in range(0, len(records), most):
        yield records[start : start + most]


def _showing(records: Iterable[RecordId]) -> PolicyFile:
    """Return the policy that shows exactly these records to anyone."""
    chosen = "".join(f"Chosen({write_constant(record)}) :- true.\n" for record in records)
    rule = "AllowQueryRecord(V,P) :- _Viewer(V), Chosen(P).\n"
    return parse_policy(f"{SELECT_ALL}\n[expose to anyone]\n{rule}{chosen}", "no policy")
