"""lace serve: what it reads, what it says, how it is steered; and peers that are killed."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from lace.cli.serverun import LogFile, ServerRun
from lace.porcelain import Arrangement, Lace, ServerLog, Serving, generate
from lace.transports import make_self_signed
from tests.cli.conftest import Run, only_read
from tests.cli.servers import SECONDS
from tests.porcelain.pairs import OPEN
from tests.porcelain.policy_texts import ALICE, SELECT_ALL
from tests.transports.ends import ids

WRONG = f"""\
address tcp:nowhere:x
adress tcp:127.0.0.1:0
policy none.policy
rounds 7
rounds 0
metrics 70000
[friends]
peers V.abc {ALICE}
policy wrong.policy
[friends]
exchanges 5
[more]
peers {ALICE}
[em pty]
"""


def test_everything_that_is_wrong_with_a_server_file_is_said_at_once(lace: Run, home: Path) -> None:
    (home / "wrong.policy").write_text("[select]\nSelectHave(P) :- Nothing.\n")
    (home / "lace.serve").write_text(WRONG)
    told = lace("serve", "--config", "lace.serve", "--deny", "bob", "--check", "--json")
    assert told.code == 4
    found = [(each["code"], each["range"]["start"]["line"] + 1) for each in told.error["diagnostics"]]
    assert found == [
        ("serve/value", 1),  # of the command line, which has no lines
        ("serve/value", 1),
        ("serve/word", 2),
        ("serve/file", 3),
        ("serve/repeated", 5),
        ("serve/value", 6),
        ("serve/value", 8),
        ("serve/section", 10),
        ("serve/nobody", 10),
        ("serve/word", 11),
        ("serve/twice", 13),
        ("serve/section", 14),
        ("serve/nobody", 14),
    ], found
    assert [each["code"] for each in told.error["policies"]] == ["policy/refused"]
    shown = lace("serve", "--config", "lace.serve", "--check")
    assert "did you mean address?" in shown.err
    assert "wrong.policy:2" in shown.err
    assert "lace.serve: 12 errors; 1 of its policies cannot be used" in shown.err


def test_a_policy_and_an_address_are_enough(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    told = lace(
        "serve", "tcp:127.0.0.1:0", "unix:/run/lace.sock", "--policy", "open.policy", "--check", "--json"
    )
    assert told.code == 0
    assert told.values == [
        {
            "addresses": ["tcp:127.0.0.1:0", "unix:/run/lace.sock"],
            "policy": "open.policy",
            "groups": [],
            "notes": [],
        }
    ]
    for missing in (["--store", "absent"], ["--lake", "."], ["--sign-as", "nobody"]):
        told = lace("serve", "stdio", "--policy", "open.policy", "--check", *missing)
        assert (told.code, told.out) == (1, ""), missing
    nowhere = lace("serve", "--policy", "open.policy", "--check", "--json")
    assert [each["code"] for each in nowhere.error["diagnostics"]] == ["serve/no-address"]


def test_what_is_missing_on_the_command_line_is_told_in_its_words(lace: Run, home: Path) -> None:
    told = lace("serve")
    assert told.code == 4
    assert f"no address, no --config and no {home}/.lace/lace.serve" in told.err
    assert f"no --policy and no {home}/.lace/exchange.policy" in told.err
    assert "name an address: lace serve tcp:" in told.err
    assert "give --policy FILE" in told.err
    assert "write a line" not in told.err
    absent = lace("serve", "stdio", "--policy", "nowhere.policy")
    assert (absent.code, "nowhere.policy" in absent.err, "server file" in absent.err) == (4, True, False)
    (home / "lace.serve").write_text("log-format text\n")
    of_file = lace("serve", "--config", "lace.serve")
    assert "write a line such as: address" in of_file.err
    assert "write a line such as: policy" in of_file.err


def test_a_store_that_can_only_be_read_fails_the_check(
    lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "open.policy").write_text(OPEN)
    monkeypatch.setattr("lace.porcelain.lace.SqliteStore", only_read)
    words = ("serve", "stdio", "--policy", "open.policy", "--check")
    told = lace(*words)
    assert (told.code, told.out, "[exchange/read-only]" in told.err) == (7, "", True)
    assert lace(*words, "--send-only", "left.sqlite").code == 0


def test_wss_needs_a_certificate_that_is_one(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    (home / "no.pem").write_text("nothing")
    for more, words in (((), "needs a certificate"), (("--certificate", "no.pem"), "no certificate in PEM")):
        told = lace("serve", "wss:127.0.0.1:0", "--policy", "open.policy", "--check", *more)
        assert told.code == 4
        assert words in told.err


def test_a_certificate_that_does_not_hold_is_told_by_the_check(lace: Run, home: Path) -> None:
    (home / "open.policy").write_text(OPEN)
    words = "serve", "wss:127.0.0.1:0", "--policy", "open.policy", "--check", "--certificate", "pair.pem"
    now = datetime.now(UTC)
    for days, made, says in (
        (30, now, ""),
        (30, now - timedelta(days=40), "the certificate expired at "),
        (30, now + timedelta(days=2), "the certificate holds from "),
        (3, now, "the certificate expires at "),
    ):
        (home / "pair.pem").write_bytes(b"".join(make_self_signed(days=days, now=made)))
        told = lace(*words)
        assert told.code == 0
        assert says in told.err
        assert bool(told.err) == bool(says), told.err
        (value,) = lace(*words, "--json").values
        assert [each.startswith(says) for each in value["notes"]] == [True] * bool(says)


# Real processes.


class Servers:
    """Starts `lace` as people do, and leaves nothing behind."""

    def __init__(self, home: Path) -> None:
        bins = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.world = {"PATH": bins, "HOME": str(home), "LC_ALL": "C.UTF-8"}
        self.home = home
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *argv: str | Path, log: str = "log", **more: Any) -> subprocess.Popen[bytes]:
        with (self.home / log).open("ab") as file:
            more = {"stdout": subprocess.PIPE, "stderr": file, **more}
            child = subprocess.Popen(["lace", *map(str, argv)], cwd=self.home, env=self.world, **more)
        self.started.append(child)
        return child

    def serve(self, *argv: str | Path, log: str = "log") -> tuple[subprocess.Popen[bytes], Any]:
        """Start a server and wait until it is there."""
        child = self.start("serve", *argv, "--json", log=log)
        assert child.stdout is not None
        return child, json.loads(child.stdout.readline() or (self.home / log).read_text())

    def run(self, *argv: str | Path, code: int | None = 0) -> Any:
        """Run something to its end; return its JSON."""
        line = ["lace", "--json", *map(str, argv)]
        done = subprocess.run(
            line, cwd=self.home, env=self.world, capture_output=True, timeout=SECONDS, check=False
        )
        assert code is None or done.returncode == code, done.stderr.decode()
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}

    def events(self, log: str = "log") -> list[Any]:
        lines = (self.home / log).read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for(self, event: str, count: int = 1, log: str = "log") -> Any:
        """Wait until the log tells of an event."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = [each for each in self.events(log) if each["event"] == event]
            if len(found) >= count:
                return found[-1]
            select.select([], [], [], 0.01)
        raise AssertionError(f"no {event} in {self.events(log)}")


@contextmanager
def holding(path: Path, behind: Path, most: int) -> Iterator[str]:
    """Stand before a server for one client, and of what it answers pass on so many bytes and no more."""
    # Who is to be killed in the middle of an exchange must not be able to come to its end before.
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen()
        carrying = Thread(target=lambda: carry(door.accept()[0], behind, most), daemon=True)
        carrying.start()
        yield f"unix:{path}"
        carrying.join(SECONDS)
    path.unlink()


def carry(near: socket.socket, behind: Path, most: int) -> None:
    """Carry bytes both ways until one of them has gone."""
    with near, socket.socket(socket.AF_UNIX) as far, suppress(ConnectionError):
        far.connect(str(behind))
        asked = select.poll()
        asked.register(near, select.POLLIN)
        asked.register(far, select.POLLIN)
        while True:
            for number, event in asked.poll():
                if number == near.fileno():
                    if not (data := near.recv(1 << 16)):
                        return
                    far.sendall(data)
                elif event & select.POLLHUP or not (data := far.recv(min(most, 1 << 16))):
                    return
                else:
                    near.sendall(data)
                    most -= len(data)
                    if not most:
                        asked.modify(far, 0)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    found = Servers(tmp_path)
    (tmp_path / "open.policy").write_text(OPEN)
    with Lace.init(tmp_path / "a") as lace:
        lace.put_records(generate(7, 500))
    Lace.init(tmp_path / "b").close()
    yield found
    for child in found.started:
        if child.poll() is None:
            child.kill()
        child.wait()


@pytest.mark.net
def test_a_server_says_where_it_is_reads_its_policy_again_and_stops_in_order(servers: Servers) -> None:
    home = servers.home
    (home / "lace.serve").write_text(
        f"address unix:{home}/s\naddress tcp:127.0.0.1:0\npolicy served.policy\n"
    )
    (home / "served.policy").write_text(f"[select]\n{SELECT_ALL}")
    servers.run("key", "new", "me")
    config = "--store", "a", "--config", "lace.serve", "--metrics", "0", "--sign-as", "me"
    child, ready = servers.serve(*config, "--user", f"{os.getuid()} {ALICE}")
    unix, tcp = ready["addresses"]
    assert unix == f"unix:{home}/s"
    asks = "--policy", "open.policy", "--require-peer", "me"
    follower = servers.start("follow", unix, "--store", "b", *asks, stdout=subprocess.DEVNULL, log="follow")
    assert servers.wait_for("agreed")["peer"] == ALICE, "whom the system and the server file prove"
    assert tcp.startswith("tcp:127.0.0.1:")
    (home / "served.policy").write_text("[select]\nnonsense\n")
    child.send_signal(signal.SIGHUP)
    refused = servers.wait_for("reload-refused")
    assert refused["code"] == "serve/refused"
    assert any("served.policy:2" in line for line in refused["details"])
    (home / "served.policy").write_text(OPEN)
    child.send_signal(signal.SIGHUP)
    assert servers.wait_for("reloaded")["renegotiating"] == 1
    assert servers.wait_for("round")["sent"] == 500
    page = urllib.request.urlopen(ready["metrics"], timeout=SECONDS).read().decode()
    assert "\nlace_records_sent_total 500\n" in page
    assert '\nlace_reloads_total{outcome="refused"} 1\n' in page
    assert "\nlace_exchanges_open 1\n" in page
    follower.send_signal(signal.SIGSTOP)
    child.send_signal(signal.SIGTERM)
    servers.wait_for("stopping")
    child.send_signal(signal.SIGTERM)
    assert child.wait(SECONDS) == 130, "the second signal aborts"
    assert not (home / "s").exists()
    follower.send_signal(signal.SIGCONT)
    follower.send_signal(signal.SIGINT)
    follower.wait(SECONDS)


@pytest.mark.parametrize("named", ["{home}/notify", "@lace-{home}/notify"])
def test_systemd_is_told_when_the_server_is_ready_and_when_it_stops(servers: Servers, named: str) -> None:
    where = named.format(home=servers.home)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(where.replace("@", "\0", 1))
        systemd.settimeout(SECONDS)
        servers.world["NOTIFY_SOCKET"] = where
        child, _ = servers.serve(f"unix:{servers.home}/s", "--store", "a", "--policy", "open.policy")
        assert systemd.recv(100) == b"READY=1"
        child.send_signal(signal.SIGTERM)
        assert systemd.recv(100) == b"STOPPING=1"
        assert child.wait(SECONDS) == 0
    # Nobody listens there any more, which is no reason not to serve.
    child, _ = servers.serve(f"unix:{servers.home}/s", "--store", "a", "--policy", "open.policy", log="alone")
    assert "READY=1" in servers.wait_for("note", log="alone")["text"]
    child.send_signal(signal.SIGTERM)
    assert child.wait(SECONDS) == 0


@pytest.mark.net
def test_a_reload_takes_renewed_certificates_and_names_what_it_does_not_take(servers: Servers) -> None:
    home = servers.home
    before, after = (make_self_signed((name, "127.0.0.1")) for name in ("before.example", "after.example"))
    (home / "pair.pem").write_bytes(b"".join(before))
    (home / "after.pem").write_bytes(after[0])
    words = "address wss:127.0.0.1:0\ncertificate pair.pem\npolicy open.policy\nsocket-mode {}\n"
    config = home / "lace.serve"
    config.write_text(words.format(600))
    child, ready = servers.serve("--store", "a", "--config", "lace.serve", "--metrics", "0")
    (address,) = ready["addresses"]
    sync = "sync", address, "--store", "b", "--policy", "open.policy", "--tls-ca", "after.pem"
    servers.run(*sync, code=9)
    (home / "pair.pem").write_bytes(b"".join(after))
    config.write_text(words.format(660))
    child.send_signal(signal.SIGHUP)
    servers.wait_for("reloaded")
    assert servers.run(*sync)["outcome"] == "converged"
    config.write_text(words.format(600))
    (home / "pair.pem").write_bytes(b"".join(make_self_signed(days=2)))
    child.send_signal(signal.SIGHUP)
    servers.wait_for("reloaded", 2)
    kept, expires = (each["text"] for each in servers.events() if each["event"] == "note")
    assert kept.endswith("the old words hold for: socket-mode"), "and what is as it was is not named"
    assert expires.startswith("the certificate expires at")
    page = urllib.request.urlopen(ready["metrics"], timeout=10).read().decode()
    assert '\nlace_certificate_expires_timestamp_seconds{word="certificate"} 1' in page


def test_a_log_on_a_full_disk_is_written_again_where_there_is_room(tmp_path: Path) -> None:
    """What cannot be written to the old file keeps nobody from going on in the new one."""
    path = tmp_path / "log"
    path.symlink_to("/dev/full")
    log = LogFile(path)
    with suppress(OSError):
        log.write("lost")
    path.unlink()
    log.reopen()
    log.write("told")
    log.close()
    assert path.read_text() == "told\n"


def test_a_reload_that_took_longer_than_a_later_one_changes_nothing(tmp_path: Path) -> None:
    """Whoever asks twice means the files as they are the second time."""
    slow, begun = Event(), Event()
    old, new = Arrangement(per_host=1), Arrangement(per_host=2)
    found = iter([old, new])

    def again() -> Arrangement:
        arrangement = next(found)
        if arrangement is old:
            begun.set()
            assert slow.wait(SECONDS)
        return arrangement

    async def run() -> None:
        with Lace() as lace:
            serving = Serving(lace.exchanges, Arrangement())
            log = ServerLog(told.append), LogFile(None)
            steered = ServerRun(call, lace, serving.arrangement, again, secret=None, log=log)
            first = asyncio.create_task(steered._reload(serving))
            await asyncio.to_thread(begun.wait, SECONDS)
            await steered._reload(serving)
            slow.set()
            await first
            assert serving.arrangement is new
            assert len(told) == 1

    call: Any = None  # nobody is told where it is
    told: list[str] = []
    asyncio.run(run())


@pytest.mark.net
def test_on_stdio_a_server_ends_as_its_one_exchange_did(servers: Servers) -> None:
    pipes = {"stdin": subprocess.PIPE}
    child = servers.start("serve", "stdio", "--store", "a", "--policy", "open.policy", **pipes)
    child.communicate(b"no preface at all\n", timeout=SECONDS)
    assert child.returncode == 5


@pytest.mark.net
def test_either_side_may_be_killed_and_the_next_exchange_goes_on(servers: Servers) -> None:
    """SIGKILL in the middle of an exchange: what was stored stays, and both come to the same in the end."""
    where = f"unix:{servers.home}/s"
    child, _ = servers.serve(where, "--store", "a", "--policy", "open.policy")
    door = servers.home / "door", servers.home / "s", 60_000
    with holding(*door) as held:
        client = servers.start("sync", held, "--store", "b", "--policy", "open.policy", log="sync")
        servers.wait_for("agreed")
        client.kill()
    assert servers.wait_for("ended")["cause"] in ("peer-lost", "peer-closed")
    with holding(*door) as held:
        again = servers.start("sync", held, "--store", "b", "--policy", "open.policy", "--json", log="sync")
        servers.wait_for("agreed", 2)
        child.kill()
    assert again.wait(SECONDS) in (1, 4, 5)
    # The socket of the killed server is taken over.
    last, _ = servers.serve(where, "--store", "a", "--policy", "open.policy", "--once", log="second")
    servers.run("sync", where, "--store", "b", "--policy", "open.policy")
    assert last.wait(SECONDS) == 0
    with Lace.open(servers.home / "a") as left, Lace.open(servers.home / "b") as right:
        assert left.verify().sound
        assert right.verify().sound
        assert ids(left.store) == ids(right.store)
