"""What every fact source promises (030, Fact sources): one suite for all of them, importable by strangers.

class TestMine(FactSourceContract):
    def source_of(self, records): return MySource(records)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence

import pytest

from lace.facts import RECORD_PREDICATES, Fact, FactSource, Predicate, facts_of_record
from lace.record import Record, make_blob, make_plex, make_seal
from tests.strategies import AUX, SECRETS

TAI = "1640995200:000000000"
TARGET = f"P.{'0' * 43}.H3"

_EXTRA = [
    ("Tag", "one"),
    ("Tag", "it's \\ here"),
    ("Tag", "one"),
    ("+Link", f"evidence {TARGET}"),
    ("+Link", TARGET.replace(".H3", ".H9")),
    ("+Link", "no target"),
    ("Überschrift", "naïve ☕ \U0001f5a7 "),
]
_PLEX = make_plex("u/v", "ding", "links/1", TAI, b"some data", _EXTRA)
_BARE = make_plex("u", "ding", "n", TAI, b"")

# An empty set, one of each type, everything at once, and records inside others beside themselves.
RECORD_SETS: dict[str, tuple[Record, ...]] = {
    "nothing": (),
    "a Blob": (make_blob(b"hello"),),
    "a Plex": (_PLEX,),
    "a Seal": (make_seal(_PLEX, SECRETS[0], AUX),),
    "all types": (make_blob(b"hello"), _PLEX, _BARE, make_seal(_BARE, SECRETS[1], AUX), make_blob(b"")),
    "inner records too": (
        _PLEX.blob,
        _PLEX,
        make_seal(_PLEX, SECRETS[0], AUX),
        make_seal(_PLEX, SECRETS[1], AUX),
    ),
}


class FactSourceContract(ABC):
    """Subclass it, say how a source over records is made, and name the class Test…"""

    @abstractmethod
    def source_of(self, records: Sequence[Record]) -> FactSource:
        """Return a source that holds the facts of these records and nothing else."""

    @pytest.fixture(params=RECORD_SETS)
    def records(self, request: pytest.FixtureRequest) -> tuple[Record, ...]:
        return RECORD_SETS[request.param]

    @pytest.fixture
    def source(self, records: tuple[Record, ...]) -> FactSource:
        return self.source_of(records)

    @pytest.fixture
    def facts(self, records: tuple[Record, ...]) -> list[Fact]:
        return [fact for record in records for fact in facts_of_record(record)]

    @pytest.mark.req("030-109")
    def test_it_answers_the_three_questions(self, source: FactSource) -> None:
        assert isinstance(source, FactSource)

    @pytest.mark.req("030-112")
    @pytest.mark.parametrize("predicate", RECORD_PREDICATES, ids=str)
    def test_iterate_yields_the_values_of_each_fact_once(
        self, source: FactSource, facts: list[Fact], predicate: Predicate
    ) -> None:
        expected = Counter([fact[1:] for fact in facts if fact[0] == predicate.name])
        assert Counter(source.iterate(*predicate)) == expected
        assert set(expected.values()) <= {1}

    @pytest.mark.req("030-112")
    @pytest.mark.parametrize("predicate", RECORD_PREDICATES, ids=str)
    def test_count_is_how_many_iterate_yields(self, source: FactSource, predicate: Predicate) -> None:
        assert source.count(*predicate) == len(list(source.iterate(*predicate)))

    @pytest.mark.req("030-110")
    @pytest.mark.parametrize("predicate", RECORD_PREDICATES, ids=str)
    def test_query_binds_from_the_left_and_leaves_the_rest_open(
        self, source: FactSource, predicate: Predicate
    ) -> None:
        everything = list(source.iterate(*predicate))
        assert Counter(source.query(*predicate)) == Counter(everything)
        for values in everything:
            for bound in range(1, predicate.arity + 1):
                expected = [found for found in everything if found[:bound] == values[:bound]]
                assert Counter(source.query(*predicate, *values[:bound])) == Counter(expected)

    @pytest.mark.parametrize("predicate", RECORD_PREDICATES, ids=str)
    def test_a_query_for_what_is_not_there_is_empty(self, source: FactSource, predicate: Predicate) -> None:
        for values in (("",), ("nobody",), (TARGET,), ("x",) * predicate.arity):
            assert list(source.query(*predicate, *values[: predicate.arity])) == []
        for known in list(source.iterate(*predicate))[:2]:
            assert list(source.query(*predicate, *known, "one too many")) == []

    @pytest.mark.parametrize(
        ("name", "arity"),
        [("Have", 0), ("Have", 2), ("Field", 3), ("Field", 5), ("have", 1), ("Edge", 2), ("", 0)],
    )
    def test_another_name_or_arity_is_another_predicate_and_empty(
        self, source: FactSource, name: str, arity: int
    ) -> None:
        assert list(source.iterate(name, arity)) == []
        assert list(source.query(name, arity)) == []
        assert list(source.query(name, arity, "x")) == []
        assert source.count(name, arity) == 0

    def test_asking_again_gives_the_same_answer(self, source: FactSource) -> None:
        for predicate in RECORD_PREDICATES:
            assert Counter(source.iterate(*predicate)) == Counter(source.iterate(*predicate))
            both = zip(source.iterate(*predicate), source.iterate(*predicate), strict=True)
            assert len(list(both)) == source.count(*predicate)

    @pytest.mark.req("030-003")
    def test_values_are_text_in_tuples_of_the_arity(self, source: FactSource) -> None:
        for predicate in RECORD_PREDICATES:
            for values in source.iterate(*predicate):
                assert type(values) is tuple
                assert len(values) == predicate.arity
                assert all(isinstance(value, str) for value in values)
