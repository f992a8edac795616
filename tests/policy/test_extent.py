"""Sets that grow, and what a version of one has beyond an earlier one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lace.engines import Database
from lace.policy import GrowingSet, Snapshot, among, came_since
from tests.policy.sides import EXPOSE_ALL, expose, policy, record

LETTERS = st.text("abcdefgh", max_size=4)


@given(st.lists(LETTERS, max_size=8), LETTERS)
def test_versions_stay_as_they_were_and_know_what_came(steps: list[str], asked: str) -> None:
    growing, versions, wanted = GrowingSet[str](), [], []
    held: set[str] = set()
    for step in steps:
        growing.add(step)
        held |= set(step)
        versions.append(growing.version())
        wanted.append(frozenset(held))
    for number, (now, then) in enumerate(zip(versions, wanted, strict=True)):
        assert (now, len(now), set(now)) == (then, len(then), then)
        assert [each in now for each in asked] == [each in then for each in asked]
        assert among(now, asked) == [each for each in asked if each in then]
        for before, had in zip(versions[: number + 1], wanted, strict=False):
            came = now.since(before)
            assert came is not None
            assert (set(came), len(came)) == (then - had, len(then - had))
            if had != then:
                assert before.since(now) is None, "it is not the earlier one"


def test_sets_that_have_nothing_to_do_with_each_other_are_compared_by_whoever_asks() -> None:
    one, other = GrowingSet("ab").version(), GrowingSet("abc").version()
    assert came_since(other, one) is None
    assert came_since(one, None) is None
    assert came_since(frozenset("abc"), one) is None
    assert came_since(one, one) == ()
    assert one & other == {"a", "b"}
    assert other - one == {"c"}


def test_a_version_does_not_see_what_is_added_while_somebody_looks() -> None:
    growing = GrowingSet("ab")
    before = growing.version()

    def asked() -> list[str]:
        growing.add("z")
        return ["a", "z"]

    class Late(list[str]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(asked())

    assert before.among(Late()) == ["a"]


ALL_U = "SelectHave(P) :- Field(P,'Group',_,'u').\nSelectAdvertised(P,S) :- Advertised(P,S)."


def test_a_decision_knows_what_came_since_an_earlier_one_and_says_nothing_where_something_went() -> None:
    side, database = policy(ALL_U, ALL_U, expose(EXPOSE_ALL)), Database(record("p", "u"))
    said = GrowingSet([("Advertised", "x", "V")])
    first = Snapshot(database, [("Peer", "V")], said.version())
    before = side.evaluate(first)
    database.add(record("q", "u") + record("r", "X"))
    said.add([("Advertised", "y", "V")])
    more = first.next(records=database, advertised=said.version())
    later = side.evaluate(more)
    assert later.sendable == later.may_send == {"p", "q"}
    assert came_since(later.sendable, before.sendable) == ["q"]
    assert came_since(later.requestable, before.requestable) == ["y"]
    assert came_since(later.sendable, before.requestable) is None
    assert (before.sendable, before.requestable, later.counts()) == ({"p"}, {"x"}, (2, 2))
    assert among(later.sendable, ["r", "q", "p", "s"]) == ["q", "p"]
    fewer = side.evaluate(more.next(advertised=[("Advertised", "y", "V")]))
    assert came_since(fewer.requestable, later.requestable) is None
    assert came_since(fewer.sendable, later.sendable) == []
    assert fewer.requestable == {"y"}


def test_a_few_records_are_looked_up_among_many_without_listing_them() -> None:
    side = policy(ALL_U, ALL_U, expose(EXPOSE_ALL))
    many = [fact for number in range(100) for fact in record(f"p{number}", "u")]
    decision = side.evaluate(Snapshot(Database(many)))
    assert among(decision.sendable, ["p1", "q"]) == ["p1"]
    assert "all" not in vars(decision.sendable)
    assert among(decision.sendable, [f"p{number}" for number in range(0, 200, 2)]) == [
        f"p{number}" for number in range(0, 100, 2)
    ]
