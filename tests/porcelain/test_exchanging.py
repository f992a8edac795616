"""A lace and others: what serves, and what becomes of exchanges where the store is only read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lace.drive import NotAHistory
from lace.interlace import InterlaceResult
from lace.porcelain import (
    Arrangement,
    ExchangeChoices,
    Lace,
    NotForExchanges,
    Outcome,
    PolicyBook,
    Serving,
    WrongArgument,
    arrange,
    outcome_of,
    parse_policy,
    words_of,
)
from lace.signing import Secret
from lace.stores import FileRefused, NoStore, ReadOnly
from lace.transports import Options, Tls
from tests.porcelain.pairs import End, exchange
from tests.porcelain.talking import ALICE, BOB, OPEN, Answering, ids, notes, stocked
from tests.transports.conftest import write_certificate

ADDRESS = "unix:/nowhere"
POLICY = parse_policy(OPEN)
MINE, OTHERS = notes("mine", 2), notes("others", 3)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Lace.init(tmp_path / "shelf") as lace:
        lace.put_records(MINE)
    return tmp_path / "shelf"


def files(place: Path) -> dict[str, bytes]:
    # Where a folder can be written to, SQLite has two files for those who read at the same time.
    found = [
        path for path in (place / ".lace").iterdir() if path.suffix not in (".sqlite-shm", ".sqlite-wal")
    ]
    return {path.name: path.read_bytes() for path in found}


def test_what_is_only_read_has_no_exchanges_and_says_why_and_what_would_do(place: Path) -> None:
    with Lace.open(place, read_only=True) as lace:
        calls: list[Callable[[], object]] = [
            lambda: lace.sync(ADDRESS, POLICY),
            lambda: lace.follow(ADDRESS, POLICY),
            lambda: lace.interlace(ADDRESS, POLICY),
            lambda: lace.deliver(ADDRESS, MINE[0].id),
            lambda: Serving(lace.exchanges, arrange(["unix:/s"], POLICY)),
        ]
        for call in calls:
            with pytest.raises(
                NotForExchanges, match=r"before it leaves; nothing was exchanged.*send_only=FILE"
            ):
                call()


def test_a_lace_that_only_sends_leaves_its_store_alone_and_notes_elsewhere(
    place: Path, tmp_path: Path
) -> None:
    before, answering = files(place), Answering(stocked(OTHERS))
    with Lace.open(place, send_only=tmp_path / "notes.sqlite") as lace:
        rehearsal = lace.rehearse(POLICY, there=answering.lace)
        assert rehearsal.preview().may_request == frozenset()
        held = rehearsal.why_not_request(OTHERS[0].id)
        assert [rehearsal.section_of(answer.fact[0]) for answer in held.reasons] == [None]
        result = lace.sync(ADDRESS, POLICY, over=answering.connect)
        assert outcome_of(result) is Outcome.CONVERGED
        assert (result.received_hashes, len(result.sent_hashes)) == ((), 2)
        [sending] = lace.why_sent(MINE[0].id).sendings
        assert sending.proof is not None
    assert ids(answering.lace.store) == {record.id for record in (*MINE, *OTHERS)}
    assert files(place) == before
    with Lace.open(place, send_only=tmp_path / "notes.sqlite") as lace:
        assert [entry.left for entry in lace.history()] == [2]
        assert lace.forget_history("0s") in (0, 1)
    with Lace.open(place) as lace:
        assert list(lace.history()) == []


def test_what_is_opened_for_reading_keeps_its_history(place: Path) -> None:
    with Lace.open(place) as lace:
        lace.sync(ADDRESS, POLICY, over=Answering().connect)
    with Lace.open(place, read_only=True) as lace:
        with pytest.raises(ReadOnly, match="that is how it was opened"):
            lace.forget_history("2100-01-01")
        assert [entry.left for entry in lace.history()] == [2]


def test_it_delivers_and_does_not_fetch_or_store(place: Path, tmp_path: Path) -> None:
    answering = Answering(stocked(OTHERS))
    with Lace.open(place, send_only=tmp_path / "notes.sqlite") as lace:
        assert lace.deliver(ADDRESS, MINE[0].id, over=answering.connect).report.sent == (MINE[0].id,)
        assert lace.why_sent(MINE[0].id).sendings
        with pytest.raises(ReadOnly, match="what is fetched is stored"):
            lace.fetch(ADDRESS, OTHERS[0].id, over=answering.connect)
        with pytest.raises(ReadOnly):
            lace.put(b"x")


def test_notes_that_cannot_be_kept_are_refused_before_anything_leaves(place: Path, tmp_path: Path) -> None:
    for wrong in (tmp_path / "nowhere" / "notes.sqlite", tmp_path):
        with pytest.raises(FileRefused):
            Lace.open(place, send_only=wrong)
    nobody = tmp_path / "nobody.sqlite"
    with pytest.raises(NoStore):
        Lace.open(tmp_path / "elsewhere", send_only=nobody)
    assert not nobody.exists()


def test_a_file_of_another_kind_takes_no_notes_and_stays_as_it_is(place: Path, tmp_path: Path) -> None:
    diary, store = tmp_path / "diary.txt", place / ".lace" / "store.sqlite"
    diary.write_text("Dear diary, today nothing left.\n" * 99)
    for wrong in (diary, store):
        before = wrong.read_bytes()
        with pytest.raises(NotAHistory, match=f"{wrong.name} holds no notes of exchanges"):
            Lace.open(place, send_only=wrong)
        assert wrong.read_bytes() == before


@pytest.mark.parametrize("dials", [True, False])
def test_nothing_leaves_where_it_cannot_be_noted(place: Path, dials: bool) -> None:
    (place / ".lace" / "history.sqlite").mkdir()
    there = stocked(OTHERS)
    with Lace.open(place) as lace:
        ours, theirs = (lace, there) if dials else (there, lace)
        result = ours.sync(ADDRESS, POLICY, over=Answering(theirs).connect)
        assert ids(there.store) == {record.id for record in OTHERS}
    assert (outcome_of(result) is Outcome.LOCAL_ERROR) == dials
    if dials:
        assert str(words_of(result)).endswith("[history/not-noted]")


def test_it_answers_others_and_asks_for_nothing_under_another_policy_either(
    place: Path, tmp_path: Path
) -> None:
    mine = stocked(OTHERS)
    with Lace.open(place, send_only=tmp_path / "notes.sqlite") as shelf:
        answering = Answering(shelf)
        result = mine.sync(ADDRESS, POLICY, over=answering.connect)
        assert (outcome_of(result), len(result.received_hashes), result.sent_hashes) == (
            Outcome.CONVERGED,
            2,
            (),
        )
        there = Answering(stocked(OTHERS), choices=ExchangeChoices(stays_open=True), look_every=0.05)

        async def changing() -> None:
            exchange = shelf.interlace(ADDRESS, POLICY, stays_open=True, over=there.connect)
            async with exchange:
                exchange.change_policy(parse_policy(OPEN.replace(", AdvertisedField(P,S,'Group',_,'u')", "")))
                exchange.finish()
                assert (await exchange.result()).received_hashes == ()

        asyncio.run(changing())
        assert ids(shelf.store) == {record.id for record in MINE}


@pytest.mark.net
def test_a_lace_serves_each_peer_under_its_own_policy(tmp_path: Path) -> None:
    book = PolicyBook(None, {ALICE.verifier: POLICY})
    home = stocked(MINE)

    async def visit(address: str, sign: Secret) -> InterlaceResult:
        async with Lace().interlace(address, POLICY, sign=sign, expected=BOB.verifier) as exchange:
            assert exchange.introduced.verifier == sign.verifier
            return await exchange.result()

    async def main() -> list[InterlaceResult]:
        async with home.serve(f"unix:{tmp_path}/socket", policy=book, sign=BOB) as serving:
            return [await visit(str(serving.addresses[0]), sign) for sign in (ALICE, BOB)]

    known, stranger = asyncio.run(main())
    assert (outcome_of(known), len(known.received_hashes)) == (Outcome.CONVERGED, 2)
    assert (outcome_of(stranger), stranger.received_hashes) == (Outcome.REFUSED, ())


@pytest.mark.net
def test_a_lace_serves_wss_with_the_certificate_of_its_options(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "pair.pem")
    options = Options(tls=Tls(certificate=certificate, authorities=(certificate,)))

    async def main() -> InterlaceResult:
        async with (
            stocked(MINE).serve("wss:127.0.0.1:0", policy=POLICY, options=options) as serving,
            Lace().interlace(str(serving.addresses[0]), POLICY, options=options) as exchange,
        ):
            return await exchange.result()

    assert len(asyncio.run(main()).received_hashes) == 2


def test_what_cannot_be_served_is_told_before_anybody_comes(place: Path) -> None:
    wrong: Any = PolicyBook(POLICY)
    with pytest.raises(WrongArgument, match="arrange"):
        Arrangement(policy=wrong)
    lace = Lace()
    with pytest.raises(WrongArgument, match="address is one or more"):
        lace.serve(policy=POLICY)
    for several in (["unix:/s"], Path("/s")):
        with pytest.raises(WrongArgument, match="address is text"):
            lace.serve(several, policy=POLICY)  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="sign is a Secret"):
        lace.serve("unix:/s", policy=POLICY, sign="me")  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="options is Options of the transport"):
        lace.serve("wss:127.0.0.1:0", policy=POLICY, options="a.pem")  # type: ignore[arg-type]
    with Lace.open(place, read_only=True) as shelf, pytest.raises(NotForExchanges):
        shelf.serve("unix:/s", policy=POLICY)


def test_notes_stay_beside_the_store_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("", "elsewhere"):
        (tmp_path / name / "shelf" / ".lace").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with Lace.init("shelf") as lace:
        (tmp_path / "shelf" / ".lace" / "store.sqlite").chmod(0o600)
        monkeypatch.chdir(tmp_path / "elsewhere")
        exchange(End(lace, OPEN), End())
    [notes] = tmp_path.rglob("history.sqlite")
    assert notes == tmp_path / "shelf" / ".lace" / "history.sqlite"
    assert notes.stat().st_mode & 0o777 == 0o600
