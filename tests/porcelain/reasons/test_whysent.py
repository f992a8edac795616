"""Why a record left: the same answer months later, and a word about what it is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lace.drive import (
    Beginning,
    ExchangeNotes,
    Leaving,
    Place,
    Way,
    interlace_in_process,
    select_place,
    with_operation,
)
from lace.porcelain import Lace, NoSuchId, Worth, parse_policy
from lace.record import Record, make_plex
from tests.drive.histories import at
from tests.interlace.pair import START, Clock
from tests.porcelain.pairs import OPEN, End, exchange
from tests.porcelain.policy_texts import EXPOSE_NOTES, EXPOSE_TOWN, SELECT_ALL, SELECT_TOWN, TOWN
from tests.strategies import SECRETS


def plex(name: str, group: str = "town", app: str = "notes", *, link: Record | None = None) -> Record:
    extra = () if link is None else (("+Link", link.id),)
    return make_plex(group, app, name, f"{START}:000000000", name.encode(), extra)


FIRST, SECOND, OTHER = plex("first"), plex("second"), plex("other", "elsewhere")
RULE = "SelectHave(P) :- Have(P), Field(P,'Group',_,'town')."


def stocked(*records: Record) -> Lace:
    lace = Lace()
    lace.put_records(records)
    return lace


def test_it_says_to_whom_under_which_plan_and_by_whose_rules() -> None:
    left = End(stocked(FIRST, OTHER), TOWN, SECRETS[0], "tcp:host:7")
    right = End(policy=OPEN, secret=SECRETS[1])
    result, _ = exchange(left, right)
    found = left.lace.why_sent(FIRST.id)
    (sending,) = found.sendings
    assert (sending.passage.way, sending.passage.loop, sending.passage.tick) == (Way.LEFT, 1, at(0))
    assert (sending.entry.peer, sending.entry.address) == (SECRETS[1].verifier, "tcp:host:7")
    assert sending.agreement is not None
    assert sending.agreement.plan == result.exchange_plan_id
    assert (sending.worth, sending.words) == (Worth.AS_IT_WAS, ())
    assert sending.selected_by == ((RULE,), ("SelectHave(P) :- Have(P).",))
    assert [(each.section, each.rule) for each in sending.shown_by] == [
        ("[expose to anyone] (town.policy:4)", EXPOSE_TOWN.strip())
    ]
    assert sending.proof is not None
    assert sending.proof.goal == ("MaySend", FIRST.id)
    assert sending.to_json()["selected_by"] == {"ours": [RULE], "peer": ["SelectHave(P) :- Have(P)."]}
    assert left.lace.why_sent(OTHER.id).sendings == ()
    assert left.lace.why_sent(FIRST.id, peer="anonymous").sendings == ()
    assert len(left.lace.why_sent(FIRST.id, peer=SECRETS[1].verifier[:8]).sendings) == 1
    theirs = right.lace.why_sent(FIRST.id)
    assert theirs.sendings == ()
    ((came, entry),) = theirs.came
    assert (came.way, came.loop, entry.peer) == (Way.CAME, 1, SECRETS[0].verifier)


def test_it_answers_after_everything_else_has_changed(tmp_path: Path) -> None:
    """Another policy file, other processes, and records that would have decided otherwise."""
    careful = TOWN.replace("SelectHave(P) :- Have(P), F", "SelectHave(P) :- Have(P), not Blocked(P), F")
    careful = careful.replace("[expose", "Blocked(P) :- RecordLink(_,_,_,_,P).\n[expose")
    with Lace.init(tmp_path) as lace:
        lace.put_records([FIRST, SECOND])
        exchange(End(lace, careful), End())
        lace.put_records([plex("blocks", link=FIRST), plex("third")])
        exchange(End(lace, careful), End())
    with Lace.open(tmp_path, read_only=True) as lace:
        (old,) = lace.why_sent(FIRST.id).sendings
        assert old.worth is Worth.AS_IT_WAS
        assert "not Blocked(P)" in old.selected_by[0][0]
        newest, oldest = lace.why_sent(SECOND.id).sendings
        assert (newest.passage.number, oldest.passage.number) == (2, 1)
        assert {newest.worth, oldest.worth} == {Worth.AS_IT_WAS}
        once = lace.why_sent(SECOND.id, explain=1).sendings
        assert [each.worth for each in once] == [Worth.AS_IT_WAS, Worth.NOT_ASKED]


def put_back(place: Path) -> tuple[Path, bytes]:
    """Let two records leave, and put the file of the store alone back to before it had the second one."""
    with Lace.init(place) as lace:
        lace.put_records([FIRST])
    file = place / ".lace" / "store.sqlite"
    earlier = file.read_bytes()
    with Lace.open(place) as lace:
        lace.put_records([SECOND])
        exchange(End(lace, TOWN), End())
    file.write_bytes(earlier)
    return file, earlier


def test_a_store_that_was_put_back_is_not_taken_for_that_of_the_moment(tmp_path: Path) -> None:
    put_back(tmp_path)
    with Lace.open(tmp_path) as lace:
        (sending,) = lace.why_sent(FIRST.id).sendings
        assert sending.worth is Worth.MADE_AGAIN
        assert "is not known, and these are the records of now" in sending.words[0]


def test_a_store_that_was_put_back_and_went_on_another_way_is_not_taken_for_that_of_the_moment(
    tmp_path: Path,
) -> None:
    """It has come to the same number again, with another record."""
    file, earlier = put_back(tmp_path)
    with Lace.open(tmp_path) as lace:
        lace.put_records([OTHER, SECOND])
        (sending,) = lace.why_sent(FIRST.id).sendings
        assert sending.worth is Worth.MADE_AGAIN
        assert "is not known, and these are the records of now" in sending.words[0]
    file.write_bytes(earlier)
    with Lace.open(tmp_path) as lace:
        lace.put_records([SECOND])
        lace.put_records([OTHER])
        (sending,) = lace.why_sent(FIRST.id).sendings
        assert sending.worth is Worth.AS_IT_WAS, "it went the same way again"


def test_what_was_removed_since_makes_it_a_reconstruction() -> None:
    linked = OPEN.replace(
        "SelectHave(P) :- Have(P).", "SelectHave(P) :- Have(P), RecordLink(Q,_,_,_,P), Have(Q)."
    )
    leads = plex("leads", link=FIRST)
    left = End(stocked(FIRST, leads, SECOND, OTHER), linked)
    exchange(left, End())
    left.lace.rm(SECOND.id)
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert sending.worth is Worth.MADE_AGAIN
    assert sending.words == ("1 record of that moment is no longer here",)
    assert sending.proof is not None
    left.lace.rm(leads.id)
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert (sending.worth, sending.proof, sending.selected_by) == (Worth.NOT_MADE, None, ((), ()))
    assert "do not let the record go" in sending.words[0]
    left.lace.put_records([leads, SECOND])
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert sending.worth is Worth.AS_IT_WAS, "what was removed and came back is there"
    left.lace.rm(FIRST.id)
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert sending.words == ("the record is no longer here, and its facts went with it",)
    assert sending.agreement is not None


def naming(*records: Record) -> str:
    """A policy that asks for records by their ids."""
    rules = "".join(f"SelectHave('{each.id}') :- true.\n" for each in records)
    return f"[select]\n{rules}SelectAdvertised(P,S) :- Advertised(P,S).\n"


def test_what_left_without_being_shown_says_so() -> None:
    left = End(stocked(FIRST, OTHER), f"[select]\n{SELECT_ALL}")
    exchange(left, End(policy=naming(FIRST)))
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert (sending.worth, sending.words, sending.shown) == (Worth.AS_IT_WAS, (), False)
    assert "  nothing was exposed to this peer; its rules named it by its id" in sending.lines()
    told = sending.to_json()
    assert (told["shown"], told["shown_by"], told["named"], told["rules"]) == (False, [], True, None)


def test_a_hidden_record_that_left_is_told_from_one_that_was_shown() -> None:
    policy = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[expose to anyone]\n{EXPOSE_NOTES}"
    wages = plex("wages", app="wages")
    left = End(stocked(FIRST, wages, OTHER), policy)
    exchange(left, End(policy=naming(FIRST, wages, OTHER)))
    (shown,) = left.lace.why_sent(FIRST.id).sendings
    assert (shown.shown, len(shown.shown_by)) == (True, 2)
    assert not any("not shown" in line for line in shown.lines())
    for record in (wages, OTHER):
        (hidden,) = left.lace.why_sent(record.id).sendings
        assert (hidden.worth, hidden.shown, hidden.shown_by) == (Worth.AS_IT_WAS, False, ())
        assert "  not shown to this peer; its rules named it by its id" in hidden.lines()


def test_a_hidden_record_that_a_link_led_to_is_told_as_such() -> None:
    leads = plex("leads", link=OTHER)
    left = End(stocked(OTHER, leads), f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}")
    following = naming(leads).replace("true.\n", "true.\nSelectHave(P) :- RecordLink(_,_,_,_,P).\n")
    exchange(left, End(policy=following))
    (sending,) = left.lace.why_sent(OTHER.id).sendings
    assert (sending.shown, sending.named) == (False, False)
    told = "  not shown to this peer; its rules came by its id in another way, such as a link to it"
    assert told in sending.lines()


def test_of_a_record_that_is_gone_the_rules_are_told_and_what_is_unknown_is_null() -> None:
    left = End(stocked(FIRST), TOWN)
    exchange(left, End())
    left.lace.rm(FIRST.id)
    found = left.lace.why_sent(FIRST.id)
    (sending,) = found.sendings
    lines = list(sending.lines())
    assert "  in force: [expose to anyone] (town.policy:4)" in lines
    assert f"    {RULE}" in lines
    peer = lines.index("  in force: the rules of the peer")
    assert "    SelectHave(P) :- Have(P)." in lines[peer:]
    told = sending.to_json()
    assert (told["selected_by"], told["shown"], told["shown_by"], told["named"]) == (None, None, None, None)
    assert [each["role"] for each in told["rules"]["sections"]] == ["select", "expose"]
    assert "SelectHave(P) :- Have(P)." in told["rules"]["operands"]["peer"]
    assert (found.here, found.to_json()["here"]) == (False, False)


def test_a_record_that_is_gone_is_asked_for_by_the_beginning_of_its_id() -> None:
    left = End(stocked(FIRST, SECOND), TOWN)
    exchange(left, End())
    left.lace.rm(FIRST.id)
    assert left.lace.why_sent(FIRST.id[:9]).record == left.lace.why_sent(FIRST.id[2:9]).record == FIRST.id
    assert left.lace.why_sent(SECOND.id[:9]).record == SECOND.id
    with pytest.raises(NoSuchId):
        left.lace.why_sent(OTHER.id[:9])


def test_a_history_that_was_cut_says_how_far() -> None:
    left = End(stocked(FIRST, OTHER), TOWN)
    exchange(left, End())
    assert left.lace.why_sent(OTHER.id).forgotten_until is None
    left.lace.forget_history("2100-01-01")
    found = left.lace.why_sent(FIRST.id)
    assert found.sendings == ()
    head, here, cut = found.lines()
    assert (head, here) == (f"{FIRST.id} never left, as far as the history goes", "the record is here")
    assert cut.startswith("what was noted until ")
    assert cut.endswith("Z was forgotten (--forget-before)")
    assert found.forgotten_until is not None
    assert found.to_json()["forgotten_until"] == found.forgotten_until
    exchange(left, End())
    assert list(left.lace.why_sent(FIRST.id).lines())[-1] == cut, "there may be more times than are told"


def test_a_record_that_is_here_is_told_from_one_that_nobody_has() -> None:
    lace = stocked(OTHER)
    assert list(lace.why_sent(OTHER.id).lines()) == [
        f"{OTHER.id} never left, as far as the history goes: no exchange was noted here yet",
        "the record is here",
    ]
    *_, unknown = lace.why_sent(FIRST.id).lines()
    assert unknown == "the record is not here, and the history does not know it"
    *_, unasked = lace.why_sent(FIRST.id, peer="anonymous").lines()
    assert unasked == "the record is not here"


@pytest.mark.parametrize(
    ("policy", "rule", "shown"),
    [
        (
            f"[select]\n{SELECT_TOWN}[select storage]\n{SELECT_ALL}[expose selected]\n",
            RULE,
            ["[expose selected] (town.policy:7)"],
        ),
        (
            f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}[expose to anyone]\n{EXPOSE_NOTES}"
            "[send]\nAllowSend(P) :- Have(P), ClockSkewSeconds('0').\n",
            RULE,
            ["[expose to anyone] (town.policy:4)", "[expose to anyone] (town.policy:6)"],
        ),
        (
            f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN.replace('town', 'x')}"
            f"[expose to proven peers]\n{EXPOSE_NOTES}[expose union]\n",
            RULE,
            ["[expose to proven peers] (town.policy:6)"],
        ),
        (f"[select]\n{SELECT_TOWN}[trust {SECRETS[1].verifier}]\n", RULE, ["[trust]"]),
    ],
    ids=["composed, selected", "intersection, restriction", "union, proven", "trusted"],
)
def test_whatever_showed_it_is_named(policy: str, rule: str, shown: list[str]) -> None:
    left = End(stocked(FIRST), policy, SECRETS[0])
    exchange(left, End(secret=SECRETS[1]))
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert sending.worth is Worth.AS_IT_WAS
    assert rule in sending.selected_by[0]
    assert [each.section for each in sending.shown_by] == shown


def test_what_the_peer_claimed_is_not_kept_and_that_is_said() -> None:
    hearing = OPEN.replace("SelectHave(P) :- Have(P).", "SelectHave(P) :- Have(P), not Advertised(P,_).")
    left = End(stocked(FIRST), hearing)
    exchange(left, End(stocked(SECOND)))
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert sending.worth is Worth.MADE_AGAIN
    assert sending.words == ("a selector reads what the peer advertised then, and that is not kept",)


def test_a_history_that_lacks_something_is_no_error() -> None:
    lace = stocked(FIRST)
    number = lace.kept.begin(Beginning(at(0)))
    lace.kept.note(number, [Leaving(at(0), 1, 1, 1, at(0), (FIRST.id,))])
    (sending,) = lace.why_sent(FIRST.id).sendings
    assert (sending.worth, sending.passage.way) == (Worth.NOT_MADE, Way.MAY_HAVE_LEFT)
    assert "was not noted" in sending.words[0]
    other = End(stocked(FIRST), OPEN)
    exchange(other, End())
    agreement = other.lace.exchange(1).agreements[0]
    lace.kept.note(number, [agreement])
    (sending,) = lace.why_sent(FIRST.id).sendings
    assert (sending.worth, len(sending.words)) == (Worth.MADE_AGAIN, 1)
    assert "not known" in sending.words[0]


def test_each_part_of_a_composed_operand_has_its_rule() -> None:
    policy = f"[select]\n{SELECT_TOWN}[select storage]\n{SELECT_ALL}[expose selected]\n"
    left = End(stocked(FIRST), policy)
    operand = parse_policy(policy).operand().module
    narrowed = with_operation(operand, select_place(Place("town", "notes")))
    exchange(left, End(policy=f"[select]\n{narrowed}\n[expose selected]\n"))
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    ours, theirs = sending.selected_by
    assert set(ours) == {"SelectHave(P) :- Have(P).", RULE}
    assert {rule.partition(" :- ")[2] for rule in theirs} == {
        "Have(P).",
        "Have(P), Field(P,'Group',_,'town').",
        "Have(P), Field(P,'Group',_,'town'), Field(P,'App',_,'notes').",
    }


def test_a_helper_that_is_called_like_a_part_is_not_told_as_the_rule_that_selected() -> None:
    rule = "SelectHave(P) :- Have(P), not Field(P,'Name',_,'a  [b'), c0_SelectHave(P)."
    odd = f"{rule}\nc0_SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
    for more in ("", f"[select storage]\n{SELECT_ALL}"):
        left = End(stocked(FIRST), f"[select]\n{odd}{more}[expose selected]\n")
        exchange(left, End(policy=f"[select]\n{odd}[expose selected]\n"))
        (sending,) = left.lace.why_sent(FIRST.id).sendings
        ours, theirs = sending.selected_by
        assert set(ours) == ({rule, "SelectHave(P) :- Have(P)."} if more else {rule})
        assert theirs == (rule,)


def test_texts_that_do_not_make_their_plan_explain_nothing() -> None:
    left = End(stocked(FIRST), TOWN)
    exchange(left, End())
    account = left.lace.exchange(1)
    other = stocked(FIRST)
    number = other.kept.begin(Beginning(at(0)))
    wrong = replace(account.agreements[0], operands=account.agreements[0].operands[::-1])
    other.kept.note(number, [wrong, Leaving(at(0), 1, 1, 1, at(0), (FIRST.id,))])
    (sending,) = other.why_sent(FIRST.id).sendings
    assert sending.worth is Worth.NOT_MADE
    assert "these operands give" in sending.words[0]


def test_exposures_that_were_not_noted_are_missed() -> None:
    left = End(stocked(FIRST), OPEN)
    party = left.party(0)
    party.observe = ExchangeNotes(left.lace.kept, lambda: at(0), version=left.lace.store.version)
    interlace_in_process(party, End().party(1), Clock().now())
    (sending,) = left.lace.why_sent(FIRST.id).sendings
    assert sending.worth is Worth.NOT_MADE
    assert sending.words[1:] == ("what was shown to this viewer was not noted",)


def test_sections_are_those_of_the_policy_that_was_given() -> None:
    policy = parse_policy(TOWN, "renamed.policy")
    left = End(stocked(FIRST), policy)
    exchange(left, End())
    (agreement,) = left.lace.exchange(1).agreements
    assert [(each.role.value, each.name) for each in agreement.in_force.sections] == [
        ("select", "[select] (renamed.policy:1)"),
        ("expose", "[expose to anyone] (renamed.policy:4)"),
    ]


def test_a_rule_that_let_a_record_go_is_told_whole_whatever_its_texts_look_like() -> None:
    """Where a rule came from is told behind it, in brackets, and a text in it may hold the like."""
    odd, rules = "town  [S0 of X]", ("Field(P,'Group',_,'town  [S0 of X]')", "Field(P,'Name',_,'a  [b')")
    sends = "".join(f"[send]\nAllowSend(P) :- Have(P), {rule}.\n" for rule in rules)
    record = plex("a  [b", odd)
    left = End(stocked(record), OPEN + sends)
    exchange(left, End())
    (sending,) = left.lace.why_sent(record.id).sendings
    assert [each.rule for each in sending.let_go_by] == [
        f"AllowSend(P) :- Have(P), {rule}." for rule in rules
    ]
