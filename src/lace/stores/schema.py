"""Tables of the sqlite store, their version, and the steps from one version to the next.

    state      one row: the counter, and sums that make opening cheap
    record     the records; the row id is the StoreRecordId
    removal    what was taken away; with `record` it is the log
    forgotten  what is kept out
    segment    facts as columns: of the records from `first` to `last`, up to `state.covered`
    rotten     bytes that `verify` took out

Rules of this file:
1. A new store is an empty file, version 0, that takes the same steps as an old one.
2. All steps of a migration are one transaction: a store is migrated whole or not at all.
3. A step never changes what a past version wrote to `record.bytes`.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from lace.stores.faults import NewerSchema, NotAStore

APPLICATION_ID = 0x4C616365  # "Lace"; `file` and SQLite's own shell show it

# Version n becomes n + 1 by STEPS[n].
STEPS: tuple[str, ...] = (
    """
    CREATE TABLE state(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        generation TEXT NOT NULL,
        last INTEGER NOT NULL,
        records INTEGER NOT NULL,
        record_bytes INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (1, lower(hex(randomblob(16))), 0, 0, 0);
    CREATE TABLE record(
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        coordinate TEXT,
        tai TEXT,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE INDEX record_coordinate ON record(coordinate, tai) WHERE coordinate IS NOT NULL;
    CREATE TABLE removal(seq INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, hash TEXT NOT NULL) STRICT;
    CREATE TABLE forgotten(hash TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE rotten(seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
    """,
    """
    CREATE TABLE segment(
        first INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        records INTEGER NOT NULL,
        body BLOB NOT NULL
    ) STRICT;
    ALTER TABLE state ADD COLUMN covered INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE state ADD COLUMN tail_records INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE state ADD COLUMN tail_bytes INTEGER NOT NULL DEFAULT 0;
    UPDATE state SET tail_records = records, tail_bytes = record_bytes;
    """,
)
VERSION = len(STEPS)


def pragma_int(connection: apsw.Connection, name: str) -> int:
    """Return a pragma that is one number."""
    value = connection.execute(f"PRAGMA {name}").get
    assert isinstance(value, int)
    return value


def check_kind(
    connection: apsw.Connection, where: str, known: int = VERSION, kind: int = APPLICATION_ID
) -> int:
    """Return the schema version, 0 for an empty file; refuse other files and later versions."""
    found, version, empty = _read_kind(connection)
    if found != kind:
        if not (empty and found == version == 0):
            raise NotAStore(where=where, reason="it is an SQLite database of another kind")
        return 0
    if version > known:
        raise NewerSchema(where=where, found=version, known=known)
    return version


def _read_kind(connection: apsw.Connection) -> tuple[int, int, bool]:
    """Return the kind of a file, its version, and whether it has no tables, of one state of it."""
    begins = not connection.in_transaction
    if begins:
        # Another process may be making the file: numbers of two moments make no sense together.
        connection.execute("BEGIN")
    try:
        kind, version = pragma_int(connection, "application_id"), pragma_int(connection, "user_version")
        return kind, version, not connection.execute("SELECT count(*) FROM sqlite_schema").get
    finally:
        if begins and connection.in_transaction:
            connection.execute("ROLLBACK")


def migrate(connection: apsw.Connection, where: str, steps: Sequence[str] = STEPS) -> int:
    """Bring a store to the last version in one transaction; return the version it had."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read inside the transaction: another process may have been quicker.
        found = check_kind(connection, where, len(steps))
        for step in steps[found:]:
            connection.execute(step)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return found
