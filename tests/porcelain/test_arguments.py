"""Arguments that are easily mistaken."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lace.datalog import parse_program
from lace.drive import FileHistory
from lace.errors import FactError, InputError
from lace.porcelain import (
    InsideALoop,
    Keyring,
    Lace,
    NotATime,
    NotBegun,
    Rehearsal,
    UnknownOption,
    Workbench,
    WrongArgument,
    converge_lakes,
    parse_policy,
    parse_time,
    read_policy,
    read_rules,
)
from lace.stores import NulInPath, ReadOnly, SqliteStore, StoreClosed
from lace.text import Tai
from tests.porcelain.talking import OPEN, Answering, notes, policy, stocked

NOWHERE = "unix:/nowhere"
NOW = Tai("1800000000:000000000")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": "text"}, "data is bytes, such as 'text'.encode(); a value of type str was given"),
        ({"data": None}, "data is bytes"),
        ({"sign": "alice"}, "sign is a Secret"),
        ({"extra": {"Tag": "food"}}, "extra is pairs of name and value, both text; 'Tag' was given"),
        ({"extra": [("Tag", 1)]}, "extra is pairs"),
        ({"name": 5}, "name is text"),
        ({"links": "//u//notes//first"}, "links is a list of targets"),
        ({"links": [notes("a", 1)[0]]}, "link is a target or a pair"),
    ],
)
def test_a_mistaken_argument_is_told_and_nothing_is_stored(given: dict[str, Any], words: str) -> None:
    with Lace() as lace:
        with pytest.raises(WrongArgument) as told:
            lace.put(**{"data": b"one", "group": "u", "app": "notes", "name": "first", **given})
        assert str(told.value).startswith(words)
        assert lace.stat().records == {"B": 0, "P": 0, "S": 0}


def test_one_text_is_one_condition() -> None:
    with Lace() as lace:
        note = lace.put(b"one", group="u", app="notes", name="first")
        lace.put(b"two", group="v", app="notes", name="first")
        assert [row.id for row in lace.ls(where="Group=u")] == [note.id]
        assert len(list(lace.ls(where="Group"))) == 2


def test_a_tai_is_compared_with_a_time_that_people_type() -> None:
    with Lace() as lace:
        for day in range(1, 6):
            lace.put(b"one", group="u", app="notes", name=f"{day}", tai=f"2024-05-0{day}")

        def names(*where: str) -> list[Any]:
            return [row.cells[0] for row in lace.ls("Name", where=where)]

        assert names("TAI>=2024-05-02", "TAI<2024-05-04 00:00:00Z") == ["2", "3"]
        assert names("TAI>2024-05-04", "TAI<=now") == ["5"]
        assert names("TAI=2024-05-03") == names(f"TAI={parse_time('2024-05-03', NOW)}") == ["3"]
        assert names("TAI!=2024-05-03", "TAI~17*", "TAI") == ["1", "2", "4", "5"]
        with pytest.raises(NotATime, match="'1714780837' is no time"):
            names("TAI>1714780837")


def test_blanks_around_the_commas_are_no_part_of_a_column() -> None:
    with Lace() as lace:
        lace.put(b"one", group="u", app="notes", name="first")
        assert lace.view(" Name, App,,").columns == ("Name", "App")


@pytest.mark.parametrize("limit", [-1, 1.5, "2", True])
def test_what_is_no_limit_is_told(limit: Any) -> None:
    bench = Workbench()
    bench.use(parse_program("T('a') :- true."))
    evaluated = bench.evaluate()
    with Lace() as lace:
        calls: list[Callable[..., Any]] = [
            lambda: lace.ls(limit=limit),
            lambda: lace.history(limit=limit),
            lambda: lace.why_sent("P." + "0" * 43 + ".H3", explain=limit),
            lambda: bench.ask("T(X)", limit=limit),
            lambda: evaluated.facts(limit=limit),
        ]
        for call in calls:
            with pytest.raises(WrongArgument) as told:
                call()
            assert str(told.value).endswith(f" is None, or a number from 0 on; {limit!r} was given")


@pytest.mark.parametrize(
    ("verb", "asked", "words"),
    [
        (
            "sync",
            {"require_peer": "V.x"},
            "there is no option require_peer (did you mean expected?); there are ",
        ),
        ("sync", {"secret": 5}, "there is no option secret (did you mean sign?)"),
        ("sync", {"stays_open": True}, "there is no option stays_open"),
        ("interlace", {"stay_open": True}, "there is no option stay_open (did you mean stays_open?)"),
        ("follow", {"backof": 1}, "there is no option backof"),
        ("deliver", {"operation": None}, "there is no option operation"),
        ("fetch", {"expcted": "V.x"}, "there is no option expcted (did you mean expected?)"),
        ("sync", {"sign": "me"}, "sign is a Secret"),
        ("follow", {"expected": 5}, "expected is the verifier of the peer"),
        ("deliver", {"timeout": "5"}, "timeout is a number of seconds"),
        ("sync", {"timeout": 0}, "timeout is a number of seconds, more than 0; 0 was given"),
        ("interlace", {"timeout": -1.5}, "timeout is a number of seconds, more than 0; -1.5"),
        ("fetch", {"timeout": float("nan")}, "timeout is a number of seconds, more than 0; nan"),
        ("interlace", {"look_seconds": 0}, "look_seconds is a number of seconds, more than 0; 0 was given"),
        ("follow", {"look_seconds": None}, "look_seconds is a number of seconds"),
        ("deliver", {"timeout": float("inf")}, "timeout is a number of seconds, more than 0; inf"),
        ("interlace", {"prove_in_clear": "no"}, "prove_in_clear is True or False"),
        ("interlace", {"stays_open": "no"}, "stays_open is True or False"),
    ],
)
def test_an_option_that_is_not_known_or_not_understood_is_refused_at_the_call(
    verb: str, asked: dict[str, Any], words: str
) -> None:
    given = policy(OPEN)
    with stocked(notes("a", 1)) as lace:
        place = {"fetch": (NOWHERE, "//u//a//a/0"), "deliver": (NOWHERE, "//u//a//a/0")}
        with pytest.raises(WrongArgument) as told:
            getattr(lace, verb)(*place.get(verb, (NOWHERE,)), policy=given, **asked)
        assert str(told.value).startswith(words)
        with pytest.raises(UnknownOption, match=r"wher \(did you mean where\?\)"):
            lace.ls("Name", wher=["Name=a"])


@pytest.mark.parametrize(
    ("given", "words"),
    [(None, "NoneType"), (b"[select]", "bytes"), (OPEN, "the text of one, for parse_policy, was given")],
)
def test_what_is_no_policy_is_told_by_all_that_take_one(given: Any, words: str) -> None:
    with stocked(notes("a", 1)) as lace:
        calls: list[Callable[[], Any]] = [
            lambda: read_policy(given),
            lambda: lace.sync(NOWHERE, given),
            lambda: lace.follow(NOWHERE, given),
            lambda: lace.interlace(NOWHERE, policy(OPEN)).change_policy(given),
            lambda: Rehearsal(Workbench()._facts.database, given),
            lambda: converge_lakes("here", "there", (policy(OPEN), given)),
        ]
        if given is not None:  # which fetches and delivers without a policy
            calls.append(lambda: lace.fetch(NOWHERE, "//u//a//a/0", given))
            calls.append(lambda: lace.deliver(NOWHERE, "//u//a//a/0", policy=given))
        for call in calls:
            with pytest.raises(
                WrongArgument, match=r"^policy is the path of a policy file, or what read"
            ) as told:
                call()
            assert words in str(told.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda lace, _: Lace("folder"), r"Lace\.open\(path\) opens one"),
        (lambda lace, _: Workbench(lace), r"such as lace\.store"),
        (lambda lace, _: Rehearsal(lace, policy(OPEN)), r"ResidentFacts\(lace\.store\)\.database"),
        (lambda lace, _: Workbench().use("T('a') :- true."), r"parse_program\(text\)"),
        (lambda lace, note: lace.get(note), r"a record, and not its \.id, was given"),
        (lambda lace, _: lace.get(None), "reference is text: an id"),
        (lambda lace, note: lace.rm([note.id]), r"one by one, as with \*ids"),
        (lambda lace, note: lace.deliver(NOWHERE), "one at least; none was given"),
        (lambda lace, note: lace.fetch(NOWHERE, note), r"not its \.id"),
        (lambda lace, _: lace.sync(5, policy(OPEN)), "address is text"),
        (lambda lace, _: lace.import_records(b"B."), r"io\.BytesIO\(data\)"),
        (
            lambda lace, _: lace.import_records(io.StringIO("B.")),
            r"open\(path, 'rb'\).*; one of text was given",
        ),
        (lambda lace, _: lace.export_records(io.StringIO()), "target is a stream of bytes"),
        (lambda lace, _: lace.export_table(io.StringIO()), "target is a stream of bytes"),
        (lambda lace, _: lace.export_records(5), r"target is a path, or an open stream"),
        (lambda lace, _: lace.export_table("t", "Name"), r"view is a TableView, such as lace\.view"),
        (lambda lace, _: lace.export_records("t", view="Name"), r"view is a TableView, such as lace\.view"),
        (lambda lace, _: lace.ls(where=5), "where is a condition such as 'Group=u'"),
        (lambda lace, _: lace.ls(where={"Group": "u"}), "or a list of them; a value of type dict was given"),
        (lambda lace, _: lace.ls(where=[("Group", "u")]), "one with a value of type tuple was given"),
        (lambda lace, _: lace.ls(types=["P"]), "types is text: letters of B, P and S; a value of type list"),
        (lambda lace, _: Workbench().ask(("Edge", "a", "b")), r"question is text such as Edge\('a',X\)"),
        (
            lambda lace, _: Workbench().give(("Edge", "a", "b")),
            "facts is a list of facts.*; one fact, and",
        ),
        (lambda lace, _: Workbench().give(5), r"facts is a list of facts, such as \[\('Edge', 'a', 'b'\)\]"),
        (
            lambda lace, _: lace.preview(policy(OPEN), runtime=("Transport", "tcp:x")),
            "runtime is a list of facts.*; one fact, and no list with it, was given",
        ),
        (lambda lace, _: lace.export_table("t", format="xml"), "format is 'jsonl' or 'csv'; 'xml' was given"),
        (lambda lace, _: lace.history(peer=""), "peer is text that is not empty, or None for all"),
        (lambda lace, _: lace.history(plan=5), "plan is text that is not empty.* type int was given"),
        (lambda lace, note: lace.why_sent(note.id, peer=""), "peer is text that is not empty"),
        (lambda lace, _: lace.put_records("P."), "records is a list of records"),
        (lambda lace, note: lace.put_records([note, note.raw]), "one with a value of type bytes was given"),
        (lambda lace, note: lace.put_records([note.id]), r"such as make\(…\) or parse_record\(raw\) gives"),
        (lambda lace, _: Keyring(5), "folder is the path"),
        (lambda lace, _: Keyring("keys").import_secret("me", "&.x"), r"parse_secret\(text\).* type str was"),
        (lambda lace, _: converge_lakes("a", "b", policy(OPEN)), "policies is two"),
    ],
)
def test_mistakes_that_are_easily_made_are_told(call: Callable[..., Any], words: str) -> None:
    moment: Any = datetime.now(UTC)
    with Lace() as lace:
        note = lace.put(b"one", group="u", app="notes", name="first")
        with pytest.raises(WrongArgument, match=words):
            call(lace, note)
        with pytest.raises(NotATime, match="datetime"):
            lace.put(b"two", group="u", app="notes", name="second", tai=moment)
        assert lace.stat().records["P"] == 1


def test_text_stands_for_facts_and_predicates() -> None:
    bench = Workbench()
    bench.use(parse_program("T(X) :- N(X)."))
    assert (bench.give("N('a')"), bench.give(["N('b')", ("N", "c")])) == (1, 2)
    assert bench.why("T('a')") == bench.why(("T", "a")) is not None
    assert bench.why_not("T('z')") == bench.why_not(("T", "z"))
    evaluated = bench.evaluate("T/1")
    assert list(evaluated.facts(["T/1"])) == list(evaluated.facts("T/1")) == list(evaluated.facts())
    wrong: Any
    for wrong in ("T", "T(X)", 5, ["T", "a"]):
        with pytest.raises(InputError):
            bench.why(wrong)
    # Values are text: a number is none of the facts that its digits are in.
    for wrong in (("T", 1), ("T", None), ("T", b"a")):
        for explain in (bench.why, bench.why_not):
            with pytest.raises(FactError, match="cannot be a fact value: it is no text"):
                explain(wrong)


def test_a_limit_that_nobody_reaches_lets_everything_through() -> None:
    bench, most = Workbench(), 10**30
    bench.use(parse_program("T(X) :- N(X)."))
    bench.give(["N('a')", "N('b')"])
    assert len(list(bench.evaluate("T/1").facts(limit=most))) == 2
    assert len(bench.ask("T(X)", limit=most).rows) == 2
    with Lace() as lace:
        note = lace.put(b"one", group="u", app="notes", name="first")
        assert len(list(lace.ls("Name", limit=most))) == 1
        assert list(lace.history(limit=most)) == []
        assert lace.why_sent(note.id, explain=most).sendings == ()


def test_a_path_with_a_nul_is_refused_in_words(tmp_path: Path) -> None:
    path = f"{tmp_path}/a\0b"
    with Lace.init(tmp_path / "here") as lace:
        lace.put(b"one")
        calls: list[Callable[[], object]] = [
            lambda: Lace.open(path),
            lambda: Lace.init(path),
            lambda: Lace.open_lake(path),
            lambda: Lace.open(tmp_path / "here", send_only=path),
            lambda: SqliteStore(path),
            lambda: FileHistory(Path(path)).prepare(),
            lambda: Keyring(path).list(),
            lambda: Keyring(path).create("me", b"m" * 32),
            lambda: Keyring(tmp_path / "keys").restore(path),
            lambda: read_policy(path),
            lambda: read_rules(path),
            lambda: lace.import_records(path),
            lambda: lace.export_records(path),
            lambda: lace.backup(path),
        ]
        for call in calls:
            with pytest.raises(NulInPath, match=r"is no path: there is a NUL in it"):
                call()


def test_keys_are_in_a_folder_that_may_be_text(tmp_path: Path) -> None:
    ring = Keyring(str(tmp_path / "keys"))
    secret = ring.create("me", b"m" * 32)
    ring.backup(str(tmp_path / "copy"))
    other = Keyring(tmp_path / "other")
    assert other.restore(str(tmp_path / "copy")) == ("me",)
    assert other.load("me").verifier == secret.verifier
    assert repr(ring) == f"<Keyring {tmp_path / 'keys'}>"


def test_an_event_loop_is_not_stopped(recwarn: pytest.WarningsRecorder) -> None:
    lace = Lace()
    made = lace.follow(NOWHERE, policy(OPEN))

    async def call(what: Callable[[], object]) -> None:
        what()

    calls: list[Callable[[], object]] = [
        lambda: lace.sync(NOWHERE, policy(OPEN)),
        lambda: lace.follow(NOWHERE, policy(OPEN)),
        lambda: next(made),
    ]
    for each in calls:
        with pytest.raises(InsideALoop, match=r"async with lace\.interlace"):
            asyncio.run(call(each))
    assert not recwarn.list


def test_what_is_asked_of_an_exchange_before_it_begins_is_told() -> None:
    exchange = Lace().interlace(NOWHERE, policy(OPEN))
    assert repr(exchange) == "<Interlacing unix:/nowhere: not begun>"
    calls: list[Callable[[], Any]] = [
        exchange.progress,
        lambda: exchange.proven,
        lambda: asyncio.run(exchange.result()),
        lambda: aiter(exchange),
        lambda: exchange.change_policy(policy(OPEN)),
    ]
    for call in calls:
        with pytest.raises(NotBegun, match="unix:/nowhere has not begun"):
            call()


def test_a_lace_that_is_closed_or_read_only_says_so_before_it_does_anything(tmp_path: Path) -> None:
    with Lace.init(tmp_path) as lace:
        lace.sync(NOWHERE, policy(OPEN), over=Answering().connect)
        entries = lace.history()
        assert repr(lace) == f"<Lace {tmp_path / '.lace' / 'store.sqlite'}>"
    assert repr(lace).endswith(" (closed)>")
    assert repr(Lace()) == "<Lace in memory>"
    calls: list[Callable[[], Any]] = [
        lambda: next(entries),
        lambda: lace.history(),
        lambda: lace.exchange(1),
        lambda: lace.sync(NOWHERE, parse_policy(OPEN)),
    ]
    for call in calls:
        with pytest.raises(StoreClosed):
            call()
    assert isinstance(lace._history, FileHistory)
    assert lace._history._opened is None
    with Lace.open(tmp_path, read_only=True) as lace:
        calls = [
            lambda: lace.sync(NOWHERE, policy(OPEN)),
            lambda: lace.follow(NOWHERE, policy(OPEN)),
            lambda: lace.fetch(NOWHERE, "//u//a//a/0"),
        ]
        for call in calls:
            with pytest.raises(ReadOnly):
                call()
