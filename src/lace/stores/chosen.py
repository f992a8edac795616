"""The records that a caller names: several ids, never one text that would be read letter by letter.

Rules of this file:
1. All stores ask here, before anything is changed: what is forgotten is kept for good.
2. Ids of foreign hash formats are let through: a record never seen may be kept out too.
3. Whatever was forgotten may be allowed again, also what is no id.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.errors import InputError
from lace.text import RecordId, is_foreign_record_id

_MOST_CHARS = 64


class NotRecordIds(InputError):
    """Something else in place of several record ids."""

    code = "store/not-ids"
    text = "{given} {reason}; nothing was changed"


def check_several(record_ids: Iterable[RecordId]) -> tuple[RecordId, ...]:
    """Return what was given, several of whatever it is; a single text is refused.

    >>> check_several("B.")
    Traceback (most recent call last):
    lace.stores.chosen.NotRecordIds: 'B.' is one text, not several ids: put it into a list; nothing was \
changed
    """
    if isinstance(record_ids, str):
        reason = "is one text, not several ids: put it into a list"
        raise NotRecordIds(given=_show(record_ids), reason=reason)
    if not isinstance(record_ids, Iterable):
        raise NotRecordIds(given=_show(record_ids), reason="is not several ids: give a list of record ids")
    return tuple(record_ids)


def check_ids(record_ids: Iterable[RecordId]) -> tuple[RecordId, ...]:
    """Return several record ids, or raise for the first thing that is none."""
    ids = check_several(record_ids)
    for each in ids:
        if not (isinstance(each, str) and is_foreign_record_id(each)):
            reason = "is no record id: expected B., P. or S., 43 B64A characters, .H3"
            raise NotRecordIds(given=_show(each), reason=reason)
    return ids


def _show(given: object) -> str:
    if not isinstance(given, str):
        return f"a {type(given).__name__}"
    # A secret that was given by mistake is not repeated.
    return repr("&.…" if "&" in given else given[:_MOST_CHARS])
