"""Machines over bytes: exchanges converge however the bytes are cut, and end where the stream ends."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import pytest

from lace.drive import Side
from lace.iltp import (
    PREFACE,
    Closed,
    Connection,
    FactBlock,
    PhaseEnd,
    Reader,
    RecordBytes,
    Resource,
    make_record,
    make_resource,
    write,
)
from lace.interlace import (
    Begin,
    BlockReceived,
    Cause,
    MalformedBlock,
    PeerClosed,
    Phase,
    Progress,
    RecordReceived,
    RecordsEnded,
    ResourceReceived,
    StreamFailed,
    read_block,
)
from lace.record import make_blob
from lace.text import write_record_id
from tests.iltp.samples import HELLO_WORLD, PLEX, RULES, SEAL
from tests.interlace.pair import ALL, Pair, make_pair
from tests.interlace.test_traces import HONEST, check, side_of

DATA = make_blob(b"data!")
PLAIN = {"partitions": False}
OTHER = make_resource("lacegram", RULES.raw.replace(b":- Have(P).", b":- Have(P), true."))


@dataclass
class End:
    """One side of a pair with its connection, and what it has put on the wire."""

    side: Side
    connection: Connection = field(default_factory=Connection)
    sent: bytearray = field(default_factory=bytearray)
    read: int = 0
    """How much the other end has taken of it."""

    def step(self, incoming: bytes | None) -> None:
        """Take bytes, or nothing, or the end (None); then say what there is to say."""
        if incoming is None:
            self.connection.receive_end()
        else:
            self.connection.receive_data(incoming)
        machine = self.side.machine
        while self.side.result is None and not machine.busy:
            event = self.connection.next_event(machine.phase)
            if event is None:
                break
            self.side.feed(event)
        while self.side.outbox:
            self.connection.send(self.side.outbox.popleft())
        while data := self.connection.data_to_send():
            self.sent += data


def run(pair: Pair, size: int) -> tuple[End, End]:
    """Run an exchange over a wire that carries so many bytes at a time."""
    ends = End(pair.sides[0]), End(pair.sides[1])
    for end in ends:
        end.side.feed(Begin())
        end.step(b"")
    told = [False, False]
    for _ in range(200_000):
        moved = False
        for index, (end, other) in enumerate((ends, ends[::-1])):
            waiting = other.sent[other.read : other.read + size]
            if waiting:
                other.read += len(waiting)
                end.step(bytes(waiting))
            elif other.connection.shut and not told[index]:
                told[index] = True
                end.step(None)
            else:
                continue
            moved = True
        if not moved:
            return ends
    raise AssertionError("the exchange does not come to rest")


@pytest.mark.parametrize("size", [1, 3, 64, 100_000])
@pytest.mark.parametrize("settings", [PLAIN, {}], ids=["full listing", "partitions"])
def test_two_machines_converge_over_bytes_however_they_are_cut(settings: dict[str, Any], size: int) -> None:
    pair = make_pair([HELLO_WORLD, PLEX], [DATA, SEAL, PLEX], settings=settings)
    ends = run(pair, size)
    assert pair.ids(0) == pair.ids(1) == {record.id for record in (HELLO_WORLD, PLEX, DATA, SEAL)}
    assert [end.side.result.cause for end in ends if end.side.result] == [Cause.FIXED_POINT] * 2
    same = run(make_pair([HELLO_WORLD, PLEX], [DATA, SEAL, PLEX], settings=settings), 7)
    assert [end.sent for end in ends] == [end.sent for end in same]


@pytest.mark.req("060-031", "060-072", "060-079")
def test_the_example_of_060_runs_with_its_items_in_its_order() -> None:
    pair = make_pair([HELLO_WORLD], [DATA], settings=PLAIN)
    ends = run(pair, 5)
    assert pair.ids(0) == pair.ids(1) == {HELLO_WORLD.id, DATA.id}
    for end, mine, theirs in ((ends[0], HELLO_WORLD, DATA), (ends[1], DATA, HELLO_WORLD)):
        reader = Reader()
        items = reader.feed(end.sent) + reader.close()
        assert isinstance(items[-1], Closed)
        names = [
            sorted({fact[0] for fact in item.facts()}) if isinstance(item, FactBlock) else type(item)
            for item in items
        ]
        assert names[1:3] == [Resource, ["ExchangeOperand", "SetupNonce"]]
        assert names[3] is Resource  # PROFILE section 10: "An `E.` resource is always sent"
        assert "HelloExchangePlan" in names[4]
        assert items[5].facts().__next__()[:2] == ("Advertised", mine.id)  # type: ignore[union-attr]
        assert list(items[6].facts()) == [("MayRequest", theirs.id)]  # type: ignore[union-attr]
        assert items[7:10] == [RecordBytes(mine.id, mine.raw), PhaseEnd(), PhaseEnd()]
        # The loop that follows finds nothing more to ask for.
        assert {fact[1] for fact in items[10].facts()} == {mine.id, theirs.id}  # type: ignore[union-attr]
        assert items[11:] == [PhaseEnd(), PhaseEnd(), PhaseEnd(), Closed()]


@pytest.mark.parametrize(("case", "index"), HONEST)
def test_a_recorded_exchange_is_played_through_bytes(case: dict[str, Any], index: int) -> None:
    side, store = side_of(case, index)
    end = End(side)
    side.feed(Begin())
    end.step(b"")
    recorded = bytes.fromhex(case["sides"][1 - index]["sends_hex"])
    for at in range(0, len(recorded), 13):
        end.step(recorded[at : at + 13])
    end.step(None)
    check(case, index, side.result, store)
    reader = Reader()
    assert isinstance((reader.feed(end.sent) + reader.close())[-1], Closed)


def replay(stream: bytes, records: list[Any], **settings: Any) -> tuple[End, Pair]:
    """Let side 1 of an exchange hear the recorded bytes of side 0, and then their end."""
    pair = make_pair([], records, settings={**PLAIN, **settings})
    end = End(pair.sides[1])
    end.side.feed(Begin())
    end.step(b"")
    end.step(stream)
    end.step(None)
    return end, pair


def boundaries(stream: bytes) -> dict[int, int]:
    """Return where phases end in a stream, with the records that came before."""
    found, reader, records = {len(PREFACE): 0}, Reader(), 0
    for at in range(len(stream)):
        for item in reader.feed(stream[at : at + 1]):
            records += isinstance(item, RecordBytes)
            if isinstance(item, FactBlock | PhaseEnd):
                found[at + 1] = records
    return found


@pytest.mark.req("060-077", "060-078")
def test_a_stream_cut_anywhere_ends_cleanly_at_phases_and_aborts_elsewhere_and_keeps_what_it_stored() -> None:
    cut_everywhere(step=23)


@pytest.mark.slow
def test_a_stream_cut_at_every_byte_ends_cleanly_at_phases_and_aborts_elsewhere() -> None:
    cut_everywhere(step=1)


def cut_everywhere(step: int) -> None:
    """Cut a recorded direction at its phase ends and at every so many bytes."""
    ends = run(make_pair([HELLO_WORLD, PLEX], [DATA], settings=PLAIN), 100_000)
    stream = bytes(ends[0].sent)
    clean = boundaries(stream)
    for at in sorted({*clean, *range(0, len(stream), step)}):
        end, pair = replay(stream[:at], [DATA])
        result = end.side.result
        assert result is not None
        stored = pair.ids(1) - {DATA.id}
        if at in clean:
            expected = Cause.FIXED_POINT if at == len(stream) else Cause.PEER_CLOSED
            assert result.cause is expected, at
            assert len(stored) == clean[at]
        else:
            assert result.cause is Cause.PEER_LOST, at
            whole = [edge for edge in clean if edge < at]
            assert len(stored) >= max([clean[edge] for edge in whole], default=0)
        assert set(result.received_hashes) == stored


@pytest.mark.parametrize("bad", [b"\r\n", b"\0", b"_", b"HelloTAI('x')\r\n\n", b"\xf0\x9f\x96\xa8: "])
def test_bytes_that_are_no_stream_end_the_exchange_with_their_cause(bad: bytes) -> None:
    ends = run(make_pair([HELLO_WORLD], [DATA], settings=PLAIN), 100_000)
    stream = bytes(ends[0].sent)
    for at in (len(PREFACE), *boundaries(stream)):
        end, _ = replay(stream[:at] + bad + stream[at:], [DATA])
        assert end.side.result is not None
        assert end.side.result.cause is Cause.PROTOCOL
        assert end.side.result.error is not None
        assert end.side.result.error.code.startswith("iltp/")
        assert end.connection.shut


def recorded(policy: str = ALL) -> bytes:
    """Return what side 0 sends in an exchange of one record each way."""
    pair = make_pair([HELLO_WORLD], [DATA], settings=PLAIN, policies=(policy, ALL))
    return bytes(run(pair, 100_000)[0].sent)


def aborted(stream: bytes) -> str:
    """Return the code of the error with which side 1 aborts when it hears this."""
    end, pair = replay(stream, [DATA])
    assert end.side.result is not None
    assert end.side.result.error is not None
    assert end.connection.shut
    assert set(end.side.result.received_hashes) == pair.ids(1) - {DATA.id}
    return end.side.result.error.code


@pytest.mark.req("060-042")
def test_a_record_that_is_not_outstanding_aborts() -> None:
    stream = recorded()
    for added in (PLEX.raw + HELLO_WORLD.raw, HELLO_WORLD.raw + PLEX.raw, HELLO_WORLD.raw * 2):
        assert aborted(stream.replace(HELLO_WORLD.raw, added)) == "interlace/not-requested"


def test_a_record_outside_its_phase_aborts() -> None:
    stream = recorded()
    for at in list(boundaries(stream))[:4]:
        assert aborted(stream[:at] + HELLO_WORLD.raw + stream[at:]) == "interlace/out-of-phase"


def test_a_record_that_does_not_hash_is_rejected_and_the_exchange_goes_on() -> None:
    stream = recorded().replace(b"hello world", b"hullo world")
    end, pair = replay(stream, [DATA])
    assert end.side.result is not None
    assert end.side.result.rejected_hashes == (HELLO_WORLD.id,)
    assert end.side.result.error is None
    assert pair.ids(1) == {DATA.id}


@pytest.mark.req("060-036", "060-073")
def test_a_module_whose_text_never_comes_fails_the_setup() -> None:
    stream = recorded(OTHER.raw.decode())
    plan = stream[stream.index("🧩: E".encode()) : stream.index(b"HelloExchangePlan")]
    without = stream.replace(write(OTHER), b"")
    assert without != stream
    assert aborted(without) == "interlace/no-module"
    assert aborted(stream.replace(plan, b"").replace(write(OTHER), plan)) == "interlace/no-module"


@pytest.mark.req("060-070")
def test_a_module_that_is_new_to_a_peer_comes_in_time() -> None:
    pair = make_pair([HELLO_WORLD], [DATA], settings=PLAIN, policies=(OTHER.raw.decode(), ALL))
    ends = run(pair, 1)
    assert [end.side.result.cause for end in ends if end.side.result] == [Cause.FIXED_POINT] * 2
    assert pair.ids(0) == pair.ids(1) == {HELLO_WORLD.id, DATA.id}


@pytest.mark.req("060-071")
def test_a_module_that_is_known_before_need_not_come() -> None:
    stream = recorded(OTHER.raw.decode()).replace(write(OTHER), b"")
    end, pair = replay(stream, [DATA], modules={OTHER.id: OTHER.raw})
    assert end.side.result is not None
    assert end.side.result.cause is Cause.FIXED_POINT
    assert pair.ids(1) == {DATA.id, HELLO_WORLD.id}


@pytest.mark.req("060-029")
def test_a_resource_leaves_the_phase_as_it_is() -> None:
    end = End(make_pair([], [DATA], settings=PLAIN).sides[1])
    end.side.feed(Begin())
    end.step(PREFACE + write(OTHER) + write(RULES))
    assert not end.connection.waiting
    assert end.side.machine.phase is Phase.SETUP
    assert end.side.result is None


@pytest.mark.req("060-068")
@pytest.mark.parametrize("phase", [each for each in Phase if each is not Phase.TRANSFER])
def test_a_block_ends_with_a_blank_line_in_whatever_phase_it_stands(phase: Phase) -> None:
    connection = Connection()
    connection.receive_data(PREFACE + b"A()\n")
    assert connection.next_event(phase) == Progress(4)
    connection.receive_data(b"\n\n")
    assert [connection.next_event(phase) for _ in range(3)] == [
        BlockReceived((("A",),)),
        BlockReceived(()),
        None,
    ]


@pytest.mark.req("060-067", "060-068")
def test_the_phase_says_what_a_blank_line_is() -> None:
    connection = Connection()
    connection.receive_data(PREFACE + b"A()\n\n\n\n" + HELLO_WORLD.raw + b"\n")
    assert connection.waiting
    heard = [connection.next_event(Phase.ADVERTISE) for _ in range(2)]
    assert heard == [BlockReceived((("A",),)), BlockReceived(())]
    heard = [connection.next_event(Phase.TRANSFER) for _ in range(3)]
    assert heard == [RecordsEnded(), RecordReceived(HELLO_WORLD.raw), RecordsEnded()]
    assert connection.next_event(Phase.TRANSFER) is None
    assert not connection.waiting


def test_resources_are_heard_and_faults_and_ends_are_told_apart() -> None:
    sender = Connection()
    sender.send(ResourceReceived(RULES.id, RULES.kind, RULES.raw))
    sender.send(BlockReceived((("A", "x"),)))
    stream = b"".join(iter(sender.data_to_send, b""))
    for tail, last in [
        (b"", PeerClosed(clean=True)),
        (b"B(", PeerClosed(clean=False)),
    ]:
        connection = Connection()
        connection.receive_data(stream + tail)
        connection.receive_end()
        assert connection.next_event(Phase.SETUP) == ResourceReceived(RULES.id, RULES.kind, RULES.raw)
        assert connection.next_event(Phase.SETUP) == BlockReceived((("A", "x"),))
        assert connection.next_event(Phase.HELLO) == last
    connection = Connection()
    connection.receive_data(stream + b"?")
    failed = [connection.next_event(Phase.SETUP) for _ in range(3)][-1]
    assert isinstance(failed, StreamFailed)
    assert failed.error.code == "iltp/leading-bytes"


@pytest.mark.parametrize("line", [b"A()\n", b"MayRequest()\n"])
def test_a_block_that_is_refused_is_not_made_facts_before(line: bytes) -> None:
    size = 1 << 20
    connection = Connection()
    connection.receive_data(PREFACE + line * (size // len(line)) + b"\n")
    tracemalloc.start()
    try:
        event = connection.next_event(Phase.SETUP)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(event, BlockReceived)
    assert (len(event.facts), event.size) == (1, size // len(line) * len(line))
    assert peak < size / 10
    with pytest.raises(MalformedBlock):
        read_block(event.facts, Phase.SETUP)


def test_a_block_of_requests_takes_little_more_than_its_ids() -> None:
    ids = [write_record_id("B", number.to_bytes(32, "big")) for number in range(8000)]
    raw = b"".join(b"MayRequest('%b')\n" % id.encode() for id in ids)
    connection = Connection()
    connection.receive_data(PREFACE + raw + b"\n")
    tracemalloc.start()
    try:
        event = connection.next_event(Phase.REQUEST)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert event == BlockReceived(tuple(("MayRequest", id) for id in ids), len(raw))
    assert held < 3 * len(raw), "each fact has its own id, and all have one name"


def test_records_that_follow_each_other_are_taken_and_sent_together() -> None:
    blobs = [make_blob(b"%d" % number) for number in range(5)]
    large = make_blob(bytes(100_000))
    sender, told = Connection(), Connection()
    raws = [blob.raw for blob in [*blobs, large]]
    sender.send_records(raws)
    for raw in raws:
        told.send(RecordReceived(raw))
    pieces = list(iter(sender.data_to_send, b""))
    assert b"".join(pieces) == b"".join(iter(told.data_to_send, b""))
    assert pieces[-1] is large.raw, "not copied"
    assert len(pieces) == 3
    receiver = Connection()
    receiver.receive_data(b"".join(pieces) + b"\n" + blobs[0].raw)
    assert receiver.take_records() == [], "the preface is first"
    assert receiver.next_event(Phase.TRANSFER) == RecordReceived(raws.pop(0))
    taken = receiver.take_records()
    assert [each.raw for each in taken] == raws
    assert [each.parse() for each in taken] == [*blobs[1:], large]
    assert receiver.take_records() == []
    assert receiver.next_event(Phase.TRANSFER) == RecordsEnded()
    assert receiver.take_records() == [make_record(blobs[0])]
    sender.send(PeerClosed())
    sender.send_records(raws)
    assert sender.data_to_send() == b""


def test_an_empty_piece_is_no_end() -> None:
    connection = Connection()
    connection.receive_data(b"")
    connection.receive_data(PREFACE)
    connection.receive_data(b"")
    assert connection.next_event(Phase.SETUP) is None
    connection.receive_end()
    assert connection.next_event(Phase.SETUP) == PeerClosed()


def test_bytes_of_what_is_not_whole_are_told_as_progress() -> None:
    connection = Connection()
    connection.receive_data(PREFACE + b"A('")
    assert connection.next_event(Phase.SETUP) == Progress(3)
    assert connection.next_event(Phase.SETUP) is None
    connection.receive_data(b"xxxx")
    connection.receive_data(b"yy")
    assert connection.next_event(Phase.SETUP) == Progress(6)
    connection.receive_data(b"')\n\n" + HELLO_WORLD.raw[:60])
    assert connection.next_event(Phase.SETUP) == BlockReceived((("A", "xxxxyy"),))
    assert connection.next_event(Phase.SETUP) == Progress(60)
    assert connection.arriving is not None
    assert connection.arriving.id == HELLO_WORLD.id


@pytest.mark.parametrize(
    ("before", "data", "begun"),
    [
        (b"", b"# a", True),
        (b"# a", b"b\n", False),
        (b"", b"A()\n", True),
        (b"A()\n", b"# b\n", True),
        (b"A()\n\n", b"# b\n", False),
        (write(RULES), b"# b\n", True),
    ],
)
def test_behind_a_comment_at_a_phase_boundary_nothing_must_follow(
    before: bytes, data: bytes, begun: bool
) -> None:
    connection = Connection()
    connection.receive_data(PREFACE + before)
    while connection.next_event(Phase.IDLE):
        pass
    connection.receive_data(data)
    assert connection.next_event(Phase.IDLE) == Progress(len(data), begun=begun)


@pytest.mark.req("060-068", "060-076", "060-080")
def test_what_a_machine_says_is_written_in_its_order() -> None:
    connection = Connection()
    told = [
        BlockReceived((("A",),)),
        BlockReceived(()),
        RecordReceived(HELLO_WORLD.raw),
        RecordsEnded(),
        BlockReceived(()),
    ]
    for each in told:
        connection.send(each)
    connection.send(PeerClosed())
    assert not connection.shut
    assert b"".join(iter(connection.data_to_send, b"")) == PREFACE + b"A()\n\n\n" + HELLO_WORLD.raw + b"\n\n"
    assert connection.shut
    connection.send(BlockReceived((("B",),)))
    assert connection.data_to_send() == b""


def test_an_abort_drops_what_is_queued() -> None:
    connection = Connection()
    connection.send(BlockReceived((("A",),)))
    connection.send(PeerClosed(clean=False))
    assert connection.data_to_send() == b""
    assert connection.shut
