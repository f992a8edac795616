"""lace.datalog.check.standardfields: fields of the wrong records, and names in the wrong case."""

from __future__ import annotations

import pytest

from lace.datalog import check_program
from tests.datalog.asking import warnings

HAVE = "SelectHave(P) :- Have(P).\n"


@pytest.mark.parametrize(
    ("atom", "note"),
    [
        ("Field(P,'Group',_,'u')", "did you mean AdvertisedField(P,S,'Group',_,'u')?"),
        ("Have(P)", "did you mean not Have(P)?"),
        ("BlobHash(P,B), Have(B)", "AdvertisedField(P,S,Name,Index,Value)"),
    ],
)
def test_selecting_what_is_advertised_by_facts_of_our_own_records_is_told(atom: str, note: str) -> None:
    text = f"{HAVE}SelectAdvertised(P,S) :- Advertised(P,S), {atom}."
    [found] = check_program(text, "selector")
    assert (found.code, found.severity, note in found.note) == ("L-913", "warning", True)
    assert found.span.line == 2


@pytest.mark.parametrize(
    "body",
    [
        "Advertised(P,S), not Have(P)",
        "Advertised(P,S), AdvertisedField(P,S,'Signed-By',_,A), Field(Q,'Signed-By',_,A), Have(Q)",
        "Advertised(P,S), not Field(P,'Group',_,'u')",
        "Advertised(P,S), Field(S,'Group',_,'u')",
    ],
)
def test_joins_and_what_we_have_not_are_fine(body: str) -> None:
    assert warnings(f"{HAVE}SelectAdvertised(P,S) :- {body}.", "selector") == []


def test_a_standard_field_in_the_wrong_case_is_told() -> None:
    selected = "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'GROUP',_,'u')."
    assert warnings(f"SelectHave(P) :- Have(P), not Field(P,'group',_,'u').\n{selected}", "selector") == [
        ("L-914", "no standard field is called 'group'; did you mean 'Group'?"),
        ("L-914", "no standard field is called 'GROUP'; did you mean 'Group'?"),
    ]
    assert warnings("A(P) :- Field(P,'Tag',_,'u'), Field(P,'Group',_,'U').") == []
