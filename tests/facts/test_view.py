"""The trust boundary: what a view shows, and that nothing else makes one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.facts import (
    CAN_QUERY_RECORD,
    GATED,
    RECORD_PREDICATES,
    Fact,
    FactSource,
    NotAView,
    Predicate,
    SetSource,
    View,
    check_view,
    full_view,
    query_view,
)

STORE: list[Fact] = [
    ("Have", "p"),
    ("Field", "p", "Group", "0", "X"),
    ("RecordLink", "p", "+Link", "0", "", "q"),
    ("BlobHash", "p", "b"),
    ("PlexHash", "p", "y"),
    ("Have", "q"),
    ("Field", "q", "Group", "0", "Y"),
    ("RecordLink", "q", "+Link", "0", "", "p"),
    ("BlobHash", "q", "b"),
    ("PlexHash", "q", "y"),
]


def seen(view: View, facts: list[Fact] = STORE) -> set[Fact]:
    """Return every record fact that a view shows."""
    source = view.resolve(SetSource(facts))
    return {(p.name, *values) for p in RECORD_PREDICATES for values in source.iterate(*p)}


def showing(*records: str) -> View:
    return query_view("me", "you", [("CanQueryRecord", "you", each) for each in records])


@pytest.mark.req("020-041", "020-045", "020-063")
def test_the_full_view_and_the_query_view_are_made_from_one_store() -> None:
    assert seen(full_view("me")) == set(STORE)
    assert seen(showing("p")) == set(STORE[:5])


@pytest.mark.req("020-053")
@pytest.mark.parametrize("predicate", RECORD_PREDICATES, ids=str)
def test_each_record_predicate_is_gated_by_its_record(predicate: Predicate) -> None:
    visible = {fact for fact in seen(showing("q")) if (fact[0], len(fact) - 1) == predicate}
    assert {fact[1] for fact in visible} == {"q"}
    assert len(visible) == 1


@pytest.mark.req("020-059")
def test_a_view_without_gates_is_empty() -> None:
    assert query_view("me", "you").is_empty
    assert seen(query_view("me", "you")) == set()


@pytest.mark.req("020-066", "020-077")
def test_a_link_shows_its_target_whether_or_not_that_is_queryable() -> None:
    links = [fact for fact in seen(showing("p")) if fact[0] == "RecordLink"]
    assert links == [("RecordLink", "p", "+Link", "0", "", "q")]
    assert ("Have", "q") not in seen(showing("p"))


@pytest.mark.req("020-077")
def test_an_inner_hash_can_be_read_although_its_record_is_hidden() -> None:
    inner = [("Have", "b"), ("BlobHash", "y", "b"), ("Have", "y")]
    shown = seen(showing("p"), [*STORE, *inner])
    assert {("BlobHash", "p", "b"), ("PlexHash", "p", "y")} <= shown
    assert shown.isdisjoint(inner)


@pytest.mark.req("020-075", "020-076")
def test_no_fact_of_a_record_is_there_without_its_gate() -> None:
    for view in (showing(), showing("p"), showing("p", "q")):
        assert {fact[1] for fact in seen(view)} == set(view.records or ())


@pytest.mark.req("020-046", "020-050")
@pytest.mark.parametrize(
    "viewer", ["V.p40AYCzfy~~z0aUf9Ia7yWDhNO0XXwseUWUqz1wsYbG.H3", "Opq_z", "left", "desk:7"]
)
def test_a_lookup_is_resolved_by_owner_viewer_and_snapshot(viewer: str) -> None:
    gates = [("CanQueryRecord", viewer, "p"), ("CanQueryRecord", "somebody else", "q")]
    view = query_view("me", viewer, gates)
    assert (view.owner, view.viewer, view.records) == ("me", viewer, frozenset({"p"}))
    assert seen(view, STORE[:1]) == {("Have", "p")}
    assert seen(view) == set(STORE[:5])


def test_a_view_shows_record_facts_and_nothing_else() -> None:
    source = full_view("me").resolve(
        SetSource([("Peer", "V"), ("Have", "p", "extra"), ("Advertised", "q", "V")])
    )
    assert [list(source.iterate(*p)) for p in (("Peer", 1), ("Have", 2), ("Advertised", 2))] == [[], [], []]


@pytest.mark.req("020-046")
def test_only_the_two_makers_make_a_view() -> None:
    with pytest.raises(NotAView):
        View("me", None, None)
    with pytest.raises(NotAView):
        View("me", "you", frozenset({"p"}), object())
    with pytest.raises(NotAView):
        check_view(SetSource(STORE), "you")
    with pytest.raises(NotAView):
        check_view(showing("p"), "somebody else")
    assert check_view(full_view("me"), "you").is_full
    assert check_view(showing("p"), "you") == showing("p")


def test_a_view_does_not_change() -> None:
    with pytest.raises(AttributeError):
        showing("p").records = None


@pytest.mark.req("020-053")
def test_a_view_is_made_of_gate_facts_alone() -> None:
    with pytest.raises(NotAView):
        query_view("me", "you", [("AllowQueryRecord", "you", "p")])
    with pytest.raises(NotAView):
        query_view("me", "you", [("CanQueryRecord", "you")])


class Held:
    """What an engine holds of a predicate."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate

    def under(self, first: str) -> list[str]:
        return ["p", "q"] if first == "you" else []


@pytest.mark.req("020-053")
def test_a_view_keeps_what_is_queryable_as_an_engine_holds_it() -> None:
    view = query_view("me", "you", Held(CAN_QUERY_RECORD))
    assert view == showing("p", "q")
    assert hash(view) == hash(showing("p", "q"))
    assert view.records == {"p", "q"}
    assert (view.shows("p"), view.shows("r"), view.is_full, view.is_empty) == (True, False, False, False)
    assert query_view("me", "them", Held(CAN_QUERY_RECORD)).is_empty
    with pytest.raises(NotAView):
        query_view("me", "you", Held(Predicate("AllowQueryRecord", 2)))


def test_views_of_the_same_records_are_equal_and_say_what_they_are() -> None:
    assert showing("p") == showing("p") != showing("q")
    assert hash(showing("p")) == hash(showing("p"))
    assert showing("p") != "p"
    assert repr(showing("p")) == "<view of me for you: 1 records>"
    assert repr(full_view("me")) == "<view of me for itself: everything>"


@given(st.frozensets(st.sampled_from("pqrst")), st.sampled_from([*GATED]), st.sampled_from("pqrst"))
def test_iterate_query_and_count_agree(records: frozenset[str], predicate: Predicate, record: str) -> None:
    facts = [(p.name, each, *("x",) * (p.arity - 1)) for p in GATED for each in "pqrst"]
    source: FactSource = showing(*records).resolve(SetSource(facts))
    all_of_it = list(source.iterate(*predicate))
    assert {values[0] for values in all_of_it} == records
    assert source.count(*predicate) == len(all_of_it) == len(records)
    assert bool(list(source.query(*predicate, record))) == (record in records)
