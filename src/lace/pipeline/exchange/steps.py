"""The steps of one loop: what each side advertises, misses, asks for, sends and takes (050, Transitions).

Rules of this file:
1. The gates and limits are those of `lace.interlace`; what is done in tasks here gives the sets that a live
   machine would have.
2. The driver sees partitions, files and counts; of rows a few ranges at a time, where there are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from lace.drive import RecordRejected, RecordsAsked, RecordsLeaving, RecordsLeft, tell_arrivals
from lace.interlace import Exchange
from lace.pipeline.exchange.agree import Agreement, LakeParty
from lace.pipeline.exchange.claimwise import is_claimwise
from lace.pipeline.exchange.compare import (
    NEAR_ROWS,
    Advertiser,
    CompareJob,
    Missing,
    claim,
    differing,
    look,
    looks,
    rows_to_read,
)
from lace.pipeline.exchange.decide import Decider, Given, Said
from lace.pipeline.exchange.keep import Kept, keep_summary
from lace.pipeline.exchange.requests import (
    HeldJob,
    PickJob,
    ServeJob,
    Weighing,
    find_held,
    find_room,
    fit,
    most_places,
    pick,
    serve,
    settle,
    weigh,
)
from lace.pipeline.exchange.side import Arrived, LakeSide
from lace.pipeline.exchange.summary import BadSummary, Summary, token_of
from lace.pipeline.intake.asked import AskedSource, IdList, first_of
from lace.pipeline.intake.check import STAGED_FOLDER
from lace.pipeline.lake.faults import BadDataFile
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import DATA, DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.tables import RECORD_TABLES
from lace.policy import NOTHING_EXPOSED

DATA_OF_SUMMARIES: Final = f"{DATA}/advertisements/"
NONE: Final[frozenset[str]] = frozenset()
"""The schema without fields."""
STAYED_RECORDS: Final = 10_000
"""So many that were not sent are told of by their ids, of each side: a history notes no more."""


@dataclass
class Tally:
    """What one side did so far."""

    received: int = 0
    rejections: Counter[str] = field(default_factory=Counter)
    not_available: int = 0
    deferred: int = 0
    sent: int = 0
    held_back: int = 0
    bytes_received: int = 0
    bytes_sent: int = 0


class Peer:
    """One side at work."""

    def __init__(self, party: LakeParty, agreement: Agreement, side: LakeSide, decider: Decider) -> None:
        self.party = party
        self.exchange: Exchange = agreement.exchange
        self.subject = agreement.subject
        self.side = side
        self.decider = decider
        self.tally = Tally()
        self.pinned: Snapshot
        self.kept = Kept(Summary("", "", {}, ()))
        self.fingerprints: dict[str, bytes] = {}
        """Of the loop before."""
        self.said: Said | None = None
        """What the other side advertised in the loop before, where that matters."""
        self.heard: str | None = None
        self.job: CompareJob
        """How it was compared with the other side in this loop."""
        self.spent: dict[int, tuple[str, ...]] = {}
        """Asked for in vain, by range."""
        self.held_back: dict[str, None] = {}
        """What it did not send, where somebody watches."""
        self.not_available: dict[str, None] = {}
        """What it asked for and did not get, where somebody watches."""

    @property
    def runtime(self) -> Given:
        """What an evaluation reads beside records and advertisements."""
        return Given(self.exchange.agreed.runtime(self.party.settings), self.said)


class Sent(NamedTuple):
    """What one side sends in a loop."""

    lists: tuple[IdList, ...]
    held_back: tuple[IdList, ...]
    sizes: tuple[int, ...]
    """Of the records of each list, in bytes."""
    over_limit: bool
    snapshot: Snapshot

    @property
    def bytes(self) -> int:
        """All of them."""
        return sum(self.sizes)


class Steps:
    """What two sides do in a loop, and what they remember from one to the next."""

    def __init__(self, exchange: str, *, dry_run: bool, near_rows: int = NEAR_ROWS) -> None:
        self.peers: tuple[Peer, ...] = ()
        """The two sides, once they are open."""
        self._near_rows = near_rows
        self._id = exchange
        self._dry_run = dry_run
        self.staged = f"{STAGED_FOLDER}/{exchange}"
        """How the names of files between two stages begin."""
        self.ranges = 1
        self.notes: list[str] = []
        self.moved: dict[tuple[str, str], tuple[int, int]] = {}
        """Records and bytes that were sent, by group and app."""
        self.uncommitted: list[tuple[Lake, tuple[DataFile, ...]]] = []
        self._doubted: list[Peer] = []
        """Whose summary was made anew because it was damaged."""

    def advertise(self, peer: Peer, *, doubted: bool = False) -> bool:
        """Bring a side's summary up to date with the version it is pinned to."""
        if not doubted:
            peer.pinned = peer.side.latest()
        peer.kept = keep_summary(
            peer.side.lake,
            peer.pinned,
            peer.subject,
            peer.decider,
            peer.runtime,
            heard=peer.heard if peer.exchange.agreed.plan.select_have_uses_advertisements else None,
            note=self.notes.append,
            commit=not self._dry_run,
            doubted=doubted,
        )
        if peer.kept.uncommitted:
            self.uncommitted.append((peer.side.lake, peer.kept.uncommitted))
        before, peer.fingerprints = peer.fingerprints, peer.kept.summary.fingerprints()
        if peer.exchange.round.loops == 1 and not peer.fingerprints and peer.pinned.rows("records"):
            self.notes.append(self._says_nothing(peer))
        return before != peer.fingerprints

    def _says_nothing(self, peer: Peer) -> str:
        exposure, viewer = peer.party.exposure, peer.subject.viewer
        if not exposure.in_scope(viewer) and not exposure.is_trusted(viewer):
            return f"{peer.side.where} advertises nothing: {NOTHING_EXPOSED}"
        return f"{peer.side.where} advertises nothing: the two policies together select none of its records"

    def compare(self) -> list[list[Missing]]:
        """Find what each side advertises and the other has not got."""
        while True:
            try:
                return self._look()
            except (BadSummary, BadDataFile) as error:
                at = str(error.fields.get("path", DATA_OF_SUMMARIES))
                doubted = [peer for peer in self.peers if peer.side.lake.where == error.fields["where"]]
                if not at.startswith(DATA_OF_SUMMARIES) or not doubted or doubted[0] in self._doubted:
                    raise
                self.notes.append(f"{error}; it is made anew")
            self._doubted.append(doubted[0])
            self.advertise(doubted[0], doubted=True)

    def _look(self) -> list[list[Missing]]:
        left, right = (
            Advertiser(
                folder=peer.side.lake.folder,
                key=peer.kept.summary.key,
                source=peer.subject.source,
                schema=peer.subject.schema,
                advertised=peer.kept.summary.files,
                records=peer.pinned.of("records"),
                fields=peer.pinned.of("fields"),
                advertises_all=peer.kept.summary.records == peer.pinned.rows("records"),
            )
            for peer in self.peers
        )
        jobs = self._job(right, left, self.peers[0]), self._job(left, right, self.peers[1])
        every = [peer.kept.summary.partitions for peer in self.peers[::-1]]
        work = looks(jobs, every, [peer.spent for peer in self.peers])
        decider, read = self.peers[0].decider, rows_to_read(jobs, work, every)
        run = decider.run_near if read <= self._near_rows else decider.run
        came = run(partial(look, jobs), work, "the comparison")
        found = [[each for pair in came if (each := pair[side]) is not None] for side in (0, 1)]
        for at, peer in enumerate(self.peers):
            peer.spent = {each.at: (each.spent,) for each in found[at] if each.spent is not None}
            peer.job = jobs[at]
        return found

    def _job(self, sender: Advertiser, receiver: Advertiser, peer: Peer) -> CompareJob:
        plan = peer.exchange.agreed.plan
        theirs, ours = (each.kept.summary.partitions for each in (self._other(peer), peer))
        receiver.folder.make(STAGED_FOLDER)
        return CompareJob(
            sender,
            receiver,
            {prefix: theirs[prefix].fingerprint for prefix in differing(theirs, ours)},
            self.ranges,
            self.staged,
            whole=plan.select_have_uses_advertisements or not is_claimwise(plan, peer.party.restrictions),
        )

    def _hear(self, me: Peer, found: Sequence[Missing]) -> None:
        """Take note of what the other side says, as far as an evaluation needs it."""
        ids = [each.said for each in found if each.said is not None]
        claimed = (
            me.decider.run(partial(claim, me.job), ids, "the claims") if me.subject.schema != NONE else []
        )
        claims = [each for each in claimed if each is not None]
        me.said = Said(
            me.job.sender.source,
            me.side.lake.folder,
            tuple(each.path for each in ids),
            tuple(path for path, _ in claims),
            sum(map(len, ids)) + sum(rows for _, rows in claims),
        )

    def ask(self, peer: Peer, found: Sequence[Missing]) -> tuple[IdList, ...]:
        """Return what may be asked for of what is missing."""
        missing = {each.at: each.ids for each in found if each.ids is not None}
        heeds = peer.exchange.agreed.plan.select_have_uses_advertisements
        peer.said, peer.heard = None, token_of(self._other(peer).kept.summary, peer.job.sender.source)
        if missing or heeds:
            self._hear(peer, found)
        if not missing:
            return ()
        chosen = peer.decider.may_request(peer.pinned, peer.runtime)
        forgotten = peer.pinned.of("forgotten")
        job = PickJob(peer.side.lake.folder, self.staged, self.ranges, missing, forgotten)
        lists = peer.decider.spread(chosen, self.ranges, partial(pick, job), "the requests")
        return first_of(
            [each for each in lists if each is not None], peer.party.settings.local.request_records
        )

    def _other(self, peer: Peer) -> Peer:
        return self.peers[1 - peer.subject.side]

    def serve(self, peer: Peer, asked: tuple[IdList, ...]) -> Sent:
        """Return what a side sends of what it was asked for."""
        latest = peer.side.latest()
        version = peer.side.named(latest)
        peer.party.tell(RecordsAsked(sum(map(len, asked)), peer.exchange.round.loops, version))
        heeds = peer.exchange.agreed.plan.select_have_uses_advertisements
        lists = asked
        held_back: tuple[IdList, ...] = ()
        if heeds or _records(latest) != _records(peer.pinned):
            chosen = peer.decider.may_send(latest, peer.runtime)
            job = ServeJob(
                asked[0].folder,
                self.staged,
                {each.at: each for each in asked},
                peer.side.lake.folder,
                latest.of("records"),
            )
            answers = peer.decider.spread(chosen, self.ranges, partial(serve, job), "the answer")
            lists = tuple(each.sendable for each in answers if each.sendable is not None)
            held_back = tuple(each.held_back for each in answers if each.held_back is not None)
        local, limits = peer.party.settings.local, peer.exchange.agreed.terms.limits
        lists = first_of(lists, local.service_records)
        weighing = Weighing(peer.side.lake.folder, latest.of("records"))
        weights = peer.decider.run(partial(weigh, weighing), lists, "the weighing")
        within = limits.max_total_transferred_bytes - peer.tally.bytes_sent
        over_limit = False
        if sum(each.bytes for each in weights) >= min(within, local.service_bytes):
            counts = []
            for room, pauses in ((local.service_bytes, True), (within, False)):
                found = find_room(lists, weights, room, pauses=pauses)
                (more,) = (
                    peer.decider.run(partial(fit, weighing), [found.last], "the cut") if found.last else (0,)
                )
                counts.append(found.before + more)
            # As a live sender: it pauses before it looks whether the next record would be too much.
            over_limit = counts[1] < min(counts[0], sum(map(len, lists)))
            lists = first_of(lists, min(counts))
            weights = peer.decider.run(partial(weigh, weighing), lists, "the weighing")
        self.moved = most_places([self.moved, *(each.places for each in weights)])
        sent = Sent(lists, held_back, tuple(each.bytes for each in weights), over_limit, latest)
        peer.tally.sent += sum(map(len, lists))
        peer.tally.held_back += sum(map(len, held_back))
        peer.tally.bytes_sent += sent.bytes
        return sent

    def move(self, me: Peer, other: Peer, asked: tuple[IdList, ...], sent: Sent) -> Arrived:
        """Let a side take what it is sent, and note what became of it."""
        loop = me.exchange.round.loops
        source = AskedSource(
            name=f"exchange {self._id} with {other.side.where}",
            identity=f"exchange {self._id} {loop}",
            folder=other.side.lake.folder,
            files=sent.snapshot.of("records"),
            lists=sent.lists,
            size=sent.bytes,
        )
        arrived = Arrived()
        if sent.lists:
            # A list is a range of payloads: of all that leaves, this much at a time is in memory.
            if other.party.observe is not None:
                tick = other.exchange.agreed.ticks.current
                for part, each in enumerate(sent.lists):
                    other.party.tell(RecordsLeaving(_ids(each), loop, tick, part))
            arrived = me.side.receive(source, f"exchange-{self._id}/{loop}")
            if other.party.observe is not None:
                for part, (each, size) in enumerate(zip(sent.lists, sent.sizes, strict=True)):
                    other.party.tell(RecordsLeft(_ids(each), size, loop, part))
            self._tell_came(me, arrived, sent, loop)
        if other.party.observe is not None:
            _stay(other.held_back, sent.held_back)
        if me.party.observe is not None:
            _stay(me.not_available, sent.held_back)
        tally = me.tally
        tally.received += arrived.stored
        tally.rejections.update(arrived.reasons)
        tally.bytes_received += sent.bytes
        gone, came = sum(map(len, sent.held_back)), sum(map(len, sent.lists))
        tally.not_available += gone
        tally.deferred = sum(map(len, asked)) - came - gone
        vain = sent.held_back + (sent.lists if arrived.rejected else ())
        for each, path in zip(vain, me.decider.run(self._settle, vain, "the answer"), strict=True):
            me.spent[each.at] = (*me.spent.get(each.at, ()), path)
        return arrived

    def _tell_came(self, me: Peer, arrived: Arrived, sent: Sent, loop: int) -> None:
        """Tell whoever watches what is there now, of what came."""
        if me.party.observe is None:
            return
        for record, error in arrived.faults:
            me.party.tell(RecordRejected(record, error, loop))
        if arrived.records is not None:
            tell_arrivals(me.party.observe, arrived.records, loop)
            return
        lists = sent.lists
        if arrived.rejected:
            now = me.side.latest()
            job = HeldJob(me.side.lake.folder, now.of("records"), self.staged)
            found = me.decider.run(partial(find_held, job), lists, "what came")
            lists = tuple(each for each in found if each is not None)
        for each in lists:
            tell_arrivals(me.party.observe, _ids(each), loop)

    @property
    def _settle(self) -> Callable[[IdList], str]:
        return partial(settle, staged=self.staged)


def _ids(listed: IdList) -> tuple[str, ...]:
    return tuple(listed.read().to_pylist())


def _stay(stayed: dict[str, None], lists: Sequence[IdList]) -> None:
    """Remember what did not move, up to as many records as a history takes."""
    for each in first_of(lists, STAYED_RECORDS - len(stayed)):
        stayed.update(dict.fromkeys(_ids(each)))


def _records(snapshot: Snapshot) -> set[DataFile]:
    return {file for table in RECORD_TABLES for file in snapshot.of(table)}
