"""Policies from a seed: what is foreseen of an exchange is what it does, and what is told of it later."""

from __future__ import annotations

from random import Random

import pytest

from lace.drive import Side
from lace.errors import LaceError
from lace.interlace import InterlaceResult, SendBlock
from lace.porcelain import ExchangeChoices, Lace, PolicyBook, PolicyFile, Rehearsal, Worth, parse_policy
from lace.record import Record, make_plex, make_seal
from lace.signing import Secret
from tests.porcelain.talking import ALICE, BOB, Answering, ids, stocked

SEEDS = range(40)
GROUPS, APPS, NAMES = ("town", "home", "club"), ("notes", "chat"), ("a", "b", "c")
WHO = (ALICE.verifier, BOB.verifier)


def make_records(random: Random, count: int = 10) -> list[Record]:
    made: list[Record] = []
    for number in range(count):
        links = [("+Ref", f"x {random.choice(made).id}")] if made and random.random() < 0.4 else []
        place = random.choice(GROUPS), random.choice(APPS), random.choice(NAMES)
        record = make_plex(*place, "1640995200:000000000", b"%d" % number, links)
        secret = random.choice((ALICE, BOB))
        made.append(make_seal(record, secret, b"a" * 32) if random.random() < 0.3 else record)
    return made


class Policies:
    """Makes policies about records, for one peer."""

    def __init__(self, random: Random, records: list[Record], peer: Secret) -> None:
        self._random = random
        self._ids = [record.id for record in records]
        self._peer = peer.verifier

    def _about(self) -> str:
        pick = self._random.choice
        more = [
            f"Field(P,'Group',_,'{pick(GROUPS)}')",
            f"Field(P,'App',_,'{pick(APPS)}')",
            f"not Field(P,'Group',_,'{pick(GROUPS)}')",
            "Field(P,'Signed-By',_,K), Peer(K)",
            f"Field(P,'Signed-By',_,'{pick(WHO)}')",
            f"RecordLink(Q,_,_,_,P), Field(Q,'Group',_,'{pick(GROUPS)}')",
            f"Field(P,'Name',_,N), Field(Z,'Name',_,N), Field(Z,'Group',_,'{pick(GROUPS)}')",
            f"Cardinality(Field(P,'Group',_,'{pick(GROUPS)}'),'>=','1')",
        ]
        return ", ".join(["Have(P)", *self._random.sample(more, pick((0, 1, 1, 2)))])

    def _about_claims(self) -> str:
        pick = self._random.choice
        more = [
            f"AdvertisedField(P,S,'Group',_,'{pick(GROUPS)}')",
            f"not AdvertisedField(P,S,'Name',_,'{pick(NAMES)}')",
            f"AdvertisedField(P,S,'Signed-By',_,'{pick(WHO)}')",
            "AdvertisedField(P,S,'Name',_,N), Field(Z,'Name',_,N)",
        ]
        return ", ".join(["Advertised(P,S)", *self._random.sample(more, pick((0, 0, 1, 2)))])

    def _selector(self) -> str:
        rules = [f"SelectHave(P) :- {self._about()}." for _ in range(self._random.choice((1, 2)))]
        if self._random.random() < 0.2:
            rules.append(f"SelectHave('{self._random.choice(self._ids)}') :- true.")
        rules.append(f"SelectAdvertised(P,S) :- {self._about_claims()}.")
        return "\n".join(rules)

    def _text(self) -> str:
        random, peer = self._random, self._peer
        sections = [f"[select]\n{self._selector()}\n"]
        for header in ("[select]", f"[select for {peer}]"):
            sections += [f"{header}\n{self._selector()}\n"] if random.random() < 0.3 else []
        for _ in range(random.choice((0, 1, 1, 2))):
            whom = random.choice(("anyone", "proven peers", peer))
            sections.append(f"[expose to {whom}]\nAllowQueryRecord(V,P) :- _Viewer(V), {self._about()}.\n")
        for chance, header in ((0.3, "[expose selected]"), (0.2, "[expose union]"), (0.1, f"[trust {peer}]")):
            sections += [f"{header}\n"] if random.random() < chance else []
        for _ in range(random.choice((0, 0, 1, 2))):
            sections.append(f"[send]\nAllowSend(P) :- {self._about()}.\n")
            sections.append(f"[receive]\nAllowRequest(P,S) :- {self._about_claims()}.\n")
        random.shuffle(sections)
        return "".join(sections)

    def _file(self) -> PolicyFile:
        while True:
            try:
                return parse_policy(self._text())
            except LaceError:  # such as a view that hides all that is selected
                continue

    def make(self) -> PolicyFile | PolicyBook:
        if self._random.random() < 0.75:
            return self._file()
        return PolicyBook(self._file(), {self._peer: self._file()})


def stock(random: Random, records: list[Record]) -> Lace:
    lace = stocked([record for record in records if random.random() < 0.6])
    gone = [record for record in records if random.random() < 0.15]
    lace.put_records(gone)
    lace.forget(*(record.id for record in gone))
    return lace


def check_reasons(lace: Lace, rehearsal: Rehearsal) -> None:
    """What is told of each record by itself is what is told of all of them."""
    preview = rehearsal.preview()
    held = {record for each in preview.held for record in each.records}
    assert held == ids(lace.store) - preview.may_send
    for record in ids(lace.store):
        reasons = rehearsal.why_not_send(record)
        assert (rehearsal.why_send(record) is not None) == (record in preview.may_send)
        assert bool(reasons.reasons) == (record in held)
        parts = {each.by for each in preview.held if record in each.records}
        assert parts <= set(rehearsal.held_by(reasons))


def check_sent(lace: Lace, rehearsal: Rehearsal, result: InterlaceResult) -> None:
    """What left has the reason that was foreseen, unless something that came first let it go."""
    for record in result.sent_hashes:
        sending = lace.why_sent(record).sendings[0]
        assert (sending.worth, sending.proof is None) == (Worth.AS_IT_WAS, False)
        if record in rehearsal.may_send:
            assert sending.shown == (rehearsal.seen is None or record in rehearsal.seen)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_foreseen_happens(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    records = make_records(random)
    here, there = stock(random, records), stock(random, records)
    ours, theirs = (Policies(random, records, peer).make() for peer in (BOB, ALICE))
    me, peer = (secret if random.random() < 0.7 else None for secret in (ALICE, BOB))
    who = {"here": me and me.verifier, "peer": peer and peer.verifier}
    rehearsals = (
        here.rehearse(ours, theirs=theirs, there=there, **who),
        there.rehearse(theirs, theirs=ours, there=here, here=who["peer"], peer=who["here"]),
    )
    foreseen = [each.preview() for each in rehearsals]
    for lace, rehearsal in zip((here, there), rehearsals, strict=True):
        check_reasons(lace, rehearsal)

    said: tuple[list[set[str]], list[set[str]]] = [], []
    do = Side._do

    def listen(side: Side, output: object) -> object:
        if isinstance(output, SendBlock):
            index, facts = side.machine.exchange.settings.index, output.facts
            said[index].append({fact[1] for fact in facts if fact[0] in ("Advertised", "MayRequest")})
        return do(side, output)  # type: ignore[arg-type]

    monkeypatch.setattr(Side, "_do", listen)
    choices = ExchangeChoices(secret=peer, partitions=False)
    answering = Answering(there, theirs, choices)
    result = here.sync("unix:/nowhere", ours, over=answering.connect, sign=me)
    assert (result.error, result.peer_verifier) == (None, who["peer"])
    for index, preview in enumerate(foreseen):
        # Setup and hello come first, then what is advertised and what is asked for.
        assert said[index][2:4] == [preview.may_send, preview.may_request]
        assert not preview.unasked & said[1 - index][3]
    check_sent(here, rehearsals[0], result)
    check_sent(there, rehearsals[1], answering.results[0])
