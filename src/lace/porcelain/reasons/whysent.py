"""Why a record left, asked later: the decision is made again from what the history kept.

    history ─▶ operands, sections in force, runtime facts, tick ─┐
                                                                  ├─▶ LocalPolicy ─▶ proof
    store now, without what was stored since ────────────────────┘

Rules of this file:
1. It decides nothing itself: `LocalPolicy` does, over the same view, with the same restrictions.
2. What an answer is worth is said with it. Where the store lost records since, it is a reconstruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final, Protocol, runtime_checkable

from lace.algebra import LIMITS
from lace.datalog import ALLOW_QUERY_RECORD, SELECT_HAVE, VIEWER, Derived, Explainer, Proof, compile_program
from lace.drive import Account, Agreement, History, Passage, Role, Section, Wanted, Way, is_peer
from lace.errors import LaceError
from lace.facts import Fact
from lace.policy import (
    OWN,
    Compose,
    Composed,
    ExchangePlan,
    ExposeModule,
    Exposure,
    LocalPolicy,
    OperandLimits,
    Restriction,
    Snapshot,
    Views,
    compose_selectors,
    make_plan,
    parse_transcript,
    read_expose,
    read_module,
    read_restriction,
)
from lace.porcelain.past import Past, records_at, state_of
from lace.porcelain.reasons.sending import Sending, Shown, WhySent, Worth
from lace.stores import Store, Version
from lace.text import RecordId, Tai

ME: Final = "this lace"
EXPLAINED: Final = 10
"""So many sendings are explained, the newest: each may have its own state of the store."""
CONVERGED: Final = "exchanges"
"""The table of a lake in which two lakes that converge note that they did."""
_LATE: Final = f"{OWN}{SELECT_HAVE.name}"
_LETS_GO: Final = re.compile(rf"S([0-9]+)\.(AllowSend|{_LATE})")
_SELECTS: Final = re.compile(rf"(O[01]\.(?:c[0-9]+_)*){SELECT_HAVE.name}")
_ORIGIN: Final = re.compile(r"  \[\S+ of \S+\]$")
"""The map of sources puts the scope behind a line, which ends with a full stop."""
_LEFT: Final = frozenset({Way.LEFT, Way.MAY_HAVE_LEFT})


class Counted(Protocol):
    """A version of tables."""

    def rows(self, table: str) -> int:
        """Count the rows of a table."""
        ...

    def dataset(self, table: str) -> Any:
        """Return the rows of a table."""
        ...


@runtime_checkable
class Tabled(Protocol):
    """A store of tables."""

    @property
    def snapshot(self) -> Counted:
        """The version that is read."""
        ...


def why_sent(
    history: History, store: Store, record: RecordId, *, peer: str | None = None, explain: int = EXPLAINED
) -> WhySent:
    """Tell every time that a record left, and why; `explain` so many, the newest first."""
    accounts: dict[int, Account] = {}
    passages = []
    for passage in history.passages(record):
        if passage.number not in accounts:
            accounts[passage.number] = history.exchange(passage.number, records=False)
        if peer is None or is_peer(peer, accounts[passage.number].entry):
            passages.append(passage)
    entries = history.exchanges(Wanted(limit=1))
    sendings = [_sending(each, accounts[each.number]) for each in reversed(passages) if each.way in _LEFT]
    reviewer = _Reviewer(store, record)
    explained = [reviewer.explain(each) for each in islice(sendings, explain)]
    others = tuple((each, accounts[each.number].entry) for each in passages if each.way not in _LEFT)
    return WhySent(
        record,
        (*explained, *sendings[explain:]),
        others,
        here=store.has(record),
        peer=peer,
        noted=next(entries, None) is not None,
        forgotten_until=history.forgotten_until(),
        converged=count_converged(store, history),
    )


def count_converged(store: Store, history: History) -> int:
    """Return how many exchanges a lake noted in its table alone, without the ids of what moved."""
    if not isinstance(store, Tabled) or not store.snapshot.rows(CONVERGED):
        return 0
    rows = store.snapshot.dataset(CONVERGED).to_table(columns=["began"]).column("began").to_pylist()
    # The moment at which one began is the same in both, to the nanosecond.
    noted = {str(entry.began) for entry in history.exchanges(Wanted(since=Tai(min(rows))))}
    return sum(each not in noted for each in rows)


def _sending(passage: Passage, account: Account) -> Sending:
    agreed = [each for each in account.agreements if each.epoch == passage.epoch]
    return Sending(passage, account.entry, agreed[-1] if agreed else None)


class _Reviewer:
    """Makes decisions about one record again; what two sendings share is made once."""

    def __init__(self, store: Store, record: RecordId) -> None:
        self._store = store
        self._record = record
        self._pasts: dict[Version | None, Past] = {}
        self._known: dict[object, Sending] = {}

    def explain(self, sending: Sending) -> Sending:
        """Say why a record left, as far as that can still be said."""
        agreed = sending.agreement
        if agreed is None:
            return replace(sending, worth=Worth.NOT_MADE, words=("the plan of this exchange was not noted",))
        if not self._is_known(sending.passage.version):
            words = ("the record is no longer here, and its facts went with it",)
            return replace(sending, worth=Worth.NOT_MADE, words=words)
        key = (agreed.operands, agreed.viewer, agreed.runtime, agreed.in_force, agreed.side)
        known = self._known.get((*key, sending.passage.tick, sending.passage.version))
        if known is None:
            try:
                known = self._review(sending, agreed)
            except LaceError as error:
                known = replace(sending, worth=Worth.NOT_MADE, words=(str(error),))
            self._known[(*key, sending.passage.tick, sending.passage.version)] = known
        return replace(
            sending, worth=known.worth, words=known.words, proof=known.proof,
            selected_by=known.selected_by, let_go_by=known.let_go_by, shown=known.shown,
            shown_by=known.shown_by, named=known.named,
        )  # fmt: skip

    def _is_known(self, version: Version | None) -> bool:
        """Tell whether the record is here, or in the version that was served then and can still be read."""
        if self._store.has(self._record):
            return True
        then = state_of(self._store, version)
        return then is not None and then.has(self._record)

    def _review(self, sending: Sending, agreed: Agreement) -> Sending:
        past = self._past(sending.passage.version)
        plan = _plan(agreed)
        tick = sending.passage.tick
        runtime = [("TickTAI", tick) if tick and fact[0] == "TickTAI" else fact for fact in agreed.runtime]
        snapshot = Snapshot(past.database, runtime, ())
        policy = LocalPolicy(
            plan,
            agreed.side,
            Views(ME, _exposure(agreed)),
            viewer=agreed.viewer,
            restrictions=_restrictions(agreed),
            limits=OperandLimits(ours=LIMITS),
        )
        proof = policy.explain(snapshot, _composed(agreed).generated).why_send(self._record)
        words = list(_caveats(past, plan))
        if not agreed.in_force.noted:
            words.append("what was shown to this viewer was not noted")
        if proof is None:
            words.insert(0, "over what is left of that moment, the rules do not let the record go")
            worth = Worth.NOT_MADE
        else:
            worth = Worth.MADE_AGAIN if words else Worth.AS_IT_WAS
        shown_by = tuple(_shown_by(agreed, snapshot, self._record))
        # What the rules no longer let go, they may no longer show either, and that tells nothing about then.
        shown = None if proof is None else _is_shown(agreed, shown_by)
        return replace(
            sending,
            worth=worth,
            words=tuple(words),
            proof=proof,
            selected_by=_selected_by(proof, agreed.side, self._record),
            let_go_by=_let_go_by(proof, agreed, self._record),
            shown=shown,
            shown_by=shown_by if shown else (),
            named=self._record in agreed.operands[1 - agreed.side],
        )

    def _past(self, version: Version | None) -> Past:
        if version not in self._pasts:
            self._pasts[version] = records_at(self._store, version)
        return self._pasts[version]


def _caveats(past: Past, plan: ExchangePlan) -> Iterator[str]:
    if past.lost is None:
        yield "the state of the store at that moment is not known, and these are the records of now"
    elif past.lost:
        gone = "1 record of that moment is" if past.lost == 1 else f"{past.lost:,} records of that moment are"
        yield f"{gone} no longer here"
    if past.inbox:
        yield "what waited in the inbox of the lake then, if anything did, is left out"
    if plan.select_have_uses_advertisements:
        yield "a selector reads what the peer advertised then, and that is not kept"


def _plan(agreed: Agreement) -> ExchangePlan:
    zero, one = map(read_module, agreed.operands)
    plan = make_plan(zero, one)
    plan.check_same(parse_transcript(agreed.transcript))
    return plan if agreed.peer is None else plan.prove(1 - agreed.side, agreed.peer)


def _exposure(agreed: Agreement) -> Exposure:
    # Only sections in scope were kept, so they are for everybody here.
    modules = tuple(ExposeModule(read_expose(each.text).program) for each in agreed.in_force.of(Role.EXPOSE))
    compose = Compose.UNION if agreed.in_force.union else Compose.INTERSECTION
    trusted = frozenset({agreed.viewer} if agreed.in_force.trusted else ())
    return Exposure(modules, compose, trusted)


def _restrictions(agreed: Agreement) -> tuple[Restriction, ...]:
    send = [read_restriction(each.text, "send") for each in agreed.in_force.of(Role.SEND)]
    receive = [read_restriction(each.text, "request") for each in agreed.in_force.of(Role.RECEIVE)]
    return (*send, *receive)


def _composed(agreed: Agreement) -> Composed:
    """Return what our operand was composed from, so that reasons reach its parts."""
    own = read_module(agreed.operands[agreed.side])
    parts = [read_module(each.text) for each in agreed.in_force.of(Role.SELECT)]
    composed = compose_selectors(parts) if parts else Composed(own)
    return composed if composed.module == own else Composed(own)


def _selected_by(proof: Proof | None, side: int, record: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the rules by which the two operands selected a record, each as its author wrote it."""
    found: dict[str, str] = {}
    for fact, step in {} if proof is None else proof.steps.items():
        name = _SELECTS.fullmatch(fact[0])
        if isinstance(step, Derived) and name is not None and fact[1:] == (record,):
            found[name[1]] = _ORIGIN.sub("", step.rule.line)

    def rules(scope: str) -> Iterator[str]:
        if scope not in found:
            return
        # What a composed operand says first is only that all of its parts agree.
        parts = _count_parts(found[scope], scope[len("O0.") :])
        if not parts:
            yield found[scope]
        for number in range(parts):
            yield from rules(f"{scope}c{number}_")

    return tuple(rules(f"O{side}.")), tuple(rules(f"O{1 - side}."))


def _count_parts(line: str, scope: str) -> int:
    """Tell how many parts a rule says that all agree; 0 for any other rule, whatever its helpers are called.

    >>> _count_parts("SelectHave(P) :- c0_SelectHave(P), c1_SelectHave(P).", "")
    2
    >>> _count_parts("SelectHave(P) :- Have(P), c0_SelectHave(P).", "")
    0
    """
    head, _, body = line.removesuffix(".").partition(" :- ")
    atoms = body.split(", ")
    # The parts of ours are told as they were written, those of a peer as it presents them.
    for prefix in ("", scope):
        parts = [f"{prefix}c{number}_{SELECT_HAVE.name}(P)" for number in range(len(atoms))]
        if len(atoms) > 1 and head == f"{prefix}{SELECT_HAVE.name}(P)" and atoms == parts:
            return len(atoms)
    return 0


def _let_go_by(proof: Proof | None, agreed: Agreement, record: str) -> tuple[Shown, ...]:
    """Return the sections that restrict what is sent, each with the rule by which it let a record go."""
    sections = agreed.in_force.of(Role.SEND)
    found: dict[int, str] = {}
    for fact, step in {} if proof is None else proof.steps.items():
        name = _LETS_GO.fullmatch(fact[0])
        if isinstance(step, Derived) and name is not None and fact[1:] == (record,):
            line = _ORIGIN.sub("", step.rule.line)
            if name[2] == _LATE:
                # A selector that became a restriction: its own rule says more than the step to it.
                found[int(name[1])] = line.removeprefix(OWN)
            else:
                found.setdefault(int(name[1]), line)
    return tuple(Shown(name_section(sections[index]), line) for index, line in sorted(found.items()))


def _shown_by(agreed: Agreement, snapshot: Snapshot, record: str) -> Iterator[Shown]:
    """Yield the expose sections that showed a record, each with the rule that did."""
    if agreed.in_force.trusted:
        yield Shown("[trust]", "this viewer's rules read everything")
        return
    goal: Fact = (ALLOW_QUERY_RECORD.name, agreed.viewer, record)
    given: list[Fact] = [*snapshot.runtime, (VIEWER.name, agreed.viewer)]
    for section in agreed.in_force.of(Role.EXPOSE):
        program = compile_program(read_expose(section.text).program)
        result = snapshot.records.evaluate(program, None, given).result()
        proof = Explainer(program, result).why(goal)
        step = None if proof is None else proof.steps[proof.goal]
        if isinstance(step, Derived):
            yield Shown(name_section(section), step.rule.line)


def _is_shown(agreed: Agreement, shown_by: tuple[Shown, ...]) -> bool | None:
    """Tell whether a viewer's rules saw a record, by the sections that showed it; None where nobody knows."""
    if not agreed.in_force.noted:
        return None
    if agreed.in_force.trusted or agreed.in_force.union:
        return bool(shown_by)
    return bool(shown_by) and len(shown_by) == len(agreed.in_force.of(Role.EXPOSE))


def name_section(section: Section) -> str:
    """Return how to call a section of which nobody said where it stands."""
    return section.name or f"[{section.role.value}]"
