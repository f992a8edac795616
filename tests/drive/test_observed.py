"""Whoever watches is told of each record that arrived, or of all that arrived together, as he takes it."""

from __future__ import annotations

from collections.abc import Sequence

from lace.drive import Observed, RecordArrived, TakesArrivals, tell_arrivals, watch_all


class Many:
    """Takes records that arrived together."""

    def __init__(self) -> None:
        self.told: list[Observed] = []
        self.arrived: list[tuple[Sequence[str], int]] = []

    def __call__(self, observed: Observed) -> None:
        """Take in what happened."""
        self.told.append(observed)

    def arrive(self, records: Sequence[str], loop: int) -> None:
        """Take in records."""
        self.arrived.append((records, loop))


def test_records_that_arrive_together_are_told_as_each_observer_takes_them() -> None:
    many, single = Many(), list[Observed]()
    watching = watch_all(many, None, single.append)
    assert isinstance(watching, TakesArrivals)
    tell_arrivals(watching, ("B.x.H3", "B.y.H3"), 2)
    assert many.arrived == [(("B.x.H3", "B.y.H3"), 2)]
    assert single == [RecordArrived("B.x.H3", 2), RecordArrived("B.y.H3", 2)]
    watching(single[0])
    assert many.told == single[2:] == single[:1]
