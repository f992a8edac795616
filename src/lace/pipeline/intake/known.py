"""Ids that a lake holds, for the first pass: what is known was verified when it came in.

Rules of this file:
1. The answer is exact: a record is taken for known only by all 32 bytes of its payload.
2. It is asked for only where much is expected to be known, and only of lakes whose ids fit in memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lace.errors import TextError
from lace.pipeline.lake.read import read_range
from lace.pipeline.lake.snapshot import Snapshot
from lace.text import DIGEST_BYTES, id_payload

KNOWN_RECORDS: Final = 4_000_000
"""128 MB of payloads in each worker; in a larger lake signatures are verified again."""


class KnownIds:
    """The payloads of a version, sorted, in one piece of memory."""

    def __init__(self, snapshot: Snapshot) -> None:
        batches = [
            batch.column(0)
            for file in snapshot.of("records")
            for batch in read_range(snapshot.folder, file, columns=["payload"])
        ]
        column = pa.concat_arrays(batches) if batches else pa.array([], pa.binary())
        column = column.take(pc.sort_indices(column))
        self._bytes = b"".join(column.to_pylist())
        self._count = len(column)

    def __contains__(self, record_id: object) -> bool:
        assert isinstance(record_id, str)
        try:
            payload, known = id_payload(record_id), self._bytes
        except TextError:  # so far it is only what a markline says
            return False
        at = bisect_left(
            range(self._count), payload, key=lambda n: known[n * DIGEST_BYTES : (n + 1) * DIGEST_BYTES]
        )
        return known[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES] == payload


_loaded: dict[str, KnownIds] = {}


def known_ids(snapshot: Snapshot) -> Container[str]:
    """Return the ids of a version's records, or none where there are too many."""
    if not 0 < snapshot.rows("records") <= KNOWN_RECORDS:
        return frozenset()
    # A worker meets the same version in all tasks of a pass.
    made = snapshot.manifest.attempt
    if made not in _loaded:
        _loaded.clear()
        _loaded[made] = KnownIds(snapshot)
    return _loaded[made]
