"""The local executable: one side's `MaySend` and `MayRequest` for an agreed plan (040).

    policy = LocalPolicy(plan, 1, Views("me", exposure))
    decision = policy.evaluate(snapshot)
    decision.may_send, decision.may_request

"The two local executables may differ because each side uses its own local query-view facts and full local
record store. They are still executions of the same agreed plan."

Rules of this file:
1. The peer's operand sees our record facts through the view that `views` makes, and through nothing else.
2. It runs first and alone, under limits of its own. What it costs and where it stops depends on its rules,
   its view, and facts that the peer knows anyway. Only what it selects is handed over to ours.
3. After a limit there is an error that names the operand, and no decision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final, Protocol

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, Result
from lace.errors import LimitExceeded
from lace.facts import Predicate, Values, View, check_view
from lace.policy.extent import Extent
from lace.policy.following import Following
from lace.policy.lower import MAY_REQUEST, MAY_SEND, Lowered, Precompiled
from lace.policy.module import FlatRules
from lace.policy.peerreasons import PeerReasons
from lace.policy.plan import ExchangePlan, make_plan
from lace.policy.reasons import Reasons
from lace.policy.resident import Handed, rows_since
from lace.policy.restriction import Restriction
from lace.policy.scope import Generated
from lace.policy.snapshot import Given, Snapshot
from lace.text import PlanId

NOTHING_EXPOSED: Final = "nothing is exposed to this peer"

LOOKED_UP: Final = 16
"""Looking up one record takes as long as making texts of so many, where all of them are made texts."""

SECONDS: Final = 10.0
"""For each operand, where a clock is given: a peer waits 30 s, and both must be done well before."""

OUR_LIMITS: Final = EvaluationLimits(seconds=SECONDS)
PEER_LIMITS: Final = EvaluationLimits(
    derived_per_predicate=1 << 22, derived_total=1 << 23, iterations=1 << 16, steps=1 << 26, seconds=SECONDS
)
"""A stranger's rules get less than ours, and still well above 030's minimum."""


class OperandStopped(LimitExceeded):
    """An operand that would pass one of its limits."""

    code = "policy/operand-stopped"
    text = "{whose} operand {index} was stopped: {limit} would pass {bound}; nothing of it is used"


class ViewMaker(Protocol):
    """Whatever makes the view of a viewer for a snapshot."""

    def view(self, viewer: str, snapshot: Snapshot) -> View:
        """Return what a viewer's rules may see."""
        ...


@dataclass(frozen=True, slots=True)
class OperandLimits:
    """What each operand may cost in one evaluation."""

    ours: EvaluationLimits = OUR_LIMITS
    """Our operand, the restrictions, the merge and the lowering."""
    peer: EvaluationLimits = PEER_LIMITS
    """The peer's operand, alone."""


class Extension(Extent[str]):
    """The records of which a decision holds, as its engine has them.

    They become texts when somebody wants all of them; who asks about a few has them looked up.
    """

    def __init__(self, result: Result, predicate: Predicate) -> None:
        self._result = result
        self._predicate = predicate

    @cached_property
    def all(self) -> frozenset[str]:
        """All of them as texts."""
        return frozenset(self._texts())

    def __len__(self) -> int:
        return self._result.count(self._predicate)

    def __iter__(self) -> Iterator[str]:
        if "all" in self.__dict__:
            return iter(self.all)
        # Walked through once, or copied into another set: no reason to keep all texts here.
        return iter([*self._texts()])

    def _texts(self) -> Iterator[str]:
        return chain.from_iterable(self._result.lookup(self._predicate, (None,)))

    def __contains__(self, record: object) -> bool:
        if "all" in self.__dict__ or not isinstance(record, str):
            return record in self.all
        return any(True for _ in self._result.lookup(self._predicate, (record,)))

    def since(self, earlier: AbstractSet[str]) -> Collection[str] | None:
        """Return what came since an earlier decision; None where its engine cannot tell."""
        if not isinstance(earlier, Extension) or earlier._predicate != self._predicate:
            return None
        came = rows_since(self._result, earlier._result, self._predicate)
        return None if came is None else [*chain.from_iterable(came)]

    def among(self, given: Collection[str]) -> list[str]:
        """Return those of some that are in the set, in their order."""
        few = len(given) * LOOKED_UP < len(self)
        return list(filter(self.__contains__ if few else self.all.__contains__, given))


@dataclass(frozen=True)
class Decision:
    """What one evaluation decided."""

    plan: PlanId
    view: View
    """What the peer's rules could see."""
    steps: tuple[int, int]
    """What the two operands cost, by index; ours with the restrictions, the merge and the lowering."""
    _results: tuple[Result, Result] = field(repr=False)
    """Of the two operands, by index; ours has the decision."""
    _lowered: Lowered = field(repr=False)

    @property
    def _result(self) -> Result:
        return self._results[self._lowered.side]

    @cached_property
    def sendable(self) -> Extension:
        """The records that may be sent, where we have them, for whoever follows them or asks about a few."""
        return Extension(self._result, MAY_SEND)

    @cached_property
    def requestable(self) -> Extension:
        """The advertised records that may be asked for, for whoever follows them or asks about a few."""
        return Extension(self._result, MAY_REQUEST)

    @property
    def may_send(self) -> frozenset[str]:
        """The records that may be sent, where we have them."""
        return self.sendable.all

    @property
    def may_request(self) -> frozenset[str]:
        """The advertised records that may be asked for, where we have not got them."""
        return self.requestable.all

    def may_send_record(self, record: str) -> bool:
        """Tell whether one record may be sent, without listing the others."""
        return record in self.sendable

    def may_request_record(self, record: str) -> bool:
        """Tell whether one record may be asked for, without listing the others."""
        return record in self.requestable

    def counts(self) -> tuple[int, int]:
        """Return how many records may be sent, and how many asked for."""
        return len(self.sendable), len(self.requestable)

    def selected(self, index: int) -> tuple[list[Values], list[Values]]:
        """Return what one operand selects: `SelectHave` and `SelectAdvertised`, sorted."""
        have, advertised = self._lowered.exported(index)
        return self._results[index].facts(have), self._results[index].facts(advertised)

    def passed_over(self) -> frozenset[str]:
        """Return the records that our operand selects and the peer's does not, though it can see them."""
        lowered = self._lowered
        (ours, _), (theirs, _) = lowered.exported(lowered.side), lowered.exported(lowered.peer_index)
        if self._result.count(ours) == self._result.count(MAY_SEND):
            return frozenset()  # a part of the one is the other, so nothing was passed over
        chosen = {values[0] for values in self._results[lowered.peer_index].lookup(theirs, (None,))}
        found = (values[0] for values in self._result.lookup(ours, (None,)))
        return frozenset(each for each in found if each not in chosen and self.view.shows(each))

    @property
    def words(self) -> str | None:
        """What a person should be told about the view, where there is something to tell."""
        return NOTHING_EXPOSED if self.view.is_empty else None


class LocalPolicy:
    """Runs one side of a plan over snapshot after snapshot of one exchange."""

    def __init__(
        self,
        plan: ExchangePlan,
        side: int,
        views: ViewMaker,
        *,
        viewer: str | None = None,
        restrictions: tuple[Restriction, ...] = (),
        limits: OperandLimits | None = None,
        now: Callable[[], float] | None = None,
        precompiled: Precompiled | None = None,
    ) -> None:
        self.plan = check_plan(plan)
        self.side = side
        self.viewer = viewer or self.plan.operands[1 - side].origin.viewer
        """Whose view the peer's rules have: whom a binding names, else its proven verifier, or its label."""
        self._views = views
        self._restrictions = restrictions
        self._limits = limits or OperandLimits()
        self._now = now
        self._precompiled = precompiled or Precompiled()
        self._lowered: Lowered | None = None
        self._peer: Following
        self._ours: Following

    def compile(self, *, trusted: bool = False) -> None:
        """Compile the rules now, for a peer whose rules read everything or not: it touches no facts.

        Else the first evaluation does, while it keeps others from facts that it shares with them.
        """
        self._prepare(trusted=trusted)

    def evaluate(self, snapshot: Snapshot) -> Decision:
        """Decide for a snapshot; what a snapshot shares with the last one is not decided again."""
        # 020: "Record facts are never ambient for peer-origin modules." What is no view stops here.
        view = check_view(self._views.view(self.viewer, snapshot), self.viewer)
        lowered = self._prepare(trusted=view.is_full)
        given = Given(snapshot.runtime, snapshot.advertised)
        theirs = self._budget(self._limits.peer)
        # A full view needs no relation that the peer's scans are read through.
        gate: Handed = {} if view.is_full else {lowered.gate: view}
        with naming_operand("the peer's", lowered.peer_index):
            result = self._peer.evaluate(snapshot, given, theirs, gate)
        selected = self._peer.hand_over(lowered.exported(lowered.peer_index))
        ours = self._budget(self._limits.ours)
        with naming_operand("our", self.side):
            decided = self._ours.evaluate(snapshot, given, ours, selected)
        if self.side == 0:
            return Decision(self.plan.id, view, (ours.steps, theirs.steps), (decided, result), lowered)
        return Decision(self.plan.id, view, (theirs.steps, ours.steps), (result, decided), lowered)

    def _budget(self, limits: EvaluationLimits) -> Budget:
        # Time is limited where the caller gave a clock; who evaluates without one counts rows and rounds.
        return Budget(limits if self._now is not None else replace(limits, seconds=None), self._now)

    def explain(self, snapshot: Snapshot, composed: Iterable[Generated] = ()) -> Reasons:
        """Make ready to say why, and why not, about one snapshot. It is for the owner, who may see it all.

        `composed` is what the local operand was composed from, so that proofs reach its parts.
        """
        view = check_view(self._views.view(self.viewer, snapshot), self.viewer)
        lowered = self._precompiled.lower(self.plan, self.side, self._restrictions, view.is_full)
        budget = self._budget(self._limits.ours)
        return Reasons(lowered, self.viewer, view, snapshot, composed=composed, budget=budget)

    def explain_to_peer(self, snapshot: Snapshot) -> PeerReasons:
        """Make ready to tell the peer why its own rules select what they do here: from its view alone."""
        view = check_view(self._views.view(self.viewer, snapshot), self.viewer)
        lowered = self._precompiled.lower(self.plan, self.side, self._restrictions, view.is_full)
        with naming_operand("the peer's", lowered.peer_index):
            return PeerReasons(lowered, view, snapshot, self._budget(self._limits.peer))

    def _prepare(self, *, trusted: bool) -> Lowered:
        # Held here as well: what is not kept for others must not be made again for each snapshot.
        if self._lowered is None or self._lowered.trusted != trusted:
            lowered = self._precompiled.lower(self.plan, self.side, self._restrictions, trusted)
            self._peer = Following(lowered.peer)
            self._ours = Following(lowered.ours)
            self._lowered = lowered
        return self._lowered


@contextmanager
def naming_operand(whose: str, index: int) -> Iterator[None]:
    """Say whose operand it was that stopped at a limit."""
    try:
        yield
    except EvaluationStopped as error:
        seen = {name: error.fields[name] for name in ("limit", "bound", "seen")}
        raise OperandStopped(whose=whose, index=index, **seen) from error


def check_plan(plan: object) -> ExchangePlan:
    """Return a plan whose operands have the origins that setup computes for them, or refuse it."""
    if not isinstance(plan, ExchangePlan):
        raise FlatRules(given=type(plan).__name__)
    if make_plan(plan.operands[0].module, plan.operands[1].module) != plan:
        raise FlatRules(given="a plan with origins that nobody assigned")
    return plan
