"""Tables of the history file, and notes as rows of them (docs/design/history.md).

exchange    one row each: when, through which address, how it ended, sums
agreement   whose rules, for whose eyes; texts by id
batch       records that fared alike (that came, were about to leave, were held back …), an id a line
departure   which records of a batch that was about to leave did leave
text        lacegrams and transcripts, once for each content
forgotten   the time before which notes were deleted; only where some were
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from lace.drive.history import (
    Account,
    Agreement,
    Batch,
    Came,
    Ending,
    ExchangeEntry,
    ExchangeNumber,
    InForce,
    Leaving,
    Left,
    Note,
    Passage,
    Rejected,
    Role,
    Section,
    Stayed,
    Sums,
    Way,
)
from lace.facts import parse_fact_line, write_fact_line
from lace.stores import Reader, Row, Version, Writer
from lace.text import Tai, lacegram_id, parse_tai, plan_id

KIND: Final = 0x4C616348  # "LacH"
STEPS: Final = (
    """
    CREATE TABLE text(id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE exchange(
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        began TEXT NOT NULL,
        address TEXT,
        ended TEXT,
        cause TEXT,
        error_code TEXT,
        words TEXT,
        loops INTEGER NOT NULL DEFAULT 0,
        turns INTEGER NOT NULL DEFAULT 0,
        bytes_sent INTEGER NOT NULL DEFAULT 0,
        bytes_received INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE agreement(
        seq INTEGER PRIMARY KEY,
        exchange INTEGER NOT NULL,
        at TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        side INTEGER NOT NULL,
        plan TEXT NOT NULL,
        zero TEXT NOT NULL,
        one TEXT NOT NULL,
        peer TEXT,
        here TEXT,
        viewer TEXT NOT NULL,
        link_id TEXT,
        runtime TEXT NOT NULL,
        in_force TEXT NOT NULL
    ) STRICT;
    CREATE INDEX agreement_exchange ON agreement(exchange);
    CREATE TABLE batch(
        seq INTEGER PRIMARY KEY,
        exchange INTEGER NOT NULL,
        way TEXT NOT NULL,
        number INTEGER,
        at TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        loop INTEGER NOT NULL,
        tick TEXT,
        generation TEXT,
        last INTEGER,
        error_code TEXT,
        words TEXT,
        records INTEGER NOT NULL,
        ids TEXT NOT NULL
    ) STRICT;
    CREATE INDEX batch_exchange ON batch(exchange);
    CREATE TABLE departure(
        exchange INTEGER NOT NULL,
        number INTEGER NOT NULL,
        records INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        ids TEXT,
        PRIMARY KEY (exchange, number)
    ) STRICT, WITHOUT ROWID;
    """,
)
WORDS_CHARS: Final = 1000
LEAVING: Final = "leaving"

ENTRY_COLUMNS = """
    number, began, ended, address, cause, error_code, words, loops, turns, bytes_sent, bytes_received
"""
_COUNTS = """
    SELECT CASE WHEN way <> 'leaving' THEN way
                WHEN departure.records IS NULL THEN 'may-have-left' ELSE 'left' END,
           sum(coalesce(departure.records, batch.records))
    FROM batch LEFT JOIN departure ON departure.exchange = batch.exchange AND departure.number = batch.number
    WHERE batch.exchange = ? GROUP BY 1
"""
BATCHES = """
    SELECT batch.seq, batch.exchange, way, at, epoch, loop, tick, generation, last, error_code, words,
           batch.ids, departure.records, departure.ids
    FROM batch LEFT JOIN departure ON departure.exchange = batch.exchange AND departure.number = batch.number
"""
_INSERT_BATCH = """
    INSERT INTO batch(
        exchange, way, number, at, epoch, loop, tick, generation, last, error_code, words, records, ids)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def write_lines(records: Sequence[str]) -> str:
    """Write ids so that each stands between two ends of lines, and a search finds whole ones."""
    return "\n" + "\n".join(records) + "\n" if records else ""


def read_lines(lines: str) -> tuple[str, ...]:
    """Return the ids in lines."""
    return tuple(lines.split("\n")[1:-1])


def write_note(writer: Writer, number: ExchangeNumber, note: Note) -> None:
    """Write one note of an exchange."""
    match note:
        case Agreement():
            _write_agreement(writer, number, note)
        case Leaving():
            generation, last = note.version or (None, None)
            _write_batch(
                writer, number, LEAVING, note.at, note.epoch, note.records,
                batch=note.batch, loop=note.loop, tick=note.tick, generation=generation, last=last,
            )  # fmt: skip
        case Left():
            sql = "SELECT records FROM batch WHERE exchange = ? AND number = ?"
            (expected,) = next(writer.rows(sql, (number, note.batch)), (None,))
            ids = None if expected == len(note.records) else write_lines(note.records)
            writer.insert(
                "INSERT OR REPLACE INTO departure VALUES (?, ?, ?, ?, ?)",
                (number, note.batch, len(note.records), note.bytes, ids),
            )
        case Came():
            way = Way.CAME.value
            _write_batch(writer, number, way, note.at, note.epoch, note.records, loop=note.loop)
        case Stayed():
            _write_batch(writer, number, note.why.value, note.at, note.epoch, note.records)
        case Rejected():
            _write_batch(
                writer, number, Way.REJECTED.value, note.at, note.epoch, (note.record,),
                loop=note.loop, error_code=note.error_code, words=note.words[:WORDS_CHARS],
            )  # fmt: skip
        case Sums():
            _write_sums(writer, number, note)
        case Ending():
            _write_sums(writer, number, note.sums)
            words = None if note.words is None else note.words[:WORDS_CHARS]
            writer.insert(
                "UPDATE exchange SET ended = ?, cause = ?, error_code = ?, words = ? WHERE number = ?",
                (note.at, note.cause, note.error_code, words, number),
            )


def _write_batch(
    writer: Writer,
    number: ExchangeNumber,
    way: str,
    at: str,
    epoch: int,
    records: Sequence[str],
    *,
    batch: int | None = None,
    loop: int = 0,
    tick: str | None = None,
    generation: str | None = None,
    last: int | None = None,
    error_code: str | None = None,
    words: str | None = None,
) -> None:
    ids = write_lines(records)
    writer.insert(
        _INSERT_BATCH,
        (number, way, batch, at, epoch, loop, tick, generation, last, error_code, words, len(records), ids),
    )


def _write_sums(writer: Writer, number: ExchangeNumber, sums: Sums) -> None:
    writer.insert(
        "UPDATE exchange SET loops = ?, turns = ?, bytes_sent = ?, bytes_received = ? WHERE number = ?",
        (sums.loops, sums.turns, sums.bytes_sent, sums.bytes_received, number),
    )


def _write_agreement(writer: Writer, number: ExchangeNumber, note: Agreement) -> None:
    def keep(text: str, name: str | None = None) -> str:
        name = name or lacegram_id(text.encode())
        writer.insert("INSERT OR IGNORE INTO text VALUES (?, ?)", (name, text))
        return name

    keep(note.transcript, note.plan)
    zero, one = map(keep, note.operands)
    in_force = {
        "sections": [[each.role.value, each.name, keep(each.text)] for each in note.in_force.sections],
        "union": note.in_force.union,
        "trusted": note.in_force.trusted,
        "noted": note.in_force.noted,
    }
    writer.insert(
        "INSERT INTO agreement(exchange, at, epoch, side, plan, zero, one, peer, here, viewer, link_id,"
        " runtime, in_force) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, note.at, note.epoch, note.side, note.plan, zero, one, note.peer, note.here, note.viewer,
            note.link_id, "\n".join(map(write_fact_line, note.runtime)),
            json.dumps(in_force, ensure_ascii=False),
        ),
    )  # fmt: skip


_FORGET = (
    "DELETE FROM exchange WHERE ended < ?1",
    "DELETE FROM agreement WHERE exchange NOT IN (SELECT number FROM exchange)",
    "DELETE FROM batch WHERE at < ?1 OR exchange NOT IN (SELECT number FROM exchange)",
    """
    DELETE FROM departure WHERE NOT EXISTS (
        SELECT 1 FROM batch WHERE batch.exchange = departure.exchange AND batch.number = departure.number)
    """,
    """
    DELETE FROM text WHERE id NOT IN (
        SELECT plan FROM agreement UNION SELECT zero FROM agreement UNION SELECT one FROM agreement
        UNION SELECT json_extract(section.value, '$[2]')
        FROM agreement, json_each(agreement.in_force, '$.sections') AS section)
    """,
)


_NEWEST_OLDER = """
    SELECT max(at) FROM (
        SELECT ended AS at FROM exchange WHERE ended < ?1 UNION ALL SELECT at FROM batch WHERE at < ?1)
"""


def forget_before(writer: Writer, time: str) -> int:
    """Delete what was noted before a time, and the texts that nothing needs then; count the exchanges."""
    ((count,),) = writer.rows("SELECT count(*) FROM exchange WHERE ended < ?", (time,))
    ((newest,),) = writer.rows(_NEWEST_OLDER, (time,))
    if newest is not None:
        # Made when it is needed, so that earlier versions of this program go on with the file.
        writer.insert("CREATE TABLE IF NOT EXISTS forgotten(until TEXT NOT NULL) STRICT")
        newest = max(newest, read_forgotten(writer) or newest)
        writer.insert("DELETE FROM forgotten")
        writer.insert("INSERT INTO forgotten VALUES (?)", (newest,))
    for statement in _FORGET:
        writer.insert(statement, (time,) if "?1" in statement else ())
    return int(count)


def read_forgotten(reader: Reader) -> Tai | None:
    """Return until when what was noted is gone; None where nothing is."""
    if not list(reader.rows("SELECT 1 FROM sqlite_schema WHERE name = 'forgotten'")):
        return None
    ((until,),) = reader.rows("SELECT max(until) FROM forgotten")
    return None if until is None else parse_tai(until)


def find_ids(reader: Reader, starts: Sequence[str]) -> set[str]:
    """Return the ids that begin with one of these, of all that moved or was to."""
    found: set[str] = set()
    for start in starts:
        for (ids,) in reader.rows("SELECT ids FROM batch WHERE instr(ids, ?)", (f"\n{start}",)):
            found.update(each for each in read_lines(ids) if each.startswith(start))
    return found


def read_entry(reader: Reader, row: Row) -> ExchangeEntry:
    """Make an entry of a row of `ENTRY_COLUMNS`."""
    number, began, ended, address, cause, error_code, words, *sums = row
    sql = "SELECT peer, viewer, plan FROM agreement WHERE exchange = ? ORDER BY seq"
    agreed = list(reader.rows(sql, (number,)))
    _check_values((began, ended), (address, cause, error_code, words, *chain(*agreed)), sums)
    peer, viewer, _ = agreed[-1] if agreed else (None, None, None)
    plans = tuple(dict.fromkeys(plan for *_, plan in agreed))
    counts: dict[str, Any] = {way.replace("-", "_"): n for way, n in reader.rows(_COUNTS, (number,))}
    return ExchangeEntry(
        number, began, ended, address, peer, viewer, plans, cause, error_code, words, Sums(*sums), **counts
    )


def _check_values(times: Sequence[Any], texts: Sequence[Any], numbers: Sequence[Any]) -> None:
    """Refuse what nobody wrote: SQLite hands out what a disk made of a value, whatever its column is for."""
    for time in times:
        if time is not None:
            parse_tai(time)
    for kind, values in ((str, texts), (int, numbers)):
        for value in values:
            if value is not None and type(value) is not kind:
                raise TypeError(f"{str(value)[:40]!r} where a value of another type belongs")


def read_account(reader: Reader, number: int, row: Row, *, records: bool) -> Account:
    """Make the account of an exchange, from its row and what hangs on it."""
    columns = "at, epoch, side, plan, zero, one, peer, here, viewer, link_id, runtime, in_force"
    sql = f"SELECT {columns} FROM agreement WHERE exchange = ? ORDER BY seq"
    agreements = tuple(read_agreement(reader, each) for each in list(reader.rows(sql, (number,))))
    if not records:
        return Account(read_entry(reader, row), agreements)
    batches, rejections = [], []
    for each in reader.rows(f"{BATCHES} WHERE batch.exchange = ? ORDER BY batch.seq", (number,)):
        passage = read_passage(each)
        ids = read_lines(each[11] if each[13] is None else each[13])
        if passage.way is Way.REJECTED:
            error_code, words = passage.error_code or "", passage.words or ""
            rejections.append(Rejected(passage.at, passage.epoch, passage.loop, ids[0], error_code, words))
        else:
            batches.append(Batch(passage.way, passage.at, passage.epoch, passage.loop, ids))
    return Account(read_entry(reader, row), agreements, tuple(batches), tuple(rejections))


def read_agreement(reader: Reader, row: Row) -> Agreement:
    at, epoch, side, plan, zero, one, peer, here, viewer, link_id, runtime, in_force = row

    def text(name: str) -> str:
        (body,) = next(reader.rows("SELECT body FROM text WHERE id = ?", (name,)), ("",))
        # Its name is its hash: what a disk made of a text is not told as the rules that decided.
        if name not in (lacegram_id(body.encode()), plan_id(body.encode())):
            raise ValueError(f"what stands under {name} is another text, or none")
        return str(body)

    _check_values((at,), (plan, peer, here, viewer, link_id), (epoch, side))
    told = json.loads(in_force)
    sections = tuple(Section(Role(role), text(rules), name) for role, name, rules in told["sections"])
    return Agreement(
        at=at,
        epoch=epoch,
        side=side,
        plan=plan,
        transcript=text(plan),
        operands=(text(zero), text(one)),
        peer=peer,
        here=here,
        viewer=viewer,
        link_id=link_id,
        runtime=tuple(map(parse_fact_line, runtime.split("\n"))) if runtime else (),
        # Where an older note has no section, nobody knows whether there was none.
        in_force=InForce(sections, told["union"], told["trusted"], told.get("noted", bool(sections))),
    )


def read_passage(row: Row) -> Passage:
    """Make a passage of a row of `BATCHES`."""
    _, number, way, at, epoch, loop, tick, generation, last, error_code, words, _, gone, _ = row
    if way == LEAVING:
        way = Way.MAY_HAVE_LEFT if gone is None else Way.LEFT
    _check_values((at,), (tick, generation, error_code, words), (epoch, loop, last))
    if (generation is None) != (last is None):
        raise TypeError("half of a version of the store")
    version = None if generation is None else Version(generation, last)
    return Passage(number, Way(way), at, epoch, loop, tick, version, error_code, words)
