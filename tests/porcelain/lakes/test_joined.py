"""A lake as a live peer: a laptop meets it over a stream, and what arrives is folded into its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.algebra import EvaluationLimits
from lace.policy import OperandLimits
from lace.porcelain import ExchangeChoices, JoinedLake, Lace, Worth, run_sync
from lace.record import Record
from lace.text import RecordId
from tests.porcelain.talking import Answering, ids, interlacing, notes, stocked

pytest.importorskip("pyarrow", reason="the spark extra is not installed")

from pyarrow import fs

from lace.pipeline import (
    InboxTaken,
    LakePeer,
    LakeStore,
    NoInbox,
    TooManyResident,
    count_waiting,
    create_lake,
    erase,
    fsck,
    ingest,
    open_lake,
)
from lace.pipeline.lake.folder import MovingFolder
from tests.pipeline.lake.moving import Moving
from tests.pipeline.lakes import lake_of

OURS, THEIRS = notes("lake", 5), notes("laptop", 3)
HIDDEN = notes("hidden", 2, group="v")
ALL = {record.id for record in (*OURS, *THEIRS, *HIDDEN)}


@pytest.fixture
def waters(tmp_path: Path) -> Path:
    """A lake that a laptop has been in an exchange with; nothing is folded."""
    place = tmp_path / "waters"
    lake_of(place, OURS + HIDDEN)
    laptop = stocked(THEIRS)
    with JoinedLake.join(place) as lake:
        lake.load()
        answering = Answering(lake)
        result = run_sync(interlacing(laptop, answering))
        assert result.complete
        assert answering.results[0].complete
        assert ids(laptop.store) == ALL - {record.id for record in HIDDEN}
        assert ids(lake.store) == ALL
    return place


def test_why_an_erased_record_left_is_told_from_the_version_that_was_served(waters: Path) -> None:
    record = OURS[0].id
    erase(open_lake(waters), [record])
    with JoinedLake.join(waters) as lake:
        found = lake.why_sent(record)
        (sending,) = found.sendings
        assert not found.here
        assert sending.proof is not None
        assert sending.worth is Worth.AS_IT_WAS, sending.words


def in_tables(place: Path) -> set[RecordId]:
    return {record for _, record in LakeStore(open_lake(place)).ids()}


def test_what_arrives_waits_in_the_inbox_until_it_is_folded_once(waters: Path) -> None:
    came = {record.id for record in THEIRS}
    assert in_tables(waters) == ALL - came
    assert count_waiting(open_lake(waters)) == len(came)
    with JoinedLake.join(waters) as lake:
        assert count_waiting(open_lake(waters)) == len(came)  # while somebody has the inbox
        done = lake.fold()
        assert done is not None
        assert (done.stored, done.committed) == (len(came), True)
        assert lake.fold() is None
        # The lake goes on with the version that has them, and the next exchange moves nothing.
        result = run_sync(interlacing(stocked(OURS + THEIRS), Answering(lake)))
        assert (result.complete, result.sent_hashes, result.received_hashes) == (True, (), ())
    assert in_tables(waters) == ALL
    assert count_waiting(open_lake(waters)) == 0
    assert fsck(open_lake(waters)).is_sound


def test_a_lake_asks_too_and_remembers_with_whom(waters: Path) -> None:
    more = notes("more", 2)
    with JoinedLake.join(waters) as lake:
        result = run_sync(interlacing(lake, Answering(stocked(more))))
        assert set(result.received_hashes) == {record.id for record in more}
    with Lace.open_lake(waters) as read:
        assert [(entry.came, entry.left) for entry in read.history()] == [(2, 8), (3, 5)]


def test_what_was_forgotten_while_it_waited_is_not_folded(waters: Path) -> None:
    erase(open_lake(waters), [THEIRS[0].id], forget=True)
    with JoinedLake.join(waters) as lake:
        done = lake.fold()
        assert done is not None
        assert done.stored == 2
    assert in_tables(waters) == ALL - {THEIRS[0].id}
    assert count_waiting(open_lake(waters)) == 0


def test_what_a_lake_has_forgotten_is_not_asked_for(waters: Path) -> None:
    more = notes("more", 2)
    erase(open_lake(waters), [more[0].id], forget=True)
    with JoinedLake.join(waters) as lake:
        result = run_sync(interlacing(lake, Answering(stocked(more))))
        assert (result.received_hashes, result.rejected_hashes) == ((more[1].id,), ())
        assert result.bytes_received == more[1].size


def test_a_lake_goes_on_with_its_newest_version_between_two_exchanges(waters: Path) -> None:
    more = notes("more", 4)
    with JoinedLake.join(waters, max_resident=300) as lake:
        lake.load()
        ingest(open_lake(waters), [write_records(waters.parent / "more.records", more)])
        assert not lake.store.has(more[0].id)
        folded = lake.renew()
        assert folded is not None
        assert folded.stored == len(THEIRS)
        result = run_sync(interlacing(laptop := Lace(), Answering(lake)))
        assert len(result.received_hashes) == len(ids(laptop.store)) == 12
        ingest(open_lake(waters), [write_records(waters.parent / "many.records", notes("many", 40))])
        with pytest.raises(TooManyResident):
            lake.renew()
        assert run_sync(interlacing(laptop, Answering(lake))).complete


def write_records(path: Path, records: list[Record]) -> Path:
    path.write_bytes(b"".join(record.raw for record in records))
    return path


def test_one_process_at_a_time_has_the_inbox(waters: Path) -> None:
    with JoinedLake.join(waters), pytest.raises(InboxTaken) as refused:
        JoinedLake.join(waters)
    assert "is put into the tables when that ends" in str(refused.value)
    JoinedLake.join(waters).close()


def test_a_lake_that_memory_may_not_hold_is_refused_before_anything_begins(tmp_path: Path) -> None:
    lake_of(tmp_path / "waters", OURS)
    with pytest.raises(TooManyResident) as refused:
        JoinedLake.join(tmp_path / "waters", max_resident=20)
    assert "20 are allowed" in str(refused.value)
    assert not (tmp_path / "waters" / "inbox").exists()


def test_a_plan_that_costs_too_much_is_refused_with_the_reason(waters: Path) -> None:
    small = OperandLimits(peer=EvaluationLimits(base_facts=5))
    with JoinedLake.join(waters) as lake:
        answering = Answering(lake, choices=ExchangeChoices(evaluation=small))
        result = run_sync(interlacing(stocked(notes("new", 1)), answering))
    (served,) = answering.results
    assert served.error is not None
    assert (served.error.code, result.complete) == ("policy/operand-stopped", False)
    assert count_waiting(open_lake(waters)) == len(THEIRS)


def test_a_lake_elsewhere_has_its_inbox_on_this_machine(tmp_path: Path) -> None:
    lakes = [
        create_lake(MovingFolder(f"moving://{tmp_path}/{name}", fs.PyFileSystem(Moving()))) for name in "ab"
    ]
    with pytest.raises(NoInbox) as refused:
        LakePeer(lakes[0])
    assert "--inbox" in str(refused.value)
    assert count_waiting(lakes[0]) == 0
    inbox = tmp_path / "inbox"
    with JoinedLake(LakePeer(lakes[0], inbox)) as lake, JoinedLake(LakePeer(lakes[1], inbox)) as other:
        assert run_sync(interlacing(stocked(THEIRS), Answering(lake))).complete
        # What arrived for one lake never goes into another.
        assert other.fold() is None
        assert [count_waiting(each, inbox) for each in lakes] == [3, 0]
        assert lake.fold() is not None
    assert [lake.snapshot().rows("records") for lake in lakes] == [3, 0]
