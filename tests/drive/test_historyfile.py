"""The history in a file: the contract, damage, two writers, and what a killed process leaves."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from lace.drive import (
    Beginning,
    Came,
    Ending,
    FileHistory,
    History,
    HistoryReplaced,
    InForce,
    Role,
    Section,
    Sums,
    UnreadableHistory,
    Wanted,
    Way,
)
from lace.drive.historyfile import PAGE
from lace.stores import DamagedFile, NewerSchema, NotAStore, ReadOnly
from tests.drive.histories import IDS, HistoryContract, agreement, at, leaving


class TestFileHistory(HistoryContract):
    def open_history(self, folder: Path) -> History:
        return FileHistory(folder / "history.sqlite")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def noted(path: Path) -> FileHistory:
    history = FileHistory(path)
    number = history.begin(Beginning(at(0)))
    history.note(number, [agreement(), leaving(1, *IDS[:3])], durable=True)
    return history


def test_it_is_there_when_it_is_opened_again_and_can_be_read_beside_a_writer(path: Path) -> None:
    writer = noted(path)
    reader, other = FileHistory(path, read_only=True), FileHistory(path)
    assert reader.exchange(1) == writer.exchange(1)
    assert other.begin(Beginning(at(1))) == 2
    assert [entry.number for entry in reader.exchanges()] == [2, 1]
    with pytest.raises(ReadOnly):
        reader.begin(Beginning(at(2)))
    for each in (writer, reader, other):
        each.close()
        each.close()
    assert FileHistory(path, read_only=True).exchange(1).agreements == (agreement(),)


def test_reading_what_is_not_there_makes_no_file(path: Path) -> None:
    history = FileHistory(path)
    assert list(history.exchanges()) == history.passages(IDS[0]) == []
    assert not path.exists()


def test_texts_are_kept_once(path: Path) -> None:
    history = noted(path)
    for _ in range(5):
        history.note(history.begin(Beginning(at(3))), [agreement()])
    history.close()
    with apsw.Connection(str(path)) as connection:
        assert connection.execute("SELECT count(*) FROM text").get == 4
        assert connection.execute("SELECT count(*) FROM agreement").get == 6


def test_long_lists_come_in_pages(path: Path) -> None:
    history = FileHistory(path)
    for second in range(PAGE + 20):
        history.begin(Beginning(at(second)))
    assert [entry.number for entry in history.exchanges()] == list(range(PAGE + 20, 0, -1))
    assert len(list(history.exchanges(Wanted(since=at(10))))) == PAGE + 10


@pytest.mark.parametrize("damage", ["header", "page", "garbage"])
def test_a_damaged_file_is_set_aside_and_a_new_one_begins(
    path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    noted(path).close()
    whole = bytearray(path.read_bytes())
    if damage == "header":
        whole[:16] = bytes(16)
    elif damage == "page":
        whole[100:] = bytes(len(whole) - 100)
    path.write_bytes(b"nothing of the kind" * 99 if damage == "garbage" else whole)
    history = FileHistory(path)
    with caplog.at_level(logging.WARNING, "lace"):
        assert history.begin(Beginning(at(5))) == 1
    assert "was set aside as history.sqlite.damaged-1" in caplog.text
    assert path.with_name("history.sqlite.damaged-1").exists()
    history.note(history.begin(Beginning(at(6))), [leaving(1, IDS[0])])
    assert [passage.way for passage in history.passages(IDS[0])] == [Way.MAY_HAVE_LEFT]


def spoil(path: Path) -> None:
    """Break the structure of a file under those who have it open."""
    whole = bytearray(path.read_bytes())
    whole[100:] = bytes(len(whole) - 100)
    path.write_bytes(whole)


def test_damage_in_the_middle_of_an_exchange_says_that_it_must_begin_anew(path: Path) -> None:
    history = FileHistory(path)
    for times in (1, 2):
        numbers = [history.begin(Beginning(at(6))) for _ in range(2)]
        history.release()
        spoil(path)
        with pytest.raises(HistoryReplaced) as caught:
            history.note(numbers[0], [leaving(1, IDS[0])])
        assert caught.value.fields["aside"] == f"history.sqlite.damaged-{times}"
        again = history.begin(Beginning(at(7)))
        with pytest.raises(HistoryReplaced):
            history.note(numbers[1], [leaving(1, IDS[0])])
        assert history.exchange(again).batches == (), "a number of the old file means nobody in the new one"


def test_a_file_that_another_process_replaced_is_not_replaced_again(path: Path) -> None:
    history = noted(path)
    number = history.begin(Beginning(at(6)))
    path.rename(path.with_name("elsewhere"))
    other = noted(path)
    assert history._file().displaced
    assert not other._file().displaced
    replaced = history._replace(DamagedFile(where=str(path), reason="a page"))
    assert replaced.fields["aside"] == "another file"
    with pytest.raises(HistoryReplaced):
        history.note(number, [])
    assert history.begin(Beginning(at(9))) == 2
    assert len(list(other.exchanges())) == 2
    assert sorted(each.name for each in path.parent.glob("*damaged*")) == []


def test_what_is_not_ours_or_of_a_later_version_is_left_alone(path: Path) -> None:
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE mine(x); PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(NotAStore, match="of another kind"):
        FileHistory(path).begin(Beginning(at(0)))
    path.unlink()
    noted(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(NewerSchema):
        FileHistory(path).begin(Beginning(at(0)))


def test_rows_that_nobody_wrote_are_told(path: Path) -> None:
    noted(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE agreement SET in_force = '[]'")
    connection.close()
    with pytest.raises(UnreadableHistory):
        FileHistory(path).exchange(1)


WRITER = """
import sys
from pathlib import Path
from lace.drive import Beginning, FileHistory
from tests.drive.histories import IDS, at, leaving
history = FileHistory(Path(sys.argv[1]))
number = history.begin(Beginning(at(int(sys.argv[2]))))
print("ready", flush=True)
sys.stdin.readline()
for batch in range(1, 10**6):
    history.note(number, [leaving(batch, IDS[0], f"B.{batch:043}.H3")], durable=batch % 8 == 0)
    print(batch, flush=True)
"""


@pytest.mark.net
def test_two_processes_write_at_once_and_a_kill_loses_nothing_that_was_acknowledged(path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(second)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for second in (0, 1)
    ]
    acknowledged = []
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            print("go", file=writer.stdin, flush=True)
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(40):
                last = writer.stdout.readline()
            os.kill(writer.pid, signal.SIGKILL)
            acknowledged.append(max([int(last), *map(int, writer.stdout.read().split("\n")[:-1])]))
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    with apsw.Connection(str(path)) as connection:
        kept = dict(connection.execute("SELECT exchange, max(number) FROM batch GROUP BY 1").fetchall())
    assert sorted(kept) == [1, 2]
    for most in acknowledged:
        assert any(0 <= number - most <= 1 for number in kept.values())
    history = FileHistory(path)
    assert len(history.passages(IDS[0])) == sum(kept.values())
    history.note(history.begin(Beginning(at(9))), [Came(at(9), 1, 1, IDS[:1])])


def test_texts_that_nothing_needs_any_more_are_forgotten_with_the_rest(path: Path) -> None:
    history = noted(path)
    other = history.begin(Beginning(at(0)))
    alone = agreement(in_force=InForce((Section(Role.SEND, "nobody else says this", "a"),)))
    history.note(other, [alone, Ending(at(3), "fixed-point", None, None, Sums())])

    def texts() -> int:
        return len(apsw.Connection(str(path)).execute("SELECT id FROM text").fetchall())

    before = texts()
    assert history.forget_before(at(4)) == 1
    assert texts() == before - 1
    history.close()
    assert FileHistory(path.with_name("none")).forget_before(at(4)) == 0
    assert not path.with_name("none").exists()
    with pytest.raises(ReadOnly):
        FileHistory(path, read_only=True).forget_before(at(4))


def test_rows_that_make_no_sense_are_named_in_a_list_and_in_a_search_too(path: Path) -> None:
    noted(path).close()
    with apsw.Connection(str(path)) as connection:
        connection.execute("UPDATE batch SET way = 'sideways'")
    history = FileHistory(path)
    with pytest.raises(UnreadableHistory):
        list(history.exchanges())
    with pytest.raises(UnreadableHistory):
        history.passages(IDS[0])


@pytest.mark.parametrize(
    "change",
    [
        "exchange SET began = '1640995200:0000000x0'",
        "exchange SET ended = '17'",
        "exchange SET address = x'80'",
        "agreement SET peer = x'80'",
        "batch SET at = '164099٥200:000000000'",
        "batch SET words = x'80'",
        "batch SET last = NULL",
        f"agreement SET in_force = '{'[' * 100_000}'",
    ],
)
def test_a_value_that_nobody_wrote_is_named_wherever_it_would_be_told(path: Path, change: str) -> None:
    noted(path).close()
    with apsw.Connection(str(path)) as connection:
        # A STRICT table refuses these; a damaged page does not.
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '')")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(f"UPDATE {change}")

    def told() -> list[object]:
        history = FileHistory(path)
        entries = [entry.to_json() for entry in history.exchanges()]
        return [*entries, history.exchange(1), *history.passages(IDS[0])]

    with pytest.raises(UnreadableHistory):
        told()


@pytest.mark.parametrize("change", ["UPDATE text SET body = replace(body, 'x', 'y')", "DELETE FROM text"])
def test_rules_that_are_not_those_of_their_name_are_never_told_as_those_that_decided(
    path: Path, change: str
) -> None:
    noted(path).close()
    with apsw.Connection(str(path)) as connection:
        connection.execute(change)
    with pytest.raises(UnreadableHistory, match="another text, or none"):
        FileHistory(path).exchange(1)


def test_a_file_of_an_older_program_is_read_and_stays_one_that_it_reads(path: Path) -> None:
    history = noted(path)
    history.note(history.begin(Beginning(at(3))), [agreement(in_force=InForce())])
    history.close()
    connection = apsw.Connection(str(path))
    # Older notes say nothing about whether sections were noted at all.
    connection.execute("UPDATE agreement SET in_force = json_remove(in_force, '$.noted')")
    connection.close()
    older = FileHistory(path, read_only=True)
    assert older.forgotten_until() is None
    assert [older.exchange(n).agreements[0].in_force.noted for n in (1, 2)] == [True, False]
    older.close()
    again = FileHistory(path)
    again.forget_before(at(9))
    again.close()
    assert FileHistory(path, read_only=True).forgotten_until() == at(2)
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA user_version").get == 1, "a higher number would lock it out"
    connection.close()
    assert FileHistory(path.with_name("none")).forgotten_until() is None
    assert FileHistory(path.with_name("none")).find("P.") == []
