"""Who carries payloads from one place to another: a resident lace server, rsync, git; and plain inserts.

Rules of this file:
1. Each carrier has a source that holds everything, and makes copies: into nothing, into what is equal, and
   into what lacks a little. What is prepared for a copy is outside the measured time.
2. Each counts its own bytes: the wire of lace, what rsync says it sent and received, the packs that git got.
3. A carrier whose program is not there says so and is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import apsw

from bench.records import COMMIT, SETTINGS, Copy, read_back
from lace.porcelain import Arrangement, Lace, Serving, parse_policy, parse_served
from lace.record import Record
from lace.stores import SqliteStore

EVERYTHING = """\
[select]
SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S).
[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Have(P).
"""
ADDRESSES = {"tcp": "tcp:127.0.0.1:0", "ws": "ws:127.0.0.1:0"}


class Missing(Exception):
    """A program that is not on this machine."""


class Carried(NamedTuple):
    """What a copy came to."""

    bytes: int
    """On the wire, both ways; 0 where nobody counts them."""


class Target(Protocol):
    """A place to copy to."""

    def copy(self) -> Carried:
        """Bring it up to date with the source."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Carrier(Protocol):
    """A source, and a way to copy from it."""

    name: str

    def target(self, folder: Path) -> Target:
        """Make an empty place to copy to."""
        ...

    def add(self, records: Sequence[Record]) -> None:
        """Put more into the source."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


# Lace.


class LaceServer:
    """A server in a process of its own, over one store."""

    def __init__(self, scheme: str, folder: Path, records: Iterable[Record]) -> None:
        self.name = f"lace, {scheme}"
        self._place = folder / f"lace-{scheme}"
        with Lace.init(self._place) as lace:
            fill(lace, records)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "bench.carriers", str(self._place), ADDRESSES[scheme]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address: str = self._ask(None)["address"]

    def _ask(self, command: str | None) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        if command is not None:
            print(command, file=self._child.stdin, flush=True)
        return json.loads(self._child.stdout.readline())

    def target(self, folder: Path) -> LaceTarget:
        """Make an empty store beside a process that stays."""
        return LaceTarget(self, folder / self.name.replace(", ", "-"))

    def add(self, records: Sequence[Record]) -> None:
        """Store more, as another process would."""
        with Lace.open(self._place) as lace:
            lace.put_records(records)

    def usage(self) -> tuple[float, int]:
        """Return the CPU seconds and the peak bytes of memory of the server so far."""
        told = self._ask("usage")
        return told["cpu"], told["peak"]

    def close(self) -> None:
        """End the process."""
        self._child.kill()
        self._child.wait()


class LaceTarget:
    """A resident client with a durable store."""

    def __init__(self, server: LaceServer, place: Path) -> None:
        self._server = server
        self.lace = Lace.init(place)
        self._policy = parse_policy(EVERYTHING)

    def copy(self) -> Carried:
        """Exchange until both have everything."""
        return asyncio.run(self._exchange())

    async def _exchange(self) -> Carried:
        async with self.lace.interlace(self._server.address, self._policy) as exchange:
            result = await exchange.result()
            assert result.complete, result
            at = exchange.progress()
            return Carried(at.bytes_received + at.bytes_sent)

    def close(self) -> None:
        """Let go of the store."""
        self.lace.close()


def fill(lace: Lace, records: Iterable[Record]) -> None:
    """Store records, a thousand a commit."""
    waiting: list[Record] = []
    for record in records:
        waiting.append(record)
        if len(waiting) == COMMIT:
            lace.put_records(waiting)
            waiting.clear()
    lace.put_records(waiting)


def serve() -> None:
    """Serve a store until stdin ends; answer `usage`."""
    place, address = sys.argv[1:]

    async def run() -> None:
        arrangement = Arrangement((parse_served(address),), parse_policy(EVERYTHING))
        with Lace.open(place) as lace:
            async with Serving(lace.exchanges, arrangement).open() as serving:
                print(json.dumps({"address": str(serving.addresses[0])}), flush=True)
                while await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
                    used = resource.getrusage(resource.RUSAGE_SELF)
                    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
                    told = {"cpu": used.ru_utime + used.ru_stime, "peak": peak}
                    print(json.dumps(told), flush=True)

    asyncio.run(run())


# Plain inserts of the rows that a store of these records has.


class Inserts:
    """The same rows into the same kind of file, and nothing else."""

    name = "plain inserts"

    def __init__(self, folder: Path, records: Sequence[Record]) -> None:
        path = folder / "rows.lace"
        with SqliteStore(path) as store:
            for first in range(0, len(records), COMMIT):
                store.put_many(records[first : first + COMMIT])
        self._copy: Copy = read_back(path)

    def target(self, folder: Path) -> InsertsTarget:
        """Make an empty file with the tables of a store."""
        return InsertsTarget(self._copy, folder / "plain.lace")

    def add(self, records: Sequence[Record]) -> None:
        """Nothing: rows are inserted into nothing only."""

    def close(self) -> None:
        """Nothing to let go of."""


class InsertsTarget:
    """A file with the tables of a store."""

    def __init__(self, copy: Copy, path: Path) -> None:
        self._copy = copy
        self._connection = apsw.Connection(str(path))
        for name, value in copy.settings.items():
            self._connection.execute(f"PRAGMA {name} = {value}")
        assert {name: self._connection.execute(f"PRAGMA {name}").get for name in SETTINGS} == copy.settings
        for statement in copy.schema:
            self._connection.execute(statement)

    def copy(self) -> Carried:
        """Insert all rows, in the commits in which they were."""
        for commit in self._copy.commits:
            self._connection.execute("BEGIN IMMEDIATE")
            for insert, rows in zip(self._copy.inserts, commit, strict=True):
                self._connection.executemany(insert, rows)
            self._connection.execute("COMMIT")
        return Carried(0)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


# Files and rsync.


class Rsync:
    """Each record a file, in folders by the first characters of its hash."""

    name = "rsync"

    def __init__(self, folder: Path, records: Iterable[Record]) -> None:
        self._program = find("rsync")
        self._source = folder / "files"
        self._write(records)

    def _write(self, records: Iterable[Record]) -> None:
        for record in records:
            path = self._source / record.id[2:4].replace("~", "-") / record.id
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(record.raw)

    def target(self, folder: Path) -> RsyncTarget:
        """Make an empty folder."""
        return RsyncTarget(self._program, self._source, folder / "copy")

    def add(self, records: Sequence[Record]) -> None:
        """Write more files."""
        self._write(records)

    def close(self) -> None:
        """Leave the files to whoever made the folder."""


class RsyncTarget:
    """A folder that follows another one."""

    def __init__(self, program: str, source: Path, place: Path) -> None:
        self._line = [program, "-a", "--no-whole-file", "--stats", f"{source}/", f"{place}/"]

    def copy(self) -> Carried:
        """Run rsync; its two processes talk to each other over a pipe."""
        told = subprocess.run(self._line, capture_output=True, text=True, check=True).stdout
        found = re.findall(r"Total bytes (?:sent|received): ([\d,.]+)", told)
        return Carried(sum(int(re.sub(r"\D", "", each)) for each in found))

    def close(self) -> None:
        """Nothing to let go of."""


# Blobs and git fetch.


class Git:
    """Each record a blob, all of them in one tree."""

    name = "git fetch"

    def __init__(self, folder: Path, records: Iterable[Record]) -> None:
        self._program = find("git")
        self._source = folder / "git"
        self._count = 0
        run_git(self._program, "init", "--quiet", "--bare", str(self._source))
        self._commit(records)

    def _commit(self, records: Iterable[Record]) -> None:
        """Add a commit that adds these blobs to the tree."""
        self._count += 1
        before = ["from refs/heads/main^0"] if self._count > 1 else []
        head = ["commit refs/heads/main", "committer a <a@example.org> 1700000000 +0000", "data 1", "."]
        lines: list[bytes] = ["\n".join([*head, *before, ""]).encode()]
        for record in records:
            name = record.id.replace("~", "-")
            lines.append(f"M 100644 inline {name[2:4]}/{name}\ndata {len(record.raw)}\n".encode())
            lines.append(record.raw + b"\n")
        importing = ["-C", str(self._source), "fast-import", "--quiet"]
        run_git(self._program, *importing, given=b"".join(lines))

    def target(self, folder: Path) -> GitTarget:
        """Make an empty repository."""
        place = folder / "fetched"
        run_git(self._program, "init", "--quiet", "--bare", str(place))
        return GitTarget(self._program, self._source, place)

    def add(self, records: Sequence[Record]) -> None:
        """Commit more."""
        self._commit(records)

    def close(self) -> None:
        """Leave the repository to whoever made the folder."""


class GitTarget:
    """A repository that follows another one."""

    def __init__(self, program: str, source: Path, place: Path) -> None:
        self._program = program
        self._source = source
        self._place = place

    def copy(self) -> Carried:
        """Fetch through a pipe, and keep what comes as a pack."""
        before = self._packed()
        keep = ["-c", "fetch.unpackLimit=1", "-c", "gc.auto=0", "-C", str(self._place)]
        run_git(self._program, *keep, "fetch", "--quiet", f"file://{self._source}", "+main:main")
        return Carried(self._packed() - before)

    def _packed(self) -> int:
        return sum(path.stat().st_size for path in (self._place / "objects" / "pack").glob("*.pack"))

    def close(self) -> None:
        """Nothing to let go of."""


def find(program: str) -> str:
    """Return where a program is."""
    found = shutil.which(program)
    if found is None:
        raise Missing(f"{program} is not installed here")
    return found


def run_git(program: str, *words: str, given: bytes = b"") -> None:
    """Run git, whatever the user's own settings are."""
    world = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run([program, *words], input=given, env=world, check=True, capture_output=True)


@contextmanager
def opened(target: Target) -> Iterator[Target]:
    """Let go of a target afterwards."""
    try:
        yield target
    finally:
        target.close()


if __name__ == "__main__":
    serve()
