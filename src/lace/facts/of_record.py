"""The facts of one validated record (020, Record facts).

Rules of this file:
1. Only a `Record` comes in, and only validation makes one: invalid records produce no facts.
2. An outer record shows its inner ones by reference, under its own id; it never gives them a `Have`.
"""

from __future__ import annotations

from lace.facts.fact import VALUE_BYTES, Fact, check_fact
from lace.record import Blob, Record, Seal, split_link


def facts_of_record(record: Record, value_bytes: int = VALUE_BYTES) -> list[Fact]:
    """Return every record fact of a record.

    >>> from lace.record import make_blob
    >>> [fact[0] for fact in facts_of_record(make_blob(b"hello world"))]
    ['Have', 'Field', 'Field']
    """
    p = record.id
    if isinstance(record, Blob):
        facts: list[Fact] = [
            ("Have", p),
            ("Field", p, "Type", "0", "B"),
            ("Field", p, "Data-Length", "0", str(record.length)),
        ]
    else:
        if isinstance(record, Seal):
            plex = record.plex
            facts = [
                ("Have", p),
                ("Field", p, "Type", "0", "S"),
                ("Field", p, "Signed-By", "0", record.signer),
                ("Field", p, "Signature", "0", record.signature),
                ("PlexHash", p, plex.id),
            ]
        else:
            plex = record
            facts = [("Have", p), ("Field", p, "Type", "0", "P")]
        facts += (
            ("Field", p, "Group", "0", plex.group),
            ("Field", p, "App", "0", plex.app),
            ("Field", p, "Name", "0", plex.name),
            ("Field", p, "TAI", "0", plex.tai),
            ("Field", p, "Data-Length", "0", str(plex.blob.length)),
            ("BlobHash", p, plex.blob.id),
        )
        if plex.extra:
            for name, at, value in plex.indexed_extra():
                index = str(at)
                facts.append(("Field", p, name, index, value))
                if name[0] == "+":
                    link = split_link(name, value)
                    if link is not None:
                        facts.append(("RecordLink", p, name, index, *link))
    # A header line has at most 1024 bytes, so only a smaller limit can be passed here.
    if value_bytes < VALUE_BYTES:
        for fact in facts:
            check_fact(fact, value_bytes)
    return facts
