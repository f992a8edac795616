"""A second process on one store: it does what the lines on its stdin say, and answers with one line each.

`python -m tests.stores.other_process PATH` is the process; `OtherProcess` is this end of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from lace.stores import Added, SqliteStore
from tests.stores.model import facts_by_segments
from tests.stores.samples import sample


def answer(store: SqliteStore, verb: str, *arguments: Any) -> Any:
    """Do one thing."""
    if verb == "put":
        return [store.put(sample(number)).new for number in range(*arguments)]
    if verb == "remove":
        return store.remove([sample(number).id for number in arguments])
    if verb == "wait":
        return store.wait(*arguments).last
    if verb == "ids":
        return list(store.ids())
    if verb == "facts":
        return sorted(facts_by_segments(store))
    assert verb == "replay"
    held: dict[str, int] = {}
    for entry in store.log():
        if isinstance(entry, Added):
            held[entry.record_id] = entry.seq
        else:
            del held[entry.record_id]
    return [(number, record_id) for record_id, number in held.items()]


def serve(path: str) -> None:
    """Answer line by line."""
    with SqliteStore(path) as store:
        print(json.dumps("open"), flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(store, *json.loads(line))), flush=True)


class OtherProcess:
    """This end: `ask` and `answer`, or both in one."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stores.other_process", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            text=True,
        )

    def ask(self, *words: Any) -> None:
        """Say what to do, and do not wait for it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Return the next answer."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def __call__(self, *words: Any) -> Any:
        self.ask(*words)
        return self.answer()

    def __enter__(self) -> OtherProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate()


if __name__ == "__main__":
    serve(sys.argv[1])
