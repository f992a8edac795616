"""lace.datalog.facets: the table of names."""

from __future__ import annotations

import pytest

from lace.datalog import ADVERTISEMENT_PREDICATES, ALLOW_QUERY_RECORD, FACETS, RUNTIME_PREDICATES, VIEWER
from lace.facts import RECORD_PREDICATES


@pytest.mark.req("030-043", "030-047")
def test_the_three_facets_reserve_what_the_profile_says() -> None:
    assert sorted(FACETS) == ["datalog", "expose", "selector"]
    selector, expose = FACETS["selector"], FACETS["expose"]
    assert sorted(map(str, selector.required)) == ["SelectAdvertised/2", "SelectHave/1"]
    for name in ("MaySend", "MayRequest", "CanQueryRecord", "AllowQueryRecord", "o0_", "o1_x", "_x"):
        assert selector.is_refused(name)
    for name in ("MaySend", "MayRequest", "CanQueryRecord", "SelectHave", "SelectAdvertised", "o0_", "o1_x"):
        assert expose.is_refused(name)
    assert not any(map(expose.is_refused, ("AllowQueryRecord", "_x", "_Viewer", "MaySends")))
    assert not any(map(FACETS["datalog"].is_refused, ("MaySend", "_x", "o0_x")))


def test_base_predicates_by_facet() -> None:
    shared = frozenset((*RECORD_PREDICATES, *RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES))
    assert FACETS["datalog"].base == frozenset(RECORD_PREDICATES)
    assert FACETS["selector"].base == shared
    assert FACETS["expose"].base == shared | {VIEWER}
    assert FACETS["expose"].unreadable == frozenset(ADVERTISEMENT_PREDICATES)
    assert FACETS["expose"].outputs == {ALLOW_QUERY_RECORD}


def test_runtime_predicates_are_those_of_050() -> None:
    assert list(map(str, RUNTIME_PREDICATES)) == [
        *("Here/1", "Peer/1", "Transport/1", "TransportEncrypted/0"),
        *("StartTAI/1", "TickTAI/1", "ClockSkewSeconds/1"),
    ]
