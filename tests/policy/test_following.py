"""Programs follow snapshots, and come to what a program has that starts from nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, RelationProgram, Result
from lace.datalog import Atom, Rule, Var, compile_program, make_program, parse_program
from lace.engines import Database, EmbeddedEvaluation, embedded
from lace.facts import Fact, Predicate, View
from lace.policy import Resident, Running, Snapshot
from lace.policy.following import Following
from lace.policy.snapshot import TRAIL, Given
from tests.policy.sides import Store, snapshot

A = Predicate("A", 1)
PROGRAM = compile_program(parse_program("A(P) :- Have(P), not Advertised(P,_)."), (A,))


def names(*given: str) -> list[tuple[str, ...]]:
    return [("Have", each) for each in given]


def test_a_program_goes_on_from_the_snapshot_it_knows() -> None:
    following = Following(PROGRAM)
    first = snapshot(names("p"))
    assert following.evaluate(first, Given(advertised=first.advertised), Budget()).facts(A) == [("p",)]
    # The later store is never asked: what changed is enough.
    later = first.next(added=names("q"), records=Store(names("p", "q", "not told")))
    assert following.evaluate(later, Given(advertised=later.advertised), Budget()).facts(A) == [
        ("p",),
        ("q",),
    ]
    assert following.version == 2
    assert following.evaluate(later.next(), Given(advertised=later.advertised), Budget()).facts(A) == [
        ("p",),
        ("q",),
    ]
    assert following.version == 2, "nothing changed"
    stranger = snapshot(names("z"))
    assert following.evaluate(stranger, Given(advertised=stranger.advertised), Budget()).facts(A) == [("z",)]


def test_facts_that_are_given_come_and_go() -> None:
    following = Following(PROGRAM)
    first = snapshot(names("p"))
    claim = frozenset({("Advertised", "p", "V")})
    assert following.evaluate(first, Given(claim), Budget()).facts(A) == []
    assert following.evaluate(first.next(), Given(), Budget()).facts(A) == [("p",)]


def test_texts_of_given_facts_that_are_gone_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "WORN", 64)
    program = compile_program(parse_program("A(P) :- AdvertisedField(P,_,N,_,T), Have(T), N != 'x'."), (A,))
    following, moment = Following(program), Snapshot(Database(names("t")))
    most = 0
    for day in range(60):
        moment = moment.next()
        claims = claimed(day)
        wanted = sorted((claim[1],) for claim in claims if claim[5] == "t")
        assert following.evaluate(moment, Given(advertised=claims), Budget()).facts(A) == wanted
        running = following._running
        assert isinstance(running, EmbeddedEvaluation)
        most = max(most, len(running._relations.dictionary))
    # Ten facts of five values, three times; what may stay; and the texts of the program.
    assert most <= 3 * 50 + 64 + 10
    assert most > 64, "it goes on for some days"


def claimed(day: int) -> frozenset[Fact]:
    """Return what a peer advertises on a day: other records than before, with fields of other names."""
    return frozenset(
        ("AdvertisedField", f"p{day}.{at}", "V", f"n{day}.{at}", "0", "t" if at % 2 else f"u{day}.{at}")
        for at in range(10)
    )


def test_when_it_starts_anew_tells_nothing_of_what_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "WORN", 64)
    program = compile_program(parse_program("A(P) :- AdvertisedField(P,_,_,_,T), Have(T)."), (A,))
    # Of the second one the peer guesses everything that no rule of its may see.
    texts = {text for day in range(30) for claim in claimed(day) for text in claim}
    guessed = [("Field", "hidden", "App", "0", text) for text in sorted(texts)]
    started: list[list[bool]] = []
    for hidden in ([], guessed):
        following, moment = Following(program), Snapshot(Database([*names("t"), *hidden]))
        before, anew = None, []
        for day in range(30):
            moment = moment.next()
            following.evaluate(moment, Given(advertised=claimed(day)), Budget())
            anew.append(following._running is not before)
            before = following._running
        started.append(anew)
    assert started[0] == started[1]
    assert 1 < sum(started[0]) < 30


def test_after_an_error_it_starts_anew() -> None:
    following = Following(PROGRAM)
    first = snapshot(names("p"))
    following.evaluate(first, Given(advertised=first.advertised), Budget())
    later = first.next(added=names("q", "r"), records=Store(names("p", "q", "r")))
    with pytest.raises(EvaluationStopped):
        following.evaluate(later, Given(advertised=later.advertised), Budget(EvaluationLimits(steps=1)))
    assert following.evaluate(later, Given(advertised=later.advertised), Budget()).facts(A) == [
        ("p",),
        ("q",),
        ("r",),
    ]


@pytest.mark.parametrize(
    "fault", [EvaluationStopped(limit="steps", bound=1, where="", seen=2), MemoryError(), KeyboardInterrupt()]
)
def test_after_an_error_nothing_is_kept_of_an_evaluation_that_may_be_half_done(fault: BaseException) -> None:
    class Breaking:
        """Runs like the engine, and is of no use once a change has failed."""

        def __init__(self, running: Running) -> None:
            self._running = running

        def result(self) -> Result:
            return self._running.result()

        def change(
            self, insert: Iterable[Fact], delete: Iterable[Fact], budget: Budget | None = None
        ) -> Result:
            self._running = Store(names("spoiled")).evaluate(PROGRAM)
            raise fault

    class Fragile(Store):
        def evaluate(
            self, program: RelationProgram, budget: Budget | None = None, facts: Iterable[Fact] = ()
        ) -> Running:
            return Breaking(super().evaluate(program, budget, facts))

    following, first = Following(PROGRAM), Snapshot(Fragile(names("p")))
    following.evaluate(first, Given(), Budget())
    later = first.next(added=names("q"), records=Fragile(names("p", "q")))
    with pytest.raises(type(fault)):
        following.evaluate(later, Given(), Budget())
    assert following.evaluate(later, Given(), Budget()).facts(A) == [("p",), ("q",)]


def test_what_is_handed_over_comes_and_goes_and_does_not_count_as_runtime_facts() -> None:
    selected, met = Predicate("o1.Selected", 1), Predicate("B", 1)
    program = compile_program(make_program([_rule("B", "Have", selected.name)]), (met,))
    limits = EvaluationLimits(runtime_facts=1)
    budget = Budget(limits)
    following = Following(program)
    first = Snapshot(Database(names("p", "q")))
    rows = frozenset({("p",), ("r",), ("s",)})
    assert following.evaluate(first, Given(), budget, {selected: rows}).facts(met) == [("p",)]
    assert budget.limits == limits
    fewer = {selected: frozenset({("q",)})}
    assert following.evaluate(first, Given(), Budget(limits), fewer).facts(met) == [("q",)]
    assert following.evaluate(first, Given(), Budget(limits)).facts(met) == []
    given = frozenset({("Peer", "V"), ("Here", "V")})
    with pytest.raises(EvaluationStopped):
        following.evaluate(first, Given(given), Budget(limits))


def test_a_derived_relation_is_handed_over_whole() -> None:
    following = Following(PROGRAM)
    first = snapshot(names("p", "q"))
    following.evaluate(first, Given(), Budget())
    handed = following.hand_over([A])[A]
    assert not isinstance(handed, View)
    assert (set(handed), len(handed)) == ({("p",), ("q",)}, 2)
    assert ("p",) in handed
    assert ("r",) not in handed


@pytest.mark.req("020-044")
def test_a_snapshot_holds_the_version_of_its_moment() -> None:
    database = Database(names("p"))
    first = Snapshot(database)
    database.add(names("q"))
    later = first.next(records=database)
    for moment, wanted in ((first, [("p",)]), (later, [("p",), ("q",)])):
        following = Following(PROGRAM)
        assert following.evaluate(moment, Given(), Budget()).facts(A) == wanted
    following = Following(PROGRAM)
    before = following.evaluate(first, Given(), Budget())
    assert following.evaluate(later, Given(), Budget()).facts(A) == [("p",), ("q",)]
    assert before.facts(A) == [("p",)]
    assert following.evaluate(first, Given(), Budget()).facts(A) == [("p",)], "back to an earlier one"


def test_a_program_follows_versions_that_nobody_told_it_of() -> None:
    database = Database(names("p"))
    moments = [Snapshot(database)]
    following = Following(PROGRAM)
    first = following.evaluate(moments[0], Given(), Budget())
    for number in range(2 * TRAIL):
        database.add(names(f"q{number}"))
        moments.append(moments[-1].next(records=database))
    budget = Budget()
    assert following.evaluate(moments[-1], Given(), budget).count(A) == 2 * TRAIL + 1
    assert budget.steps < 3 * TRAIL, "it went on from the first one"
    assert following.evaluate(Snapshot(database), Given(), Budget()) is following.result, "the same facts"
    assert (first.count(A), following.version) == (1, 2)


def test_other_facts_that_nobody_told_of_are_evaluated_anew() -> None:
    following = Following(PROGRAM)
    for records in (Store, Database):
        first = Snapshot(records(names("p")))
        assert following.evaluate(first, Given(), Budget()).facts(A) == [("p",)]
        other = first.next(records=records(names("z")))
        assert other.changes_since(first.moment) is None
        assert following.evaluate(other, Given(), Budget()).facts(A) == [("z",)]


def test_what_is_told_beside_a_version_belongs_to_its_snapshot_alone() -> None:
    database = Database(names("p"))
    following, first = Following(PROGRAM), Snapshot(database)
    following.evaluate(first, Given(), Budget())
    told = first.next(added=names("told"))
    assert (first.complete, told.complete) == (True, False)
    assert following.evaluate(told, Given(), Budget()).facts(A) == [("p",), ("told",)]
    claimed = frozenset({("Advertised", "p", "V")})
    assert following.evaluate(told.next(advertised=claimed), Given(claimed), Budget()).facts(A) == [("told",)]
    assert following.evaluate(first.next(), Given(), Budget()).facts(A) == [("p",)]
    following.evaluate(told, Given(), Budget())
    assert following.evaluate(told.next(records=database), Given(), Budget()).facts(A) == [("p",)]
    database.add(names("q", "told"))
    later = told.next(records=database)
    assert later.complete
    assert following.evaluate(later, Given(), Budget()).facts(A) == [("p",), ("q",), ("told",)]


@pytest.mark.parametrize("records", [Store, Database])
def test_what_is_told_holds_for_whoever_starts_with_it(records: Callable[[list[Fact]], Resident]) -> None:
    first = Snapshot(records(names("p", "q")))
    told = first.next(added=names("r", "s"), removed=names("q")).next(removed=names("s"))
    late = Following(PROGRAM)
    late.evaluate(first, Given(), Budget())
    moment = told
    for _ in range(TRAIL + 1):
        moment = moment.next()
    for each in (Following(PROGRAM), late):
        assert each.evaluate(moment, Given(), Budget()).facts(A) == [("p",), ("r",)]
        back = moment.next(added=names("q"))
        assert each.evaluate(back, Given(), Budget()).facts(A) == [("p",), ("q",), ("r",)]
    assert told.evaluate(PROGRAM).facts(A) == [("p",), ("r",)]
    with pytest.raises(EvaluationStopped):
        late.evaluate(told, Given(), Budget(EvaluationLimits(steps=1)))
    assert late.evaluate(told, Given(), Budget()).facts(A) == [("p",), ("r",)], "after an error too"


def _rule(head: str, *body: str) -> Rule:
    return Rule(Atom(head, (Var("P"),)), tuple(Atom(name, (Var("P"),)) for name in body))
