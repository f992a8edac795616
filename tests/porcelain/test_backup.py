"""Backups of a lace that is in use: the records, what was forgotten, and who got what."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from lace.drive import FileHistory, NoSuchExchange
from lace.errors import Unavailable
from lace.porcelain import Lace, LaceExists, NoStoreFile, Worth, generate
from lace.porcelain.server.disk import Disk
from lace.record import make_blob
from lace.stores import BackupExists, Full
from tests.porcelain.pairs import End, exchange
from tests.porcelain.policy_texts import TOWN


@pytest.fixture
def served(tmp_path: Path) -> Lace:
    """A lace of which a record left."""
    lace = Lace.init(tmp_path / "served")
    lace.put(b"When is the market?", group="town", app="notes", name="question")
    exchange(End(lace, TOWN), End())
    return lace


def test_a_backup_is_a_lace_that_knows_why_a_record_left(served: Lace, tmp_path: Path) -> None:
    question = served.find("//town//notes//question")
    gone = served.put(b"gone", group="town", app="notes", name="gone")
    served.forget(gone.id)
    made = served.backup(tmp_path / "saved")
    served.put_records(generate(7, 20))  # of later, and of the one that goes on alone
    with Lace.open(tmp_path / "saved") as saved:
        assert saved.stat().records == made.records == {"B": 0, "P": 1, "S": 0}
        assert saved.forgotten() == [gone.id]
        assert saved.verify().sound
        assert saved.stat().version.generation != served.stat().version.generation
        (sending,) = saved.why_sent(question).sendings
        assert (sending.worth, sending.words) == (Worth.AS_IT_WAS, ())
        saved.put(b"Saturday.", group="town", app="notes", name="answer")
        exchange(End(saved, TOWN), End())
        assert [entry.number for entry in saved.history()] == [2, 1]
    assert [entry.number for entry in served.history()] == [1]


def test_a_disk_that_is_full_leaves_nothing_of_a_backup(served: Lace, tmp_path: Path) -> None:
    served.put_records(make_blob(b"%d" % number + bytes(9000)) for number in range(300))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(Unavailable) as told:
            served.backup(tmp_path / "saved")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.value.fields["where"] == str(tmp_path / "saved" / ".lace" / "store.sqlite")
    assert list((tmp_path / "saved" / ".lace").iterdir()) == []
    assert served.backup(tmp_path / "saved").records["B"] == 300


def test_states_that_the_copy_never_had_are_not_taken_for_its_own(
    served: Lace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = FileHistory.backup

    def later(history: FileHistory, *given: object) -> bool:
        """Let a record come and leave between the two copies."""
        served.put(b"Saturday.", group="town", app="notes", name="answer")
        exchange(End(served, TOWN), End())
        return copied(history, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(FileHistory, "backup", later)
    served.backup(tmp_path / "saved")
    with Lace.open(tmp_path / "saved") as saved:
        question = saved.find("//town//notes//question")
        worths = [sending.worth for sending in saved.why_sent(question).sendings]
        assert worths == [Worth.MADE_AGAIN, Worth.AS_IT_WAS]


def test_nobody_may_read_a_copy_who_may_not_read_the_lace(served: Lace, tmp_path: Path) -> None:
    place = tmp_path / "served" / ".lace"
    for path in (place, place / "store.sqlite", place / "history.sqlite"):
        path.chmod(0o700 if path == place else 0o600)
    served.backup(tmp_path / "saved")
    copied = tmp_path / "saved" / ".lace"
    found = {path.name: path.stat().st_mode & 0o777 for path in (copied, *copied.iterdir())}
    assert found == {".lace": 0o700, "store.sqlite": 0o600, "history.sqlite": 0o600}


def test_nothing_is_overwritten_and_a_half_copy_is_no_lace(
    served: Lace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> bool:
        raise Full(where="history", reason="disk full")

    saved = tmp_path / "saved"
    with monkeypatch.context() as patch:
        patch.setattr(FileHistory, "backup", fail)
        with pytest.raises(Full):
            served.backup(saved)
    assert not [*(saved / ".lace").iterdir()]
    served.backup(saved)
    with pytest.raises(LaceExists):
        served.backup(saved)
    (saved / ".lace" / "store.sqlite").unlink()
    with pytest.raises(BackupExists, match=r"history\.sqlite"):
        served.backup(saved)


def test_a_lace_without_exchanges_has_no_history_to_copy(tmp_path: Path) -> None:
    with Lace.init(tmp_path / "quiet") as quiet:
        quiet.put(b"hello")
        quiet.backup(tmp_path / "saved")
    with Lace.open(tmp_path / "saved", read_only=True) as saved:
        assert not [*saved.history()]
    with Lace() as memory, pytest.raises(NoStoreFile, match="memory"):
        memory.backup(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_history_that_was_never_begun_stands_in_the_way_of_nothing(tmp_path: Path) -> None:
    """A process that is killed in its first note, or meets a full disk, leaves an empty file."""
    with Lace.init(tmp_path / "here") as lace:
        note = lace.put(b"one", group="u", app="a", name="n")
    (tmp_path / "here" / ".lace" / "history.sqlite").touch()
    with Lace.open(tmp_path / "here", read_only=True) as lace:
        assert list(lace.history()) == lace.history_gaps() == []
        assert lace.why_sent(note.id).sendings == ()
        with pytest.raises(NoSuchExchange):
            lace.exchange(1)
        lace.backup(tmp_path / "there")


def test_two_backups_to_one_place_do_not_share_files_and_one_of_them_is_refused(
    served: Lace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied, inner = FileHistory.backup, []

    def meanwhile(history: FileHistory, *given: object) -> bool:
        """Make a whole backup to the same place in the middle of another one."""
        if not inner:
            inner.append("begun")
            inner.append(served.backup(tmp_path / "saved"))
        return copied(history, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(FileHistory, "backup", meanwhile)
    with pytest.raises(BackupExists):
        served.backup(tmp_path / "saved")
    with Lace.open(tmp_path / "saved") as saved:
        assert saved.verify().sound
        assert [entry.number for entry in saved.history()] == [1]
    assert [each.name for each in (tmp_path / "saved" / ".lace").glob(".*")] == []


def test_a_lace_is_copied_when_the_program_went_elsewhere(
    served: Lace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Lace.open("served") as lace:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        lace.backup(tmp_path / "saved")
        assert Disk(lace.store).free()
    with Lace.open(tmp_path / "saved") as saved:
        assert len(list(saved.history())) == 1
