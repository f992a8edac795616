"""A server file: its words, its groups, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain import Arrangement, NoPolicyForPeer, ServerRefused, Visitor, read_arrangement
from lace.porcelain.server.file import GROUP_WORDS, PEER_WORDS, SERVER_WORDS, parse_served
from tests.porcelain.pairs import OPEN
from tests.porcelain.policy_texts import ALICE, BOB, TOWN

FULL = f"""\
# A house with a few guests.
address  tcp:127.0.0.1:0   # any port
address  unix:/run/lace.sock stdio
policy   open.policy
allow    proven 192.0.2.0/24 user:0
deny     {BOB} tcp
user     0 {ALICE}
sign-as  me
origin   https://example.org
deflate  yes
open     no
prove-in-clear yes
socket-mode 660
look-seconds 0.5
grace-seconds 3
log-format json
log      logs/lace log
metrics  9464
exchanges 50
exchanges-per-host 5
stored-per-day-in-all 1T
keep-free 3G
store-at-most 90G
rounds   9
loops    4
round-bytes 64M
block-bytes 1M
rules-bytes 8k
round-seconds 60
phase-seconds 5
evaluation-seconds 2
evaluation-steps 1000
stored-per-day 2G
traffic-per-day 16k
exchanges-per-peer 3

[friends]
peers    {ALICE}
policy   town.policy
rounds   90

[house]
users    0
hosts    198.51.100.0/24 2001:db8::/32
transports unix
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "open.policy").write_text(OPEN)
    (tmp_path / "town.policy").write_text(TOWN)
    return tmp_path


def read(folder: Path, text: str, *given: tuple[str, str]) -> Arrangement:
    (folder / "lace.serve").write_text(text)
    return read_arrangement(folder / "lace.serve", given)


def test_every_word_is_understood(folder: Path) -> None:
    found = read(folder, FULL)
    assert [str(each) for each in found.addresses] == ["tcp:127.0.0.1:0", "unix:/run/lace.sock", "stdio"]
    assert [each.text for each in found.door.allow] == ["proven", "192.0.2.0/24", "user:0"]
    assert found.users == {0: ALICE}
    assert (found.sign_as, found.metrics, found.log_format) == ("me", 9464, "json")
    assert found.log == folder / "logs/lace log"
    assert (found.exchanges, found.per_host) == (50, 5)
    assert (found.stored_in_all, *found.room) == (1 << 40, 3 << 30, 90 << 30)
    assert (found.stays_open, found.prove_in_clear) == (False, True)
    assert (found.look_seconds, found.grace_seconds) == (0.5, 3)
    assert (found.options.deflate, found.options.unix_mode) == (True, 0o660)
    assert found.options.origins == ("https://example.org",)
    terms = found.terms
    assert (terms.rounds, terms.per_peer) == (9, 3)
    assert terms.limits.by_name() | {} == {
        **terms.limits.by_name(),
        "max_loop_iterations": 4,
        "max_total_transferred_bytes": 64 << 20,
        "max_fact_block_bytes": 1 << 20,
        "phase_timeout_seconds": 5,
    }
    assert (terms.local.round_seconds, terms.day.stored, terms.day.traffic) == (60, 2 << 30, 16 << 10)
    assert terms.local.operand_bytes == 8 << 10
    assert (terms.evaluation.peer.seconds, terms.evaluation.peer.steps) == (2, 1000)
    words = {line.split()[0] for line in FULL.splitlines() if line and line[0] not in "#["}
    files = {"certificate", "certificate-key", "public-certificate", "proxy"}
    assert words | files >= {*SERVER_WORDS, *PEER_WORDS, *GROUP_WORDS}


def test_a_group_has_what_stands_above_the_groups_unless_it_says_otherwise(folder: Path) -> None:
    found = read(folder, FULL)
    friends, house = found.groups
    assert (friends.terms.rounds, house.terms.rounds) == (90, 9)
    assert friends.terms.limits == house.terms.limits == found.terms.limits
    assert friends.policy is not None
    assert house.policy is None
    stranger = Visitor("wss", "", host="203.0.113.1")
    for visitor, name in (
        (stranger, None),
        (stranger.known_as(ALICE), "friends"),
        (Visitor("unix", "", uid=7), "house"),
        (Visitor("tcp", "", host="2001:db8::1"), "house"),
        (Visitor("unix", "", uid=0, peer=ALICE), "friends"),
    ):
        group = found.group(visitor)
        assert (group and group.name) == name
        policy = found.book(visitor).policy(visitor.peer)
        assert policy.name.endswith("town.policy" if name == "friends" else "open.policy")
        assert found.terms_of(visitor).rounds == (90 if name == "friends" else 9)


def test_a_proven_peer_has_nothing_of_the_group_of_its_host(folder: Path) -> None:
    lan = "[lan]\nhosts 192.0.2.0/24\npolicy open.policy\n"
    text = f"address stdio\npolicy town.policy\n{lan}[guests]\npeers {ALICE}\n"
    visitor = Visitor("tcp", "", host="192.0.2.7")
    book = read(folder, text).book(visitor)
    assert book.policy(None).name.endswith("open.policy")
    assert book.policy(BOB).name.endswith("open.policy"), "in no group by name"
    assert book.policy(ALICE).name.endswith("town.policy")
    found = read(folder, text.replace("policy town.policy\n", ""))
    assert found.book(visitor).policy(None).name.endswith("open.policy")
    with pytest.raises(NoPolicyForPeer):
        found.book(visitor.known_as(ALICE)).policy(ALICE)


def test_what_is_given_beside_a_file_may_hold_blanks_and_a_hash(folder: Path) -> None:
    found = read(folder, FULL, ("address", "unix:/run/a b"), ("log", "log #1"))
    assert [str(each) for each in found.addresses] == ["unix:/run/a b"]
    assert found.log == Path("log #1")


def test_what_is_given_beside_a_file_wins(folder: Path) -> None:
    found = read(
        folder, FULL, ("address", "stdio"), ("metrics", "0"), ("policy", str(folder / "town.policy"))
    )
    assert [str(each) for each in found.addresses] == ["stdio"]
    assert found.metrics == 0
    assert found.policy is not None
    assert found.policy.name == str(folder / "town.policy")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("adress stdio", "serve/word", "did you mean address?"),
        ("\ufeffaddress stdio", "serve/word", "byte order mark"),
        ("peers V.x", "serve/word", "in a group"),
        ("xyzzy 1", "serve/word", "words are"),
        ("metrics", "serve/value", "takes one value"),
        ("open maybe", "serve/value", "yes or no"),
        ("round-bytes 3X", "serve/value", "64k"),
        ("rounds -1", "serve/value", "no number from 1 on"),
        ("store-at-most 73M", "serve/value", "a commit may bring 73M, so say more"),
        ("rounds 1 2", "serve/value", "takes one value"),
        ("metrics 70000", "serve/value", "65535"),
        ("look-seconds 0", "serve/value", "no time"),
        ("log-format xml", "serve/value", "json and text"),
        ("socket-mode 999", "serve/value", "no mode"),
        ("allow bob", "serve/value", "names nobody"),
        ("deny 192.0.2.7/24", "serve/value", "and not 192.0.2.7/24"),
        ("proxy everywhere", "serve/value", "'everywhere' is no address"),
        ("proxy 10.0.0.0/8", "serve/value", "'10.0.0.0/8' is no address"),
        ("user nobody-of-that-name V.x", "serve/value", "there is no user"),
        ("user 0", "serve/value", "a name and a verifier"),
        ("policy other.policy", "serve/repeated", "line 2"),
        ("[two words]", "serve/section", "such as [members]"),
        ("[empty]", "serve/nobody", "say who is in it"),
        ("public-certificate nowhere.pem", "serve/file", "nowhere.pem"),
        ("log here\0there", "serve/value", "no path holds a NUL"),
        ("[g]\nhosts proven", "serve/value", "'proven' is no address or network"),
        ("[g]\nhosts 192.0.2.7/24", "serve/value", "is no address or network: write 192.0.2.7"),
        ("[g]\ntransports carrier-pigeon", "serve/value", "no transport"),
        ("[g]\npeers V.x", "serve/value", "no verifier"),
        ("[g]\npolicy none.policy\nusers 0", "serve/file", "none.policy"),
    ],
)
def test_what_is_wrong_has_a_code_a_line_and_advice(folder: Path, line: str, code: str, words: str) -> None:
    with pytest.raises(ServerRefused) as caught:
        read(folder, f"address stdio\npolicy open.policy\n{line}\n")
    found = {each.code: each for each in caught.value.diagnostics}
    assert code in found
    assert found[code].span.line >= 3
    assert words in "\n".join(caught.value.details())


def test_the_first_faults_stand_in_the_error_itself(folder: Path) -> None:
    (folder / "bad.policy").write_text("[select]\nnonsense\n")
    with pytest.raises(ServerRefused) as caught:
        read(folder, "address stdio\npolicy bad.policy\nfirst\nsecond\nthird\n")
    head, *lines = str(caught.value).split("\n")
    assert head == caught.value.sentence == caught.value.to_json()["error"]
    assert [line[:8] for line in lines[:3]] == ["  line 3", "  line 4", "  line 5"]
    assert lines[3].startswith("  and ")
    last = caught.value.details()[-1]
    assert last.endswith("bad.policy: 1 error [policy/refused]"), "what stands above it is not said again"
    with pytest.raises(ServerRefused, match=r"bad\.policy, line 2: "):
        read(folder, "address stdio\npolicy bad.policy\n")


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "lace.serve").write_bytes(b"address \xff")
    with pytest.raises(ServerRefused, match="1 error"):
        read_arrangement(folder / "lace.serve")


@pytest.mark.parametrize("text", ["tcp:127.0.0.1:0", "ws:[::1]:0/interlace", "tcp:example.com:4790", "stdio"])
def test_an_address_to_serve_is_printed_as_it_was_written(text: str) -> None:
    assert str(parse_served(text)) == text


def test_the_example_is_a_server_file(folder: Path) -> None:
    (folder / "members.policy").write_text(OPEN)
    example = Path(__file__).parents[2] / "examples" / "serve" / "lace.serve"
    found = read(folder, example.read_text())
    assert [group.name for group in found.groups] == ["members", "machine"]
