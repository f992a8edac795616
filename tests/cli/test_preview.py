"""lace preview: what would go, what would be asked for, and what is held back by which section."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.facts import write_fact_line
from lace.porcelain import Lace
from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, RECORDS, SECOND, stock
from tests.pipeline.lakes import lake_of
from tests.porcelain.policy_texts import SELECT_ALL, SEND, TOWN

U = TOWN.replace("'town'", "'u'")
MINE = {FIRST.id, SECOND.id}


@pytest.fixture
def notes(lace: Run, home: Path) -> Run:
    stock(home)
    (home / "u.policy").write_text(U)
    (home / "proven.policy").write_text(U.replace("anyone", "proven peers"))
    (home / "careful.policy").write_text(f"{U}[send]\n{SEND}")
    assert lace("key", "new", "me").code == 0
    return lace


def test_a_preview_is_told_to_people(notes: Run) -> None:
    lines = notes("preview", "--policy", "u.policy", "--as", "anonymous").lines
    assert notes("preview", "--policy", "u.policy", "--peer", "anonymous").lines[1:] == lines[1:]
    assert lines[0].startswith("with Opq_")
    assert lines[1:3] == ["exposed to it: 2 of 3 records", "may be sent: 2 records"]
    assert f"  {FIRST.id}  //u//notes//first" in lines
    assert "may be asked for: not known without --advertised or --peer-store" in lines
    assert lines[-3:] == [
        "held back: 1 record",
        "by [select] (u.policy:1): 1 record, our policy does not select it",
        f"  {OTHER.id}  //v//notes//other",
    ]


def test_a_preview_is_told_to_programs(notes: Run) -> None:
    [value] = notes("preview", "--policy", "u.policy", "--json").values
    assert value["may_send"] == {"count": 2, "records": sorted(MINE)}
    assert (value["stored"], value["exposed"], value["selected"], value["proven"]) == (3, 2, 2, False)
    assert value["may_request"] is None
    assert value["held"] == [
        {"by": "select", "where": "[select] (u.policy:1)", "count": 1, "records": [OTHER.id]}
    ]


def test_where_nothing_is_exposed_it_says_so_in_words(notes: Run) -> None:
    done = notes("preview", "--policy", "proven.policy", "--as", "anonymous")
    assert (
        "nothing is exposed to this peer: its rules find nothing here, and get only what they name by its id"
        in done.lines
    )
    assert "nothing is exposed to this peer: 2 records, the peer's rules cannot see them" in done.lines
    [value] = notes("preview", "--policy", "proven.policy", "--json").values
    assert (value["words"], value["may_send"]["count"]) == ("nothing is exposed to this peer", 0)
    [value] = notes("preview", "--policy", "proven.policy", "--as", "me", "--json").values
    assert (value["words"], value["may_send"]["count"], value["proven"]) == (None, 2, True)


def test_without_a_policy_nothing_is_exposed(notes: Run, home: Path) -> None:
    done = notes("preview")
    assert "nothing is exposed to this peer" in done.out
    assert f"no --policy and no {home}/.lace/exchange.policy: without one" in done.err


def test_the_policy_beside_the_store_is_used(notes: Run, home: Path) -> None:
    (home / ".lace" / "exchange.policy").write_text(U)
    done = notes("preview")
    assert "may be sent: 2 records" in done.lines
    assert done.err == ""


def test_a_restriction_is_named(notes: Run) -> None:
    words = ("preview", "--policy", "careful.policy")
    assert (
        "by [send] (careful.policy:6): 2 records, this restriction does not let them go"
        in notes(*words).lines
    )
    assert "may be sent: 2 records" in notes(*words, "--encrypted").lines


def test_the_peer_s_policy_narrows_it(notes: Run, home: Path) -> None:
    wanted = SELECT_ALL.replace("Have(P).", "Field(P,'Name',_,'first').")
    (home / "their.policy").write_text(f"[select]\n{wanted}")
    [value] = notes("preview", "--policy", "u.policy", "--peer-policy", "their.policy", "--json").values
    assert value["may_send"]["records"] == [FIRST.id]
    assert [(each["by"], each["records"]) for each in value["held"]][1] == ("peer", [SECOND.id])


def test_advertisements_say_what_would_be_asked_for(notes: Run, home: Path) -> None:
    [value] = notes("preview", "--policy", "u.policy", "--json").values
    new = "P." + "0" * 43 + ".H3"
    facts = [
        (*("Advertised", record, value["viewer"]),) for record in (new, FIRST.id)
    ]  # one that is here and one that is not
    fields = [("AdvertisedField", record, value["viewer"], "Group", "0", "u") for record in (new, FIRST.id)]
    (home / "claims.facts").write_text("\n".join(map(write_fact_line, [*facts, *fields])))
    [value] = notes("preview", "--policy", "u.policy", "--advertised", "claims.facts", "--json").values
    assert value["may_request"] == {"count": 1, "records": [new]}


def test_the_peer_s_store_says_what_would_be_asked_for(notes: Run, home: Path) -> None:
    with Lace.init(home / "there") as there:
        new = there.put(b"x", group="u", app="notes", name="new")
        there.put(b"x", group="w", app="notes", name="new")
        there.put_records(RECORDS[:1])
    words = ("preview", "--policy", "u.policy", "--peer-store", "there")
    assert notes(*words, "--json").values[0]["may_request"] == {"count": 1, "records": [new.id]}
    assert "may be asked for: 1 record" in notes(*words, "--as", "me").lines


def test_what_was_forgotten_is_not_asked_for(notes: Run, home: Path) -> None:
    with Lace.init(home / "there") as there:
        there.put_records([SECOND])
    assert notes("forget", SECOND.id).code == 0
    words = ("preview", "--policy", "u.policy", "--peer-store", "there")
    lines = notes(*words).lines
    at = lines.index("may be asked for: 0 records")
    assert lines[at + 1 : at + 3] == ["not asked for, because forgotten here: 1 record", f"  {SECOND.id}"]
    [value] = notes(*words, "--json").values
    assert (value["may_request"]["count"], value["kept_out"]["records"]) == (0, [SECOND.id])


def test_a_selector_that_wants_nothing_is_told_to_give_nothing(notes: Run, home: Path) -> None:
    why = "our SelectAdvertised is run there over what we advertise, and selects"
    claims = "AdvertisedField(P,S,'Group',_,'u')."
    (home / "one.policy").write_text(U.replace(claims, "Advertised(P,S), not Advertised(P,S)."))
    assert (
        f"the peer may ask for none of that: {why} none of it"
        in notes("preview", "--policy", "one.policy").lines
    )
    (home / "some.policy").write_text(U.replace(claims, "AdvertisedField(P,S,'Name',_,'first')."))
    lines = notes("preview", "--policy", "some.policy").lines
    at = lines.index(f"the peer may not ask for 1 record of that: {why} only the others")
    assert lines[at + 1] == f"  {SECOND.id}  //u//notes//second"
    [value] = notes("preview", "--policy", "some.policy", "--json").values
    assert value["unasked"] == {"count": 1, "records": [SECOND.id]}


def test_the_peer_s_lake_says_so_too_where_it_is_small(
    notes: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lace() as there:
        new = there.put(b"x", group="u", app="notes", name="new")
        lake_of(home / "there", [new, *RECORDS[:1]])
    words = ("preview", "--policy", "u.policy", "--peer-store", "there")
    assert notes(*words, "--json").values[0]["may_request"] == {"count": 1, "records": [new.id]}
    monkeypatch.setattr("lace.pipeline.SMALL_ROWS", 3)
    told = notes(*words)
    assert (told.code, "`lace lake converge` with --dry-run" in told.err) == (2, True)


def test_runtime_facts_may_be_given(notes: Run, home: Path) -> None:
    (home / "now.facts").write_text("TransportEncrypted()\n")
    words = ("preview", "--policy", "careful.policy", "--json", "--runtime")
    assert notes(*words, "now.facts").values[0]["may_send"]["count"] == 2
    (home / "now.facts").write_text("Have('x')\n")
    assert notes(*words, "now.facts").error["code"] == "policy/not-of-snapshot"


def test_the_number_of_records_shown_is_chosen(notes: Run) -> None:
    words = ("preview", "--policy", "u.policy", "--json")
    assert notes(*words, "-n", "1").values[0]["may_send"] == {"count": 2, "records": [min(MINE)]}
    assert len(notes(*words, "--all").values[0]["may_send"]["records"]) == 2


def test_a_peer_that_nobody_knows_is_told(notes: Run) -> None:
    done = notes("preview", "--as", "bob", "--policy", "u.policy")
    assert (done.code, "[cli/peer]" in done.err) == (3, True)
