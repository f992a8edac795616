"""Two sides of an exchange over pretend stores: what they say is counted, and the policy is a function.

    equal     both stores hold the same
    differ    they differ in so many records, half on each side
    missing   one of the two is empty

Both sides prove who they are, so that advertisements name verifiers and are as long as in earnest.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, cast

from lace.drive import Host, Item, Side
from lace.interlace import (
    BlockReceived,
    Claim,
    Cursor,
    Dice,
    Evaluated,
    ExchangeLimits,
    InterlaceResult,
    Moment,
    NeedEvaluation,
    OwnAdvertisements,
    PlanAgreed,
    Prepared,
    Purpose,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    Schema,
    SendRecords,
    Settings,
    StoreFailed,
    block_size,
)
from lace.policy import GrowingSet, GrownSet, read_module
from lace.record import Record, make_blob
from lace.signing import Secret
from lace.text import Tai, digest, write_record_id

EVERYTHING: Final = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."
CLAIMS: Final = (
    ("App", "0", "ding"),
    ("Group", "0", "town/hall"),
    ("Name", "0", f"links/{'0123456789ab' * 4}"),
    ("Type", "0", "P"),
)
"""With these an advertisement takes 714 bytes; without any it takes 114."""
NOW: Final = Moment(Tai("1640995200:000000000"), 0.0)
MODES: Final = {"standard": None, "one root": 0, "64 roots": 1}


@dataclass(frozen=True)
class Decision:
    """Everything may be sent, and what is missing may be asked for."""

    may_send: GrownSet[str]
    may_request: AbstractSet[str]
    claims: tuple[Claim, ...]

    @property
    def have(self) -> GrownSet[str]:
        """What is there."""
        return self.may_send

    def fields(self, records: Collection[str], schema: Schema) -> dict[str, tuple[Claim, ...]]:
        """Return the same few fields for every record."""
        return dict.fromkeys(records, self.claims)


class Shelf:
    """A store that knows ids, and records only where they are to be sent."""

    def __init__(self, ids: Iterable[str], records: dict[str, Record], claims: tuple[Claim, ...]) -> None:
        self._ids = GrowingSet(ids)
        self.records = records
        self._claims = claims
        self._arrived: list[Record] = []

    def put(self, record: Record) -> None:
        """Store one more."""
        self.records[record.id] = record
        self._ids.add([record.id])

    @property
    def ids(self) -> GrownSet[str]:
        """What is there now."""
        return self._ids.version()

    def prepare(self, agreed: PlanAgreed) -> Prepared:
        """Remember nothing."""
        return Prepared()

    def remember(self, cursor: Cursor | None) -> None:
        """Remember nothing."""

    def share_hashed(self, own: OwnAdvertisements | None) -> None:
        """Share it with nobody, as a host that is alone."""
        if own is not None:
            own.hashed()

    def keep_hashed(self, own: OwnAdvertisements | None) -> None:
        """Keep nothing."""

    def evaluate(self, need: NeedEvaluation) -> Evaluated:
        """Decide at once."""
        wanted: AbstractSet[str] = frozenset()
        if need.purpose is Purpose.REQUEST:
            wanted = need.advertised.claims.keys()
        return Evaluated(Decision(self.ids, wanted, self._claims))

    def arrive(self, record: Record) -> None:
        """Take a record."""
        self._arrived.append(record)

    def arrive_all(self, records: Sequence[Record]) -> None:
        """Take some records."""
        self._arrived += records

    @property
    def waiting(self) -> int:
        """How many are not stored."""
        return len(self._arrived)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes those have: nobody minds here."""
        return 0

    @property
    def storing(self) -> bool:
        """Whether a commit is under way: nothing goes on beside anything here."""
        return False

    @property
    def untold(self) -> bool:
        """Whether nobody has asked the outcome of a commit."""
        return False

    def commit(self) -> RecordsStored | StoreFailed | None:
        """Store them."""
        if not self._arrived:
            return None
        arrived, self._arrived = self._arrived, []
        self.records.update((record.id, record) for record in arrived)
        self._ids.add([record.id for record in arrived])
        return RecordsStored(tuple(record.id for record in arrived))

    def begin_commit(self) -> RecordsStored | StoreFailed | None:
        """Store them: nobody waits for a disk here."""
        return self.commit()

    def load(self, wanted: SendRecords) -> Generator[list[bytes], None, RecordsSent | StoreFailed]:
        """Yield the records one by one, within their limit."""
        sent: list[tuple[str, int]] = []
        total = 0
        for record_id in wanted.records:
            record = self.records[record_id]
            if total + record.size > wanted.within:
                return RecordsSent(tuple(sent), over_limit=True)
            yield [record.raw]
            total += record.size
            sent.append((record_id, record.size))
        return RecordsSent(tuple(sent))


@dataclass
class Exchange:
    """Two sides that pass each other values, and how much that would have been as text."""

    sides: tuple[Side, Side]
    shelves: tuple[Shelf, Shelf]
    sent: list[int]
    """Bytes of the loops, by who sent them: without setup, hello and the records themselves."""

    def flow(self) -> None:
        """Pass on until nothing moves."""
        moved = True
        while moved:
            moved = False
            for index, side in enumerate(self.sides):
                other = self.sides[1 - index]
                while other.result is None and not other.machine.busy and side.outbox:
                    item = side.outbox.popleft()
                    self._count(index, item)
                    other.feed(item)
                    moved = True

    def _count(self, index: int, item: Item) -> None:
        if isinstance(item, BlockReceived):
            if not any(fact[0].startswith(("Hello", "ExchangeOperand")) for fact in item.facts[:1]):
                self.sent[index] += block_size(item.facts) + 1
        elif isinstance(item, RecordsEnded):
            self.sent[index] += 1

    def outcome(self, index: int) -> InterlaceResult:
        """Return how the exchange ended for a side, or its last round."""
        side = self.sides[index]
        return side.result or side.fixed_points[-1]


def make_shelves(
    size: int, differing: int, claims: tuple[Claim, ...] = (), *, missing: bool = False
) -> tuple[Shelf, Shelf]:
    """Make two stores of this size that differ in so many records, or of which one is empty."""
    shared: frozenset[str] = frozenset(
        [] if missing else [write_record_id("B", digest(b"%d" % number)) for number in range(size)]
    )
    own: tuple[dict[str, Record], dict[str, Record]] = ({}, {})
    for number in range(size if missing else differing):
        record = make_blob(b"only here %d" % number)
        own[0 if missing else number % 2][record.id] = record
    zero, one = (Shelf(shared.union(each), each, claims) for each in own)
    return zero, one


def join(
    shelves: tuple[Shelf | Host, Shelf | Host],
    mode: str,
    claims: tuple[Claim, ...] = (),
    *,
    stays_open: bool = True,
    limits: ExchangeLimits | None = None,
) -> Exchange:
    """Join two stores."""
    zero, one = (
        Side(
            Settings(
                index=index,
                module=read_module(EVERYTHING),
                dice=Dice(digest(b"%d" % index)),
                secret=Secret(digest(b"secret %d" % index)),
                stays_open=stays_open,
                limits=limits or ExchangeLimits(),
                partition_start=MODES[mode],
                more_fields=frozenset(claim[0] for claim in claims),
            ),
            cast(Host, shelves[index]),  # a shelf has its face
            lambda: NOW,
        )
        for index in (0, 1)
    )
    return Exchange((zero, one), cast(tuple[Shelf, Shelf], shelves), [0, 0])
