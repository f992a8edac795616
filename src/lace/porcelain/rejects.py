"""Parts of an import that are no valid records, set aside with their reasons: one JSON object a line.

    {"source": "…", "offset": 81, "bytes": 40, "code": "record/hash-mismatch", "error": "…", "raw": "<B64A>"}

Rules of this file:
1. A line is on its way to the disk before the journal counts it.
2. An import that goes on cuts the file back to what the journal knows of, so that no part is told twice.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from lace.porcelain.files import file_faults
from lace.record import Rejected
from lace.text import encode


def write_reject(source: str, part: Rejected) -> str:
    """Write a rejected part as a line of JSON, with its LF."""
    told_of = {
        "source": source,
        "offset": part.offset,
        "bytes": len(part.raw),
        "code": part.error.code,
        "error": str(part.error),
        "at": part.error.offset,
        "raw": encode(part.raw),
    }
    return json.dumps(told_of, ensure_ascii=False) + "\n"


class RejectFile:
    """The file that rejected parts are added to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with file_faults(path):
            self._file = path.open("ab")

    def cut(self, length: int) -> None:
        """Take away what was added after this length."""
        with file_faults(self.path):
            if self._file.tell() > length:
                os.ftruncate(self._file.fileno(), length)
                self._file.seek(length)

    def add(self, source: str, part: Rejected) -> None:
        """Add one part."""
        with file_faults(self.path):
            self._file.write(write_reject(source, part).encode("utf-8", "backslashreplace"))

    def flush(self) -> int:
        """Let the system have everything; return the length."""
        with file_faults(self.path):
            self._file.flush()
            return self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with file_faults(self.path):
            self._file.close()
