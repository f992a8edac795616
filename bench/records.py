"""The ground floor against its floors: `make bench-records` (python -m bench.records).

    verify   a signature from bytes        against the library's own BIP-340 verify
    parse    parse, validate and facts     against the two BLAKE3 hashes of each record
    import   a stream into a sqlite store  against executemany of the same rows; import-small: a smaller one
    reopen   a million facts from columns  against the same facts from text

Every goal is a ratio, so that a faster machine alone meets none. That of an import depends on the size of the
store, because a row costs more in a larger table and a signature does not: it is judged at 200,000 records,
and shown at 30,000, where rows are cheap and the check of a record weighs most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw
from blake3 import blake3

from bench.harness import Contender, Goal, Line, main
from lace.datalog import compile_program, parse_program
from lace.engines import Database
from lace.facts import RECORD_PREDICATES, Predicate, facts_of_record, parse_fact_line, write_fact_line
from lace.porcelain import Shape, generate
from lace.porcelain.streams.transfer import Importer
from lace.record import MARKLINE_BYTES, Plex, parse_record
from lace.signing import Secret, sign, verify
from lace.signing.library import BLINDED, ffi, lib
from lace.stores import SqliteStore, find_sources
from lace.text import digest

SEED = 2
COMMIT = 1000
SETTINGS = (
    "page_size",
    "journal_mode",
    "synchronous",
    "secure_delete",
    "temp_store",
    "cache_size",
    "mmap_size",
    "wal_autocheckpoint",
    "journal_size_limit",
    "locking_mode",
)


@contextmanager
def verify_line(quick: bool) -> Iterator[Line]:
    """Verify signatures of as many keys; both sides start from the bytes of key, message and signature."""
    count = 200 if quick else 2000
    payloads = [digest(b"bench key %d" % n) for n in range(count)]
    messages = [digest(payload) for payload in payloads]
    ours, natives = [], []
    for payload, message in zip(payloads, messages, strict=True):
        secret = Secret(payload)
        ours.append((message, secret.verifier_bytes, sign(message, secret, payload)))
        natives.append((message, *sign_natively(message, payload)))

    def native(_: object) -> None:
        for message, x, signature in natives:
            key = ffi.new("secp256k1_xonly_pubkey *")
            assert lib.secp256k1_xonly_pubkey_parse(BLINDED, key, x)
            assert lib.secp256k1_schnorrsig_verify(BLINDED, signature, message, len(message), key)

    def lace(_: object) -> None:
        for message, x, signature in ours:
            assert verify(message, x, signature)

    yield Line(
        "verify from bytes, distinct keys",
        "signature",
        count,
        Contender("libsecp256k1 BIP-340 verify", native),
        Contender("lace.signing.verify", lace),
        Goal(0.80, "rate"),
    )


def sign_natively(message: bytes, payload: bytes) -> tuple[bytes, bytes]:
    """Return the x of a key and its signature as BIP-340 has them."""
    pair, key = ffi.new("secp256k1_keypair *"), ffi.new("secp256k1_xonly_pubkey *")
    assert lib.secp256k1_keypair_create(BLINDED, pair, payload)
    assert lib.secp256k1_keypair_xonly_pub(BLINDED, key, ffi.NULL, pair)
    x, signature = ffi.new("unsigned char [32]"), ffi.new("unsigned char [64]")
    assert lib.secp256k1_xonly_pubkey_serialize(BLINDED, x, key)
    assert lib.secp256k1_schnorrsig_sign32(BLINDED, signature, message, pair, payload)
    return bytes(ffi.buffer(x)), bytes(ffi.buffer(signature))


def plexes(count: int) -> list[bytes]:
    """Return unsealed Plex records of the generator, as bytes."""
    records = generate(SEED, count * 2, shape=Shape(sealed=0))
    return [record.raw for record in records if isinstance(record, Plex)][:count]


@contextmanager
def parse_line(quick: bool) -> Iterator[Line]:
    """Parse and validate Plex records and make their facts; the floor only hashes what has to be hashed."""
    raws = plexes(1000 if quick else 20_000)
    blobs = [
        len(record.raw) - record.blob.size for record in map(parse_record, raws) if isinstance(record, Plex)
    ]
    payloads = [
        (raw[MARKLINE_BYTES:], raw[blob + MARKLINE_BYTES :]) for raw, blob in zip(raws, blobs, strict=True)
    ]

    def hashes(_: object) -> None:
        for plex, blob in payloads:
            blake3(blob).digest()
            blake3(plex).digest()

    def lace(_: object) -> None:
        for raw in raws:
            facts_of_record(parse_record(raw))

    mean = sum(map(len, raws)) / len(raws)
    yield Line(
        f"parse, validate, facts of a Plex of {mean:.0f} bytes",
        "record",
        len(raws),
        Contender("its two BLAKE3 hashes", hashes),
        Contender("facts_of_record(parse_record(raw))", lace),
        Goal(12, "time"),
    )


@contextmanager
def new_file() -> Iterator[Path]:
    """Name a file in a folder of its own, on the disk where temporary files live."""
    with TemporaryDirectory(prefix="lace-bench-") as folder:
        yield Path(folder) / "bench.lace"


def import_file(store: SqliteStore, path: Path) -> None:
    """Import a file as `lace import` does: read and checked by one process, stored by another."""
    Importer(store, None, None, None, batch_records=COMMIT).run(find_sources([path]))


class Copy(NamedTuple):
    """What a plain copy of a store needs: how it is set up, and its rows, a thousand records at a time."""

    settings: dict[str, Any]
    schema: list[str]
    inserts: list[str]
    commits: list[list[list[tuple[Any, ...]]]]
    """For each commit, the rows of each insert."""


def read_back(path: Path) -> Copy:
    """Read a store's own tables, row by row."""
    with SqliteStore(path) as store:
        writer = store._connections.writer
        assert writer is not None
        settings = {name: writer.execute(f"PRAGMA {name}").get for name in SETTINGS}
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    schema = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
    records = list(connection.execute("SELECT * FROM record ORDER BY id"))
    segments = list(connection.execute("SELECT * FROM segment ORDER BY first"))
    others = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for name in set(others) - {"record", "segment", "state"}:
        assert not connection.execute(f"SELECT count(*) FROM {name}").get, f"{name} has rows: copy them too"
    connection.close()
    commits = []
    for first in range(0, len(records), COMMIT):
        rows = records[first : first + COMMIT]
        ends = range(rows[0][0], rows[-1][0] + 1)
        commits.append([rows, [segment for segment in segments if segment[1] in ends]])
    assert sum(len(rows) for _, rows in commits) == len(segments)
    inserts = [
        f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})"
        for table, rows in (("record", records), ("segment", segments))
    ]
    return Copy(settings, schema, inserts, commits)


def import_line(quick: bool) -> AbstractContextManager[Line]:
    """Import into a store that grows."""
    return import_of((6 if quick else 200) * COMMIT)


def import_small_line(quick: bool) -> AbstractContextManager[Line]:
    """Import into a store that stays small: a plain row costs little there, and validation weighs more."""
    return import_of((3 if quick else 30) * COMMIT, shown=True)


@contextmanager
def import_of(count: int, *, shown: bool = False) -> Iterator[Line]:
    """Import a stream of generated records; the floor only inserts the rows that the import wrote."""
    folder = TemporaryDirectory(prefix="lace-bench-")
    stream = Path(folder.name) / "bench.records"
    with stream.open("wb") as file:
        file.writelines(record.raw for record in generate(SEED, count))
    with new_file() as path:
        with SqliteStore(path) as store:
            import_file(store, stream)
        copy = read_back(path)

    @contextmanager
    def fresh_store() -> Iterator[SqliteStore]:
        with new_file() as path, SqliteStore(path) as store:
            yield store

    @contextmanager
    def fresh_tables() -> Iterator[apsw.Connection]:
        with new_file() as path:
            connection = apsw.Connection(str(path))
            for name, value in copy.settings.items():
                connection.execute(f"PRAGMA {name} = {value}")
            assert {name: connection.execute(f"PRAGMA {name}").get for name in SETTINGS} == copy.settings
            for statement in copy.schema:
                connection.execute(statement)
            yield connection
            connection.close()

    def plain(connection: apsw.Connection) -> None:
        for commit in copy.commits:
            connection.execute("BEGIN IMMEDIATE")
            for insert, rows in zip(copy.inserts, commit, strict=True):
                connection.executemany(insert, rows)
            connection.execute("COMMIT")

    yield Line(
        f"import {count:,} records into a sqlite store, 1000 a commit",
        "record",
        count,
        Contender("executemany of the same rows", plain, fresh_tables),
        Contender("import", lambda store: import_file(store, stream), fresh_store),
        Goal(0.5, "rate"),
        judged_by="wall",
        shown=shown,
    )
    folder.cleanup()


IN_A_GROUP = compile_program(parse_program("InGroup(P) :- Field(P,'Group',_,'u')."))


def ask(database: Database) -> tuple[list[int], int]:
    """Ask something of every predicate, and for the records with one field."""
    counts = [database.relations.size(predicate) for predicate in RECORD_PREDICATES]
    return counts, database.evaluate(IN_A_GROUP).result().count(Predicate("InGroup", 1))


def reopened(store: SqliteStore) -> Database:
    """Return the facts of a store, ready for programs."""
    database = Database()
    database.add_columns(store.fact_columns())
    return database


@contextmanager
def reopen_line(quick: bool) -> Iterator[Line]:
    """Reopen a store's facts, as every verb does; the floor reads the same facts from text."""
    wanted = 20_000 if quick else 1_000_000
    with new_file() as path:
        records = generate(SEED, wanted, shape=Shape(sealed=0))
        with SqliteStore(path) as store:
            while store.stats().facts < wanted:
                store.put_many(list(islice(records, COMMIT)))
            facts = [fact for segment in store.segments() for fact in segment.facts()]
            expected = ask(reopened(store))
        lines = path.with_suffix(".facts")
        lines.write_text("".join([write_fact_line(fact) + "\n" for fact in facts]), encoding="utf-8")
        count = len(facts)
        del facts

        def segments(_: object) -> None:
            with SqliteStore(path, read_only=True) as store:
                assert ask(reopened(store)) == expected

        def text(_: object) -> None:
            with lines.open(encoding="utf-8") as file:
                loaded = Database([parse_fact_line(line[:-1]) for line in file])
            assert ask(loaded) == expected

        yield Line(
            "reopen facts, ready to answer",
            "fact",
            count,
            Contender("the same facts from text lines", text),
            Contender("segments of the store", segments),
            Goal(0.1, "time"),
        )


LINES = {
    "verify": verify_line,
    "parse": parse_line,
    "import": import_line,
    "import-small": import_small_line,
    "reopen": reopen_line,
}

if __name__ == "__main__":
    main(LINES)
