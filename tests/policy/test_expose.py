"""What is exposed is what every module in scope allows; without one, nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.algebra import EvaluationLimits
from lace.datalog import make_program
from lace.facts import query_view
from lace.policy import (
    Compose,
    ExposeModule,
    Exposure,
    ExposureStopped,
    GivenViews,
    LocalPolicy,
    SelectedNotExposable,
    Snapshot,
    Views,
    expose_selected,
    lower_exposure,
    read_expose,
    read_module,
)
from lace.policy.expose import WATCHED
from tests.policy.sides import ALICE, ALL, BOB, CAROL, EXPOSE_ALL, EXPOSE_X, expose, plan_of, record, snapshot

GROUPS = "XYZ"
FACTS = record("x", "X") + record("y", "Y") + record("xy", "X", ("Field", "Group", "1", "Y"))
NOW = snapshot(FACTS)


def only(group: str, *viewers: str) -> ExposeModule:
    text = f"AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Field(P,'Group',_,'{group}')."
    return read_expose(text, viewers or None)


def records(exposure: Exposure, viewer: str = ALICE, moment: Snapshot = NOW) -> frozenset[str] | None:
    return Views("me", exposure).view(viewer, moment).records


@pytest.mark.req("020-051", "020-059", "040-026")
def test_nothing_is_exposed_by_default() -> None:
    for viewer in (ALICE, "Opq_z"):
        assert records(Exposure(), viewer) == frozenset()
        assert records(Exposure((only("X", BOB),)), viewer) == frozenset()


@pytest.mark.req("020-055", "040-015")
def test_an_expose_rule_fills_the_view() -> None:
    assert records(expose(EXPOSE_X)) == {"x", "xy"}
    assert records(expose(f"AllowQueryRecord('{BOB}',P) :- Have(P).")) == set()
    assert records(expose(f"AllowQueryRecord('{BOB}',P) :- Have(P)."), BOB) == {"x", "y", "xy"}


@pytest.mark.req("020-057", "040-024")
def test_two_modules_show_what_both_allow() -> None:
    assert records(expose(EXPOSE_X, only("Y"))) == {"xy"}


def test_modules_of_other_viewers_do_not_narrow() -> None:
    exposure = Exposure((only("X", ALICE), only("Y", CAROL)))
    assert records(exposure, ALICE) == {"x", "xy"}
    assert records(exposure, CAROL) == {"y", "xy"}
    assert records(exposure, BOB) == set()


@pytest.mark.req("020-058", "040-025")
def test_the_gate_is_a_conjunction_of_all_modules() -> None:
    modules = tuple(map(only, GROUPS))
    for count in (1, 2, 3):
        rules = lower_exposure(modules[:count])
        body = ", ".join(f"m{n}_AllowQueryRecord(V,P)" for n in range(count))
        assert str(rules[-1].rule) == f"CanQueryRecord(V,P) :- {body}."
        make_program(each.rule for each in rules)
    assert lower_exposure(()) == ()


@pytest.mark.req("020-060", "020-061", "040-028", "040-029")
def test_a_union_happens_only_where_it_is_asked_for() -> None:
    modules = (only("X"), only("Y"))
    assert records(Exposure(modules)) == {"xy"}
    assert records(Exposure(modules, Compose.UNION)) == {"x", "y", "xy"}
    assert Exposure().compose is Compose.INTERSECTION


MODULES = [
    EXPOSE_ALL,
    EXPOSE_X,
    "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), not Field(P,'Group',_,'Y').",
    "AllowQueryRecord(V,P) :- _Viewer(V), _Open(P).\n_Open(P) :- Field(P,'Group',_,'Y').",
    "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), Cardinality(Field(P,'Group',_,_),'>','1').",
]


@pytest.mark.req("020-062", "040-030")
@given(st.lists(st.sampled_from(MODULES), min_size=1, max_size=3), st.sampled_from(MODULES))
def test_one_more_module_narrows_or_keeps_the_view(texts: list[str], more: str) -> None:
    before, after = records(expose(*texts)), records(expose(*texts, more))
    assert before is not None
    assert after is not None
    assert after <= before


@pytest.mark.req("020-047")
def test_the_owner_decides_and_can_decide_otherwise() -> None:
    assert records(expose(EXPOSE_X)) != records(expose(EXPOSE_ALL))
    runtime = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), TransportEncrypted()."
    assert records(expose(runtime)) == set()
    assert records(expose(runtime), moment=snapshot(FACTS, [("TransportEncrypted",)])) == {"x", "y", "xy"}


@pytest.mark.req("040-018")
def test_what_is_selected_can_be_exposed_when_asked_for() -> None:
    selector = read_module(
        "SelectHave(P) :- Have(P), In(P), not Field(P,'Group',_,'Y').\nIn(P) :- Of(P,'X').\n"
        "Of(P,G) :- Field(P,'Group',_,G).\nSelectAdvertised(P,S) :- Advertised(P,S)."
    )
    selected = expose_selected(selector)
    assert records(Exposure((selected,))) == {"x"}
    assert records(Exposure((selected, read_expose(EXPOSE_ALL)))) == {"x"}, "one more module, so it narrows"
    assert "Advertised" not in str(selected.program)
    with pytest.raises(SelectedNotExposable):
        expose_selected(read_module(ALL.replace("Have(P).", "Have(P), Advertised(P,_).")))


def test_what_is_selected_is_exposed_whatever_its_helpers_are_called() -> None:
    tail = "\nSelectAdvertised(P,S) :- Advertised(P,S)."
    helped = "SelectHave(P) :- Have(P), Viewer(P).\nViewer(P) :- Field(P,'Group',_,'X')." + tail
    empty = "SelectHave(P) :- Have(P), Viewer(_)." + tail
    for selector, selected in ((helped, {"x", "xy"}), (empty, set())):
        assert records(Exposure((expose_selected(read_module(selector)),))) == selected


@pytest.mark.req("040-022")
def test_a_peer_is_trusted_only_where_local_policy_says_so() -> None:
    assert Exposure().trusted == frozenset()
    view = Views("me", Exposure(trusted=frozenset({ALICE}))).view(ALICE, NOW)
    assert view.is_full
    assert Views("me", Exposure(trusted=frozenset({ALICE}))).view(BOB, NOW).is_empty


def test_a_view_follows_the_store_and_can_shrink() -> None:
    allowed = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), not _Blocked(P)."
    views = Views("me", expose(f"{allowed}\n_Blocked(P) :- RecordLink(_,'+Block',_,_,P)."))
    first = snapshot(FACTS)
    assert views.view(ALICE, first).records == {"x", "y", "xy"}
    block = record("b", "private", ("RecordLink", "+Block", "0", "", "x"))
    second = first.next(added=block, records=snapshot([*FACTS, *block]).records)
    assert views.view(ALICE, second).records == {"y", "xy", "b"}
    third = second.next(removed=block, records=first.records)
    assert views.view(ALICE, third) == views.view(ALICE, first)


def test_a_view_is_made_again_only_when_something_changed() -> None:
    views = Views("me", expose(EXPOSE_X))
    first = views.view(ALICE, NOW)
    assert views.view(ALICE, NOW.next()) is first
    assert views.view(BOB, NOW) is not first


def test_an_exposure_that_costs_too_much_exposes_nothing() -> None:
    views = Views("me", expose(EXPOSE_X), EvaluationLimits(steps=1))
    with pytest.raises(ExposureStopped) as caught:
        views.view(ALICE, NOW)
    assert "nothing is exposed" in str(caught.value)


def test_only_so_many_viewers_are_watched() -> None:
    views = Views("me", expose(EXPOSE_X))
    first = views.view("Opq_first", NOW)
    for number in range(WATCHED):
        views.view(f"Opq_{number}", NOW)
    again = views.view("Opq_first", NOW)
    assert again == first
    assert again is not first


@pytest.mark.req("020-041")
def test_given_views_show_nobody_else_anything() -> None:
    given_view = query_view("me", ALICE, [("CanQueryRecord", ALICE, "x")])
    views = GivenViews(given_view)
    assert views.view(ALICE, NOW) is given_view
    assert views.view(BOB, NOW).is_empty
    assert LocalPolicy(plan_of(ALL, ALL), 0, views, viewer=ALICE).evaluate(NOW).may_send == {"x"}
