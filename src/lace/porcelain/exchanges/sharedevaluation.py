"""What an exchange decided over facts that it shares with others, read while they are its own.

An engine looks things up in tables that the next evaluation adds to, so nobody reads them beside it. Mostly
little is read: what came since the loop before, and whether a few records may be sent or asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from lace.interlace import Claim, Evaluation, Schema
from lace.policy import Extent, among, came_since
from lace.porcelain.exchanges.sharing import Sharing


class SharedExtent(Extent[str]):
    """What was decided over facts that others use too: whoever reads it has them for himself meanwhile."""

    __slots__ = ("_decided", "_sharing")

    def __init__(self, decided: AbstractSet[str], sharing: Sharing) -> None:
        self._decided = decided
        self._sharing = sharing

    def __len__(self) -> int:
        with self._sharing.held():
            return len(self._decided)

    def __iter__(self) -> Iterator[str]:
        with self._sharing.held():
            return iter([*self._decided])

    def __contains__(self, record: object) -> bool:
        with self._sharing.held():
            return record in self._decided

    def since(self, earlier: AbstractSet[str]) -> Collection[str] | None:
        """Return what came since an earlier decision, when it is our turn."""
        with self._sharing.held():
            return came_since(self._decided, earlier._decided if isinstance(earlier, SharedExtent) else None)

    def among(self, given: Collection[str]) -> list[str]:
        """Return those of some that are in the set, in their order, when it is our turn."""
        with self._sharing.held():
            return among(self._decided, given)


@dataclass(frozen=True, slots=True)
class SharedEvaluation:
    """An evaluation over facts that others use too: it has them for itself when it reads them later."""

    evaluation: Evaluation
    sharing: Sharing

    @property
    def may_send(self) -> AbstractSet[str]:
        """The extension of `MaySend`."""
        return SharedExtent(self.evaluation.may_send, self.sharing)

    @property
    def may_request(self) -> AbstractSet[str]:
        """The extension of `MayRequest`."""
        with self.sharing.held():
            decided = self.evaluation.may_request
        return SharedExtent(decided, self.sharing)

    @property
    def have(self) -> AbstractSet[str]:
        """What was in the store: no facts are read for it."""
        return self.evaluation.have

    def fields(self, records: Collection[str], schema: Schema) -> Mapping[str, Sequence[Claim]]:
        """Return the validated fields of records, when it is our turn."""
        with self.sharing.held():
            return self.evaluation.fields(records, schema)
