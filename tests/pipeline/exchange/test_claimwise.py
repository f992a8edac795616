"""Which requests can be decided from the claims of one record."""

from __future__ import annotations

import pytest

from lace.pipeline.exchange.claimwise import is_claimwise
from lace.policy import make_plan, read_restriction
from tests.interlace.pair import ALL, module
from tests.interlace.scenarios import EVERY_FIELD, FEW, FOLLOWS, GROUP_U, LINKED, LONELY, MEMBERS

COUNTS = "SelectHave(P) :- Have(P).\n" + (
    "SelectAdvertised(P,S) :- Advertised(P,S), Cardinality(Advertised(_,S),'<','9')."
)
NAMED = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S), Twin(P).\n" + (
    "Twin(P) :- AdvertisedField(P,S,'Name',_,N), AdvertisedField(Q,S,'Name',_,N), P != Q."
)
OWN = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S), not Odd(P).\n" + (
    "Odd(P) :- AdvertisedField(P,_,'App',_,'x')."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(ALL, True), (GROUP_U, True), (MEMBERS, True), (LINKED, True), (FEW, True), (LONELY, True),
     (EVERY_FIELD, True), (OWN, True), (FOLLOWS, True), (COUNTS, False), (NAMED, False)],
)  # fmt: skip
def test_a_rule_about_one_record_reads_that_records_claims(text: str, expected: bool) -> None:
    assert is_claimwise(make_plan(module(ALL), module(text))) is expected
    assert is_claimwise(make_plan(module(text), module(ALL))) is expected


def test_a_receive_restriction_counts_and_a_send_restriction_does_not() -> None:
    plan = make_plan(module(ALL), module(GROUP_U))
    whole = read_restriction("AllowRequest(P,S) :- Advertised(P,S), Advertised(Q,S), P != Q.", "request")
    assert not is_claimwise(plan, (whole,))
    assert is_claimwise(plan, (read_restriction("AllowSend(P) :- Have(P), Have(Q), P != Q.", "send"),))
