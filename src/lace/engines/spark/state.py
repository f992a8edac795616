"""What one evaluation knows so far: a relation for each predicate, and how scans read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import Column, Part, RankTest, Scan
from lace.engines.relations import PARTED
from lace.engines.spark.pipelines import BROADCAST_ROWS, matched
from lace.engines.spark.rank import ranks
from lace.engines.spark.relation import Relation
from lace.facts import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BEFORE_KEEPING = 3
"""So often a small relation is read where it is: most recursions end soon."""


class State:
    """Relations by predicate."""

    def __init__(
        self, session: SparkSession, supplied: Mapping[Predicate, DataFrame], sizes: Mapping[Predicate, int]
    ) -> None:
        self.session = session
        self._relations = {
            predicate: Relation(predicate, frame, sizes.get(predicate, 0))
            for predicate, frame in supplied.items()
        }
        self._counts: dict[tuple[Scan, int, int], int] = {}

    def relation(self, predicate: Predicate) -> Relation:
        """Return what is known of a predicate."""
        relation = self._relations.get(predicate)
        if relation is None:
            relation = self._relations[predicate] = Relation(predicate)
        return relation

    def one_row(self) -> DataFrame:
        """Return one row that says nothing."""
        return self.session.range(1, numPartitions=1).select(F.lit(True).alias("u"))

    def read(self, scan: Scan) -> DataFrame | None:
        """Return the rows that a scan's part and view select; None where there are none."""
        relation = self.relation(scan.predicate)
        match scan.part:
            case Part.NEW:
                frame = relation.new()
            case Part.OLD:
                frame = relation.old()
            case _:
                frame = relation.known()
        if frame is None or (scan.part is Part.ALL and not relation.size):
            return None
        if scan.view is None:
            return frame
        view = self.relation(scan.view).known()
        return None if view is None else frame.join(view.select("c0"), on="c0", how="left_semi")

    def size(self, scan: Scan) -> int:
        """Return how many rows a scan's part of its relation has at the most."""
        relation = self.relation(scan.predicate)
        match scan.part:
            case Part.NEW:
                return relation.newest
            case Part.OLD:
                return relation.size - relation.newest
        return relation.size

    def is_counted(self, scan: Scan) -> bool:
        """Tell whether the count of a scan is known."""
        return is_plain(scan) or (scan.part is Part.ALL and self._version(scan) in self._counts)

    def count(self, scan: Scan) -> int:
        """Return how many rows fit a scan."""
        frame = self.read(scan)
        if frame is None:
            return 0
        if is_plain(scan):
            return self.size(scan)
        if scan.part is not Part.ALL:
            return matched(frame, scan).count()
        version = self._version(scan)
        if version not in self._counts:
            self._counts[version] = matched(frame, scan).count()
        return self._counts[version]

    def _version(self, scan: Scan) -> tuple[Scan, int, int]:
        """Return what a count depends on: relations only grow, so their sizes tell versions apart."""
        view = 0 if scan.view is None else self.relation(scan.view).size
        return _pattern(scan), self.relation(scan.predicate).size, view

    def table_size(self, scan: Scan, derived: Iterable[Predicate]) -> int:
        """Return the size of the table that the embedded engine would read for a scan."""
        at = None if scan.predicate in derived else PARTED.get(scan.predicate)
        named = at is not None and not isinstance(scan.places[at], Column) and scan.places[at] is not None
        places = tuple(
            place if named and here == at else Column(f"{here}") for here, place in enumerate(scan.places)
        )
        return self.count(Scan(scan.predicate, places, scan.part, scan.view))


def is_plain(scan: Scan) -> bool:
    """Tell whether a scan selects every row of its relation."""
    names = [place.name for place in scan.places if isinstance(place, Column)]
    places = sum(place is None for place in scan.places)
    return scan.view is None and len(set(names)) + places == len(scan.places)


def _pattern(scan: Scan) -> Scan:
    """Return the scan under names that depend on what it selects only."""
    names: dict[str, Column] = {}
    places = tuple(
        names.setdefault(place.name, Column(f"{len(names)}")) if isinstance(place, Column) else place
        for place in scan.places
    )
    return Scan(scan.predicate, places, scan.part, scan.view)


class ComponentSource:
    """Reads relations for the pipelines of one component."""

    def __init__(self, state: State, own: Iterable[Predicate], *, again: bool) -> None:
        self._state = state
        self._own = frozenset(own)
        self._again = again
        """Whether scans of other relations come again in every round."""
        self._kept: dict[tuple[Scan, tuple[str, ...]], DataFrame] = {}
        self._asked: dict[tuple[Scan, tuple[str, ...]], int] = {}

    def rows(self, scan: Scan) -> DataFrame | None:
        """Return the rows of a scan."""
        return self._state.read(scan)

    def size(self, scan: Scan) -> int:
        """Return the size of a scan's part at the most."""
        return self._state.size(scan)

    def count(self, scan: Scan) -> int:
        """Return how many rows fit a scan."""
        return self._state.count(scan)

    def is_counted(self, scan: Scan) -> bool:
        """Tell whether counting a scan needs no job."""
        return self._state.is_counted(scan)

    def kept(self, scan: Scan, keys: tuple[str, ...], make: Callable[[], DataFrame]) -> DataFrame:
        """Return what `make` makes; where it is needed again and again and does not change, it is kept."""
        if not self._again or scan.predicate in self._own:
            return make()
        pattern = (_pattern(scan), keys)
        if pattern not in self._kept:
            self._asked[pattern] = self._asked.get(pattern, 0) + 1
            if self._state.size(scan) <= BROADCAST_ROWS and self._asked[pattern] <= _BEFORE_KEEPING:
                return make()
            self._kept[pattern] = make().localCheckpoint()
        return self._kept[pattern]

    def ranks(self, test: RankTest, wanted: DataFrame) -> DataFrame:
        """Return how many others come before each item."""

        def fitting(scan: Scan) -> DataFrame | None:
            frame = self._state.read(scan)
            return None if frame is None else matched(frame, scan)

        found = ranks(test, wanted, fitting)
        if found is None:
            return wanted.limit(0).select("item", F.lit(0).cast("long").alias("n"))
        return found
