"""A lake that takes part in exchanges, as any lace does.

    with JoinedLake.join("waters") as lake:
        lake.load()                                  # facts into memory, before anybody waits for them
        lake.sync("tcp:example.com", "town.policy")
        lake.fold()                                  # what came goes into the tables

Rules of this file:
1. History and cursors lie beside the inbox: what was noted about exchanges goes where their records wait.
2. Whether a lake fits is known before anybody is connected to, by its manifest alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lace.porcelain.lace import Lace
from lace.porcelain.place import HISTORY_FILE
from lace.stores import file_faults

if TYPE_CHECKING:
    from lace.pipeline import IngestReport, Lake, LakePeer, Session


def lake_history_file(lake: Lake, inbox: str | Path | None = None, *, make: bool = False) -> Path | None:
    """Return where exchanges of a lake are noted; None where it had none, and no place is to be made."""
    from lace.pipeline import NoInbox, inbox_folder

    try:
        folder = inbox_folder(lake, inbox)
    except NoInbox:
        return None
    file = folder / HISTORY_FILE
    if make:
        with file_faults(folder):
            folder.mkdir(parents=True, exist_ok=True)
    return file if make or file.exists() else None


class JoinedLake(Lace):
    """A lake behind the ordinary machine, with an inbox for what arrives."""

    def __init__(self, peer: LakePeer, *, max_resident: int | None = None) -> None:
        super().__init__(peer, history=peer.folder / HISTORY_FILE)
        self.peer = peer
        self._max_resident = max_resident

    @classmethod
    def join(
        cls, path: str | Path, *, inbox: str | Path | None = None, max_resident: int | None = None
    ) -> JoinedLake:
        """Open a lake for exchanges, where its facts are not more than may be held in memory.

        `inbox` is a folder of this machine for what arrives, where it is not to lie in the lake itself.
        """
        from lace.pipeline import LakePeer, check_resident, open_lake

        lake = open_lake(path)
        check_resident(lake, max_resident)
        return cls(LakePeer(lake, inbox), max_resident=max_resident)

    def load(self) -> None:
        """Load the facts of the lake: a dozen seconds for a million records."""
        self.exchanges.load()

    def fold(self, session: Session | None = None) -> IngestReport | None:
        """Put what has arrived into the tables, between two exchanges; None where nothing has."""
        return self.peer.fold(session)

    def renew(self) -> IngestReport | None:
        """Fold, and go on with the newest version, whoever made it; to be called between two exchanges.

        A version that has become too large is refused, and the lake goes on with the one before.
        """
        from lace.pipeline import check_resident

        folded: list[IngestReport | None] = []

        def change() -> None:
            check_resident(self.peer.lake, self._max_resident)
            folded.append(self.fold())
            self.peer.refresh()

        self.exchanges.renew(change)
        return folded[0]
