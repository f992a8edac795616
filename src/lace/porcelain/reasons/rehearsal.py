"""An exchange that is thought through and not held: what a policy would send to a peer, and what it holds.

    rehearsal = lace.rehearse(policy, peer=verifier)
    rehearsal.preview().may_send
    rehearsal.why_send(record)

Rules of this file:
1. It decides nothing itself: `LocalPolicy` does, over the same view, with the same restrictions.
2. What holds a record back is told by the section that does. A record that two sections hold is told twice.
3. Without the peer's policy, the peer is one that wants everything that it sees. What would be sent is then
   the most but for records that a peer names: by an id that it knows, or as the target of a link.
4. The peer presents what it does to somebody who has proved nothing yet: what it says about us alone narrows
   what it asks for, and is no part of its operand. Where it knows us before, less may be sent, never more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, Final, NamedTuple

from lace.algebra import LIMITS, EvaluationStopped
from lace.datalog import (
    ALLOW_QUERY_RECORD,
    SELECT_HAVE,
    VIEWER,
    Explainer,
    Program,
    Proof,
    WhyNot,
    compile_program,
    parse_program,
)
from lace.errors import PolicyError
from lace.facts import Fact, Predicate, facts_of_record
from lace.policy import (
    NOTHING_EXPOSED,
    Compose,
    Decision,
    ExchangePlan,
    Held,
    LocalPolicy,
    Module,
    OperandLimits,
    Reasons,
    Resident,
    Snapshot,
    Views,
    find_askable,
    make_plan,
    read_module,
)
from lace.porcelain.arguments import check_offers
from lace.porcelain.exchanges.peerpolicy import ASKS_FOR_NOTHING, PolicyBook, given_policies, present
from lace.porcelain.policies.file import EXPOSE, RECEIVE, SELECTED, SEND, TRUST, PolicySection
from lace.porcelain.policies.parse import GivenPolicy, given_policy
from lace.stores import Store
from lace.text import PlanId, RecordId, Verifier

ME: Final = "this lace"
WANTS_ALL: Final = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."
BY_SELECT, BY_EXPOSE, BY_PEER, BY_SEND, BY_RECEIVE = "select", "expose", "peer", "send", "receive"
_ALLOW_SEND: Final = Predicate("AllowSend", 1)
_EVERY: Final = Predicate("Every", 1)


class HeldBack(NamedTuple):
    """Records that one part of a policy does not let go."""

    by: str
    """`select`, `expose`, `peer` or `send`."""
    where: str
    """The section and its place, or what stands for it."""
    records: AbstractSet[str]


class Preview(NamedTuple):
    """What an exchange with a peer would do."""

    plan: PlanId
    viewer: str
    words: str | None
    """What a person should be told about the view, where there is something to tell."""
    stored: int
    exposed: int
    """How many of them the peer's rules may see."""
    selected: AbstractSet[str]
    """What our own policy selects."""
    may_send: AbstractSet[str]
    may_request: AbstractSet[str] | None
    """What may be asked for and is not here; None where it is not known what the peer advertises."""
    held: tuple[HeldBack, ...]
    kept_out: AbstractSet[str] = frozenset()
    """What would be asked for, had it not been forgotten here."""
    unasked: AbstractSet[str] = frozenset()
    """What may be sent, and our own selector lets the peer not ask for, as far as that is known here."""


class Rehearsal:
    """One side of an exchange, over the facts of one moment."""

    def __init__(
        self,
        records: Resident,
        ours: GivenPolicy,
        *,
        peer: Verifier | None = None,
        theirs: GivenPolicy | PolicyBook | None = None,
        here: Verifier | None = None,
        side: int = 0,
        runtime: Iterable[Fact] = (),
        advertised: Iterable[Fact] | None = None,
        sends_only: bool = False,
        kept_out: frozenset[str] = frozenset(),
        presented: Module | None = None,
    ) -> None:
        """`peer` is whom the other side proves to be, and `here` whom we do: None proves nothing.

        Where `advertised` is None, it is not known what the peer advertises. A side that `sends_only` asks
        for nothing, and nobody for what its store has `kept_out` since it was forgotten. `presented` is what
        is presented to whoever has proved nothing yet, where that is not our policy's.
        """
        check_offers("records", records, "evaluate", "facts in memory: ResidentFacts(lace.store).database")
        ours = self.ours = given_policy(ours)
        self.peer = peer
        self.side = side
        runtime, claims = tuple(runtime), None if advertised is None else tuple(advertised)
        self._how: dict[str, Any] = {
            "peer": peer, "theirs": theirs, "here": here, "side": side, "runtime": runtime,
            "advertised": claims, "sends_only": sends_only, "kept_out": kept_out,
        }  # fmt: skip
        self._composed = ours.operand(peer)
        wanted = read_module(WANTS_ALL) if theirs is None else present(given_policies(theirs)).module
        own = self._composed.module
        plan = make_plan(own, wanted) if side == 0 else make_plan(wanted, own)
        for index, proven in ((side, here), (1 - side, peer)):
            plan = plan if proven is None else plan.prove(index, proven)
        self.plan: ExchangePlan = plan
        active = ours.active(peer)
        self._exposure = active.exposure
        self._restrictions = (*active.restrictions, *([ASKS_FOR_NOTHING] if sends_only else []))
        self._policy = LocalPolicy(
            plan,
            side,
            Views(ME, active.exposure),
            restrictions=self._restrictions,
            limits=OperandLimits(ours=LIMITS),
        )
        self.viewer = self._policy.viewer
        known: list[Fact] = [("Peer", peer)] if peer else []
        known += [("Here", here)] if here else []
        self.snapshot = Snapshot(records, (*runtime, *known), claims or ())
        self._knows_peer = claims is not None
        self._kept_out = kept_out
        self._presented = presented

    def under(self, policy: GivenPolicy) -> Rehearsal:
        """Return the same exchange over the same records under another policy of ours."""
        return Rehearsal(self.snapshot.records, policy, **self._how)

    @cached_property
    def decision(self) -> Decision:
        """What may be sent and asked for."""
        return self._policy.evaluate(self.snapshot)

    @property
    def source(self) -> str:
        """What the other side is called in its advertisements."""
        return self.plan.operands[1 - self.side].origin.viewer

    def advertise(self, store: Store, source: str | None = None) -> list[Fact]:
        """Return what this side would advertise of a store, as the other side takes it in.

        `source` is what the other side calls this one, where it supposes another plan.
        """
        source = source or self.plan.operands[self.side].origin.viewer
        wanted = self.plan.fields
        found: list[Fact] = []
        for record in sorted(self.may_send):
            found.append(("Advertised", record, source))
            for fact in facts_of_record(store.get(RecordId(record))):
                if fact[0] == "Field" and (wanted.every or fact[2] in wanted.names):
                    found.append(("AdvertisedField", record, source, *fact[2:]))
        return found

    @property
    def may_send(self) -> AbstractSet[str]:
        """The records that may be sent: rules may name others, but what is not here is not sent."""
        return self.decision.may_send & self._have()

    @property
    def may_request(self) -> AbstractSet[str]:
        """The records that may be asked for, whether they are here or not."""
        return self.decision.may_request

    @property
    def seen(self) -> AbstractSet[str] | None:
        """The records that the peer's rules may see; None where these are all."""
        return self.decision.view.records

    @property
    def words(self) -> str | None:
        """What a person should be told about the view, where there is something to tell."""
        return self.decision.words

    def selected(self) -> AbstractSet[str]:
        """Return what our own policy selects of what is here."""
        return self._selected_by(self.side)

    def _selected_by(self, index: int) -> AbstractSet[str]:
        return frozenset([values[0] for values in self.decision.selected(index)[0]]) & self._have()

    def preview(self) -> Preview:
        """Say what an exchange would do, and what holds the rest back."""
        have = self._have()
        view = self.seen
        selected = self.selected()
        wanted = self.may_request - have if self._knows_peer else frozenset[str]()
        kept_out = self._kept_out.intersection(wanted) if self._kept_out else frozenset[str]()
        return Preview(
            self.plan.id,
            self.viewer,
            self.words,
            len(have),
            len(have) if view is None else len(have & view),
            selected,
            self.may_send,
            None if not self._knows_peer else frozenset(wanted) - kept_out if kept_out else wanted,
            tuple(each for each in self._held(have, selected) if each.records),
            kept_out,
            self.unasked(),
        )

    def unasked(self) -> AbstractSet[str]:
        """Return what may be sent, and our own selector does not let the peer ask for.

        It decides that there, over what we advertise. Where it reads the peer's records too, or takes more
        than a limit allows, nothing is said.
        """
        try:
            # Whoever proves only later who it is has what is presented to anybody.
            presented = self._presented or present(self.ours).module
        except PolicyError:
            return frozenset()  # only somebody who is expected can be met under such a policy
        sent = self.may_send
        asking = find_askable(presented, sent, self.plan.operands[self.side].origin.viewer)
        if asking is None or not sent:
            return frozenset()
        here, peer = self._how["here"], self.peer
        there: list[Fact] = [fact for fact in self.snapshot.runtime if fact[0] not in ("Peer", "Here")]
        there += [("Peer", here)] if here else []
        there += [("Here", peer)] if peer else []
        program = compile_program(asking.program, (asking.wanted,))
        try:
            result = self.snapshot.records.evaluate(program, None, [*there, *asking.given]).result()
        except EvaluationStopped:
            return frozenset()
        return sent - frozenset([values[0] for values in result.lookup(asking.wanted, (None,))])

    def _held(self, have: AbstractSet[str], selected: AbstractSet[str]) -> Iterator[HeldBack]:
        sections = self.ours.select_sections(self.peer)
        for section, chosen in self._each(sections, SELECT_HAVE, selected):
            yield HeldBack(BY_SELECT, self.ours.place(section), have - chosen)
        if self.may_send >= selected:
            return
        view = self.seen
        seen = selected if view is None else selected & view
        # The peer may select what it cannot see: a record that it sees links to it.
        theirs = self._selected_by(1 - self.side)
        yield from self._hidden(selected - seen - theirs)
        yield HeldBack(BY_PEER, "the peer's selector", seen - theirs)
        both = selected & theirs
        if self.may_send >= both:
            return
        for section, chosen in self._each(self.ours.of(SEND), _ALLOW_SEND, self.may_send):
            yield HeldBack(BY_SEND, self.ours.place(section), both - chosen)

    def _hidden(self, records: AbstractSet[str]) -> Iterator[HeldBack]:
        """Say which expose sections keep records from a peer's rules."""
        if not records:
            return
        sections = self._exposing()
        if not self._exposure.in_scope(self.viewer):
            yield HeldBack(BY_EXPOSE, NOTHING_EXPOSED, records)
        elif self._exposure.compose is Compose.UNION:
            where = "none of " + ", ".join(map(self.ours.place, sections))
            yield HeldBack(BY_EXPOSE, where, records)
        else:
            # What `expose selected` hides is not selected either.
            shown = self.seen
            assert shown is not None, "of what is hidden from nobody, nothing is hidden"
            for section, chosen in self._each(sections, ALLOW_QUERY_RECORD, shown):
                yield HeldBack(BY_EXPOSE, self.ours.place(section), records - chosen)

    def _exposing(self) -> tuple[PolicySection, ...]:
        return tuple(each for each in self.ours.expose_sections() if each.expose_module.is_for(self.viewer))

    def _each(
        self, sections: tuple[PolicySection, ...], wanted: Predicate, together: AbstractSet[str]
    ) -> Iterator[tuple[PolicySection, AbstractSet[str]]]:
        """Yield for each section what it lets through; one alone lets through what all of them do."""
        if len(sections) == 1 and not (wanted == ALLOW_QUERY_RECORD and self.ours.says(EXPOSE, SELECTED)):
            yield sections[0], together
            return
        for section in sections:
            if wanted == SELECT_HAVE:
                program = section.module.program
            elif wanted == ALLOW_QUERY_RECORD:
                program = section.expose_module.program
            else:
                program = section.restriction.program
            yield section, self._extension(program, wanted)

    def _extension(self, program: Program, wanted: Predicate) -> AbstractSet[str]:
        """Evaluate local rules over everything we have; return the records in what is wanted."""
        # A viewer stands before its record.
        pattern = (self.viewer, None) if wanted == ALLOW_QUERY_RECORD else (None,) * wanted.arity
        running = self.snapshot.records.evaluate(compile_program(program, (wanted,)), None, self._given())
        return frozenset([values[-1] for values in running.result().lookup(wanted, pattern)])

    def _have(self) -> AbstractSet[str]:
        return self._stored

    @cached_property
    def _stored(self) -> AbstractSet[str]:
        return self._extension(parse_program("Every(P) :- Have(P)."), _EVERY)

    def _given(self) -> list[Fact]:
        return [*self.snapshot.runtime, *self.snapshot.advertised, (VIEWER.name, self.viewer)]

    @cached_property
    def _reasons(self) -> Reasons:
        return self._policy.explain(self.snapshot, self._composed.generated)

    def why_send(self, record: str) -> Proof | None:
        """Return why a record may be sent, or None where it may not."""
        return self._reasons.why_send(record)

    def why_request(self, record: str) -> Proof | None:
        """Return why an advertised record may be asked for, or None where it may not."""
        return self._reasons.why_request(record)

    def why_not_send(self, record: str) -> Held:
        """Say what holds a record back."""
        return self._reasons.why_not_send(record)

    def why_not_request(self, record: str) -> Held:
        """Say why a record that the peer advertised is not asked for."""
        return self._reasons.why_not_request(record, self.source)

    def why_exposed(self, record: str) -> list[tuple[PolicySection, Proof | None]]:
        """Return the sections by which the peer's rules may see a record that is sent, each with its proof.

        `[trust]` and `[expose selected]` have none: they show everything, and all that is selected. The list
        is empty where the peer's rules name the record without seeing it, even where one section shows it:
        another one hides it, and that decides.
        """
        if self._exposure.is_trusted(self.viewer):
            return [(each, None) for each in self.ours.of(TRUST) if self.viewer in (each.header.peers or ())]
        if self.seen is not None and record not in self.seen:
            return []
        proofs = [(section, explainer.why(goal)) for section, explainer, goal in self._exposing_one(record)]
        found: list[tuple[PolicySection, Proof | None]] = [pair for pair in proofs if pair[1] is not None]
        return found + [(each, None) for each in self.ours.of(EXPOSE) if each.header.detail == SELECTED]

    def why_not_exposed(self, record: str) -> list[tuple[PolicySection, WhyNot]]:
        """Say for each expose section in scope that does not show a record why it does not."""
        found = [
            (section, explainer.why_not(goal)) for section, explainer, goal in self._exposing_one(record)
        ]
        return [(section, answer) for section, answer in found if answer.proof is None]

    def _exposing_one(self, record: str) -> Iterator[tuple[PolicySection, Explainer, Fact]]:
        """Yield each expose section in scope, what explains its rules, and what they would have to say."""
        goal: Fact = (ALLOW_QUERY_RECORD.name, self.viewer, record)
        for section in self._exposing():
            program = compile_program(section.expose_module.program)
            result = self.snapshot.records.evaluate(program, None, self._given()).result()
            yield section, Explainer(program, result), goal

    def held_by(self, held: Held) -> list[str]:
        """Return which parts of a policy hold a record back, in the words of a test."""
        return list(dict.fromkeys(self._part(answer.fact[0], held) for answer in held.reasons))

    def _part(self, name: str, held: Held) -> str:
        if name.startswith("S"):
            return BY_SEND
        if name.startswith("R"):
            return BY_RECEIVE
        if name.startswith(f"O{self.side}."):
            return BY_SELECT
        # What a peer advertised itself is no secret to it.
        return BY_PEER if held.seen or name.endswith("SelectAdvertised") else BY_EXPOSE

    def section_of(self, name: str) -> PolicySection | None:
        """Return the section that a restriction in an explanation came from, such as `S0.AllowSend`."""
        scope = name.partition(".")[0]
        if scope[:1] not in ("S", "R") or not scope[1:].isdigit():
            return None
        # Behind them is what a side that only sends holds against requests, and that is no section.
        sections, at = self.ours.of(SEND if scope[0] == "S" else RECEIVE), int(scope[1:])
        return sections[at] if at < len(sections) else None
