"""Three notes in a lace, and rules about them."""

from __future__ import annotations

from pathlib import Path

from lace.porcelain import Lace
from lace.record import make_plex

FIRST = make_plex("u", "notes", "first", "1640995200:000000000", b"one")
SECOND = make_plex("u", "notes", "second", "1640995201:000000000", b"two", [("+Link", f"reply {FIRST.id}")])
OTHER = make_plex("v", "notes", "other", "1640995202:000000000", b"three", [("+Link", f"see {SECOND.id}")])
RECORDS = (FIRST, SECOND, OTHER)

RULES = """\
Answer(P,Q) :- RecordLink(P,_,_,_,Q), Have(Q).
Thread(P,Q) :- Answer(P,Q).
Thread(P,R) :- Thread(P,Q), Answer(Q,R).
Mine(P) :- Have(P), Field(P,'Group',_,'u').
Open(P) :- Mine(P), not Answer(_,P).
"""


def stock(home: Path) -> None:
    """Put the notes into the lace of a folder, and the rules beside it."""
    with Lace.open(home) as lace:
        lace.put_records(RECORDS)
    (home / "notes.lacegram").write_text(RULES)
