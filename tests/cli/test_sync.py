"""lace sync, and get, ls and put with laces elsewhere: what moves, what is said, and how it ends."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from lace.cli.outcomes import describe_progress, summary
from lace.interlace import Cause, ExchangeLimits, InterlaceResult
from lace.policy import NOTHING_EXPOSED
from lace.porcelain import ExchangeChoices, ExchangeProgress, Lace, Standing, parse_policy
from lace.transports import Stream, exchange
from tests.cli.conftest import Run, only_read
from tests.cli.servers import LACE, SECONDS, answering, serving, start
from tests.porcelain.talking import OPEN, notes


@pytest.fixture
def there(home: Path) -> Path:
    """A folder with another lace and the policy of both."""
    folder = home.parent / "there"
    folder.mkdir()
    (folder / "open.policy").write_text(OPEN)
    with Lace.init(folder / "b") as lace:
        lace.put_records(notes("b", 4))
    return folder


@pytest.fixture
def address(there: Path) -> Iterator[str]:
    with serving(there / "b", there / "open.policy", f"unix:{there}/socket") as where:
        yield where[0]


def held(store: Path) -> int:
    with Lace.open(store, read_only=True) as lace:
        return sum(1 for _ in lace.store.ids())


@pytest.mark.net
def test_two_laces_converge_by_the_verbs(lace: Run, home: Path, there: Path, address: str) -> None:
    with Lace.open(home) as mine:
        mine.put_records(notes("a", 3) + notes("v", 2, group="v"))
    policy = there / "open.policy"
    done = lace("sync", address, "--policy", policy, "--report")
    assert done.code == 0, done.err
    assert "converged with a peer that proved nothing" in done.out
    assert "received: 4 records" in done.out
    assert "sent: 3 records" in done.out
    assert "the other 2 are not for it" in done.out
    assert sum(line.startswith("received  P.") for line in done.lines) == 4
    assert held(there / "b") == 7
    (told,) = lace("sync", address, "--policy", policy, "--json").values
    assert (told["outcome"], told["received_hashes"], told["standing"]["may_send"]) == ("converged", [], 7)
    # Get, ls and put with the same lace elsewhere.
    with Lace.open(there / "b") as other:
        other.put(b"later", group="u", app="new", name="one")
        other.put(b"hidden", group="v", app="new", name="two")
    assert lace("get", "//u//new//one", "--from", address).out == "later"
    absent = lace("get", "//v//new//two", "--from", address)
    assert (absent.code, "there is no record at //v//new//two" in absent.err) == (1, True)
    (home / "note.txt").write_text("mine")
    put = lace("put", "--group", "u", "--app", "sent", "note.txt", "--to", address)
    assert (put.code, "1 record sent" in put.err) == (0, True)
    with Lace.open(there / "b", read_only=True) as other:
        assert other.get("//u//sent//note.txt").id == put.out.strip()
    with Lace.init(home / "third"):
        pass
    listed = lace("ls", "--store", "third", "--from", address, "--where", "App=b", "-q")
    assert (listed.code, len(listed.lines), held(home / "third")) == (0, 4, 4)


@pytest.mark.net
def test_a_record_that_was_put_and_did_not_arrive_makes_the_exit_code_tell(
    lace: Run, home: Path, there: Path, address: str
) -> None:
    (home / "note.txt").write_text("mine")
    at = ("--app", "sent", "--tai", "2024-05-01", "note.txt", "--to", address)
    stranger = lace("put", "--group", "v", *at)
    assert (stranger.code, "0 records sent, 1 not asked for" in stranger.err) == (1, True)
    assert "incomplete" in stranger.err
    stored, told = lace("put", "--group", "v", *at, "--json").values
    assert (told["outcome"], told["sent"], told["not_wanted"]) == ("incomplete", [], [stored["id"]])
    # What it has from us already is no reason to complain.
    first, again = (lace("put", "--group", "u", *at, "--json") for _ in range(2))
    stored, told = first.values
    assert (first.code, told["outcome"], told["sent"]) == (0, "converged", [stored["id"]])
    stored, told = again.values
    assert (again.code, told["sent"], told["there_before"]) == (0, [], [stored["id"]])
    assert "1 there before" in lace("put", "--group", "u", *at).err


@pytest.mark.net
@pytest.mark.parametrize("scheme", ["tcp", "unix"])
def test_who_is_turned_away_is_told_what_may_be_the_reason(
    run: Run, home: Path, there: Path, scheme: str
) -> None:
    assert run("key", "new", "me").code == run("key", "new", "you").code == run("init").code == 0
    mine = next(each["verifier"] for each in run("key", "ls", "--json").values if each["name"] == "me")
    policy, place = there / "open.policy", "tcp:127.0.0.1:0" if scheme == "tcp" else f"unix:{there}/socket"
    with serving(there / "b", policy, place, "--deny", scheme) as (address,):
        done = run("sync", address, "--policy", policy)
        assert done.code == 4
        assert "why: the peer closed before a plan was agreed on: it may not serve whoever comes" in done.out
        got = run("get", "//u//b//one", "--from", address)
        assert (got.code, "refused: the peer closed before a plan" in got.err) == (4, True)
    with serving(there / "b", policy, place, "--deny", mine, "--prove-in-clear") as (address,):
        asked = ("sync", address, "--policy", policy, "--json")
        [told] = run(*asked, "--sign-as", "me", "--prove-in-clear").values
        assert told["outcome"] == "refused"
        assert f"not serve {mine}, whom we proved to be" in told["words"]
        assert ("it may take no proofs in clear" in told["words"]) == (scheme == "tcp")
        assert run(*asked, "--sign-as", "you", "--prove-in-clear").code == 0
    with serving(there / "b", policy, place, "--allow", "proven") as (address,):
        done = run("sync", address, "--policy", policy)
        assert (done.code, "we proved nothing (--sign-as" in done.out) == (4, True)
        done = run("sync", address, "--policy", policy, "--sign-as", "me")
        assert done.code == (0 if scheme == "unix" else 4)
        assert ("our key was not shown on a connection in clear" in done.out) == (scheme == "tcp")


@pytest.mark.net
def test_over_tcp_both_prove_who_they_are_where_that_is_wanted(run: Run, home: Path, there: Path) -> None:
    assert run("key", "new", "me").code == run("key", "new", "you").code == run("init").code == 0
    policy, keys = there / "open.policy", str(home.parent / "home/.config/lace/keys")
    words = ("tcp:127.0.0.1:0", f"unix:{there}/socket", "--sign-as", "you", "--keys", keys)
    asked = ("--policy", policy, "--sign-as", "me", "--require-peer", "you", "--json")
    with serving(there / "b", policy, *words) as (tcp, unix):
        # On plain tcp nobody proves anything, unless both sides say so.
        done = run("sync", tcp, *asked)
        (told,) = done.values
        assert (done.code, told["outcome"]) == (4, "refused")
        assert told["words"].endswith(
            "and it proved nothing; nothing was exchanged [exchange/peer-not-proven]"
        )
        (told,) = run("sync", tcp, "--policy", policy, "--json").values
        assert (told["outcome"], len(told["received_hashes"])) == ("converged", 4)
        (told,) = run("sync", unix, *asked).values
        assert (told["outcome"], told["link_id"] is not None) == ("converged", True)


def test_stdio_without_a_command_is_wrong_usage_where_nobody_started_us(home: Path) -> None:
    assert subprocess.run([LACE, "init"], check=True, capture_output=True).returncode == 0
    for verb in ("sync", "follow"):
        done = subprocess.run(
            [LACE, verb, "stdio"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert (done.returncode, "stdio needs --command" in done.stderr) == (2, True), done.stderr


@pytest.mark.net
def test_authorities_that_are_not_there_are_a_file_that_cannot_be_used(lace: Run, there: Path) -> None:
    for verb in ("sync", "follow"):
        words = (verb, "wss:127.0.0.1:1", "--policy", there / "open.policy", "--tls-ca", "missing.pem")
        done = lace(*words)
        assert (done.code, "missing.pem" in done.out + done.err) == (7, True)


@pytest.mark.net
def test_a_key_that_is_not_shown_in_clear_is_told_of_also_where_all_goes_well(
    run: Run, home: Path, there: Path
) -> None:
    assert run("key", "new", "me").code == run("init").code == 0
    policy, note = there / "open.policy", "lace: our key is not shown: this connection is in clear; --prove-"
    with serving(there / "b", policy, "tcp:127.0.0.1:0", f"unix:{there}/socket") as (tcp, unix):
        for words, withheld in (
            ((tcp, "--sign-as", "me"), True),
            ((unix, "--sign-as", "me"), False),
            ((tcp,), False),
        ):
            done = run("sync", *words, "--policy", policy, "--json")
            assert (done.code, note in done.err, done.values[0]["key_withheld"]) == (0, withheld, withheld)
        done = run("follow", tcp, "--settled", "--sign-as", "me", "--policy", policy, "--json")
        assert (done.code, note in done.err, done.values[0]["key_withheld"]) == (0, True, True)
        got = run("get", "//u//b//b/0", "--from", tcp, "--sign-as", "me")
        assert (got.code, note in got.err) == (0, True)
        put = run("put", "--group", "u", "--app", "x", str(policy), "--to", tcp, "--sign-as", "me")
        assert (put.code, note in put.err) == (0, True)


@pytest.mark.net
def test_who_is_shown_a_key_in_clear_is_told_what_both_can_do(run: Run, home: Path, there: Path) -> None:
    assert run("key", "new", "you").code == run("init").code == 0
    policy, keys = there / "open.policy", str(home.parent / "home/.config/lace/keys")
    words = ("tcp:127.0.0.1:0", "--sign-as", "you", "--keys", keys, "--prove-in-clear")
    with serving(there / "b", policy, *words) as (address,):
        done = run("sync", address, "--policy", policy)
        assert (done.code, done.lines[0].partition(" ")[0]) == (4, "refused")
        assert "let both sides say prove-in-clear (--prove-in-clear, " in done.lines[1]
        assert run("sync", address, "--policy", policy, "--prove-in-clear").code == 0


@pytest.mark.net
def test_a_store_that_is_only_read_sends_and_is_noted_elsewhere(
    lace: Run, home: Path, there: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lace.open(home) as mine:
        [note, _] = mine.put_records(notes("a", 2))
    monkeypatch.setattr("lace.porcelain.lace.SqliteStore", only_read)
    words = ("sync", address, "--policy", there / "open.policy")
    done = lace(*words)
    assert (done.code, "notes beside the store what leaves, before it leaves" in done.err) == (7, True)
    assert "--send-only FILE" in done.err
    assert "[exchange/read-only]" in done.err
    [told] = lace(*words, "--send-only", "left.sqlite", "--json").values
    assert (told["outcome"], told["received_hashes"], len(told["sent_hashes"])) == ("converged", [], 2)
    assert lace("why-sent", note.record_id, "--history", "left.sqlite").code == 0
    assert lace("why-sent", note.record_id).code == 1
    [entry] = lace("history", "--history", "left.sqlite", "--json").values
    assert entry["left"] == 2
    assert lace("history", "--history", "left.sqlite", "--forget-before", "0s").code == 0
    missing = lace("history", "--history", "nowhere.sqlite")
    assert (missing.code, "nowhere.sqlite" in missing.err) == (7, True)
    assert not (home / "nowhere.sqlite").exists()
    folder = lace("history", "--history", ".")
    assert (folder.code, "[file/refused]" in folder.err) == (7, True)
    (home / "empty.sqlite").touch()
    empty = lace("history", "--history", "empty.sqlite")
    assert (empty.code, "[history/not-a-history]" in empty.err) == (7, True)
    assert (home / "empty.sqlite").read_bytes() == b"", "who reads notes makes none"
    assert lace("history", "--history", "left.sqlite", "--lake", "waters").code == 2
    assert lace(*words, "--send-only", "left.sqlite", "--lake", "waters").code == 2


class Misbehaving:
    """A lace that ends an exchange in one way or another."""

    def __init__(self, folder: Path) -> None:
        self.lace = Lace()
        self.lace.put_records(notes("b", 4))

    async def garbage(self, stream: Stream) -> None:
        await stream.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stream.read()

    async def silence(self, stream: Stream) -> None:
        while await stream.read():
            pass

    async def one_loop(self, stream: Stream) -> None:
        choices = ExchangeChoices(limits=ExchangeLimits(max_loop_iterations=1))
        end = self.lace.exchanges.begin(parse_policy(OPEN), stream.proven.link(), index=1, choices=choices)
        await exchange(stream, end)

    async def not_for_us(self, stream: Stream) -> None:
        policy = parse_policy(OPEN.replace("[select]", f"[select for V.{'0' * 43}.H3]"))
        end = self.lace.exchanges.begin(policy, stream.proven.link(), index=1)
        await exchange(stream, end)


@pytest.mark.net
@pytest.mark.parametrize(
    ("ending", "code", "words"),
    [
        ("one_loop", 1, "why: after 1 loops the fixed point is not reached"),
        ("not_for_us", 4, "refused with a peer that proved nothing"),
        ("garbage", 5, "why: "),
        ("silence", 10, "timeout with"),
    ],
)
def test_each_end_has_its_exit_code(lace: Run, home: Path, ending: str, code: int, words: str) -> None:
    (home / "open.policy").write_text(OPEN)
    with answering(home / "socket", getattr(Misbehaving(home), ending)) as where:
        timeout = "1" if ending == "silence" else "60"
        done = lace("sync", where, "--policy", "open.policy", "--timeout", timeout)
    assert (done.code, words in done.out) == (code, True), done


def test_what_keeps_an_exchange_from_beginning_has_exit_codes_of_its_own(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    assert lace("sync", "unix:/nowhere/at/all", "--policy", "open.policy").code == 9
    assert lace("sync", "nowhere", "--policy", "open.policy").code == 3
    assert lace("sync", "unix:/x", "--policy", "absent.policy").code == 7
    assert lace("sync", "unix:/x", "--policy", "open.policy", "--require-peer", "nobody").code == 3
    nobody = lace("sync", "unix:/x", "--policy", "open.policy", "--require-peer", "anonymous")
    assert (nobody.code, nobody.err.count("anonymous has none")) == (2, 1)
    assert lace("sync", "unix:/x", "--policy", "open.policy", "--command", "true").code == 2
    assert lace("sync", "unix:/x", "--policy", "open.policy", "--timeout", "never").code == 2
    (home / ".lace" / "store.sqlite").write_bytes(b"nothing that a store is" * 100)
    assert lace("sync", "unix:/x", "--policy", "open.policy").code == 7


def test_a_record_elsewhere_is_named_in_full(lace: Run) -> None:
    done = lace("get", "abcdef", "--from", "unix:/x")
    assert (done.code, "[reference/not-in-full]" in done.err) == (3, True)


def lines_after(standing: Standing) -> list[str]:
    return summary(InterlaceResult(Cause.FIXED_POINT), standing, None)[3:]


def test_preview_is_named_for_what_our_own_policy_holds_back_alone() -> None:
    assert lines_after(Standing(3, 3, 3, None, advertised=3)) == ["for this peer: 3 of 3 records here"]
    assert lines_after(Standing(3, 3, 2, None)) == [
        "for this peer: 2 of 3 records here; the other one is not for it: `lace preview` says why"
    ]
    assert lines_after(Standing(3, 3, 2, None, passed_over=1)) == [
        "for this peer: 2 of 3 records here",
        "1 record that we would send is not selected by the peer's rules",
    ]
    assert lines_after(Standing(9, 9, 2, None, passed_over=3)) == [
        "for this peer: 2 of 9 records here; 4 others are not for it: `lace preview` says why",
        "3 records that we would send are not selected by the peer's rules",
    ]


def test_a_store_without_records_is_told_to_be_empty() -> None:
    told = lines_after(Standing(0, 0, 0, NOTHING_EXPOSED, advertised=2))
    assert told == ["for this peer: there are no records here yet"]


def test_what_was_forgotten_here_is_told_and_not_asked_for() -> None:
    told = lines_after(Standing(1, 1, 1, None, advertised=2, kept_out=1))
    assert told[1:] == ["1 record of the peer was forgotten here and is not asked for"]


@pytest.mark.parametrize("exposed", [True, False])
def test_policies_with_nothing_in_common_do_not_end_in_silence(exposed: bool) -> None:
    hint = "nothing in common: no record, here or there, is let through by both policies"
    standing = Standing(1, 1, 0, None, 1) if exposed else Standing(1, 0, 0, NOTHING_EXPOSED)
    assert lines_after(standing)[-1] == hint
    assert hint not in lines_after(standing._replace(advertised=1))


@pytest.mark.net
def test_two_policies_that_select_different_groups_are_told_so(lace: Run, home: Path, address: str) -> None:
    with Lace.open(home) as mine:
        mine.put_records(notes("a", 1, group="v"))
    (home / "other.policy").write_text(OPEN.replace("'u'", "'v'"))
    done = lace("sync", address, "--policy", "other.policy")
    assert (done.code, done.lines[0].startswith("converged")) == (0, True)
    assert done.lines[-3:] == [
        "for this peer: 0 of 1 record here",
        "1 record that we would send is not selected by the peer's rules",
        "nothing in common: no record, here or there, is let through by both policies",
    ]


def test_progress_is_told_in_a_few_words() -> None:
    now = ExchangeProgress("ask", 1, 12, 300, 5, 7, 8, 0, 4096, 512)
    assert describe_progress(now) == "comparing · 12 partitions · 7 in, 8 out · 4.0 KiB / 512 B"


@pytest.mark.net
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_exchange_with_a_word_and_a_noted_end(lace: Run, home: Path, number: int) -> None:
    (home / "open.policy").write_text(OPEN)
    begun = Event()

    async def quiet(stream: Stream) -> None:
        while await stream.read():
            begun.set()

    with answering(home / "socket", quiet) as where:
        syncing = start("sync", where, "--policy", "open.policy", home=home)
        try:
            assert begun.wait(SECONDS)
            syncing.send_signal(number)
            _, told = syncing.communicate(timeout=SECONDS)
        finally:
            syncing.kill()
    assert (syncing.returncode, told) == (130, "lace: interrupted; what came until then is stored\n")
    assert lace("history", "1", "--json").values[0]["cause"] == "cancelled"
