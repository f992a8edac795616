"""What a peer's rules may see: expose modules and how they meet (040, Query-view composition; PROFILE 6).

    m0_AllowQueryRecord(V,P) ─┐
    m1_AllowQueryRecord(V,P) ─┼─ and ─▶ CanQueryRecord(V,P) ─▶ the query view of V
    …in scope for V only     ─┘

Rules of this file:
1. Modules in scope for a viewer are intersected; none in scope is the empty view. A union happens only where
   local policy says so in as many words.
2. Expose modules are local. They see the full view, runtime facts and `_Viewer(V)`, and never what a peer
   advertised. Their text goes into no plan and to no peer.
3. The rules say what is queryable; `lace.facts` alone makes the view of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final

from lace.algebra import LIMITS, Budget, EvaluationLimits, EvaluationStopped, RelationProgram, Result
from lace.datalog import (
    ALLOW_QUERY_RECORD,
    SELECT_HAVE,
    VIEWER,
    Atom,
    Program,
    Rule,
    Var,
    compile_program,
    make_program,
    parse_program,
)
from lace.errors import LimitExceeded, PolicyError
from lace.facts import CAN_QUERY_RECORD, Fact, QueryFacts, View, full_view, query_view
from lace.policy.following import Following
from lace.policy.module import Module, check_selector, read_module
from lace.policy.resident import is_handing
from lace.policy.scope import Generated, private, rename_rule, scope_rules
from lace.policy.snapshot import Given, Snapshot

EXPOSE: Final = "expose"
WATCHED: Final = 64
"""For so many viewers the expose modules are kept running; who comes after that starts anew."""
_V, _P = Var("V"), Var("P")


class SelectedNotExposable(PolicyError):
    """`expose = selected` for a selector that depends on what the peer advertised."""

    code = "policy/expose-selected"
    text = (
        "what this selector selects cannot be exposed: SelectHave depends on advertisement facts, and what"
        " a peer claims must not decide what it may see; write an expose module"
    )


class Compose(Enum):
    """How several modules in scope for one viewer meet."""

    INTERSECTION = "intersection"
    UNION = "union"
    """Only where local policy asks for it: each module then widens the view."""


@dataclass(frozen=True, slots=True)
class ExposeModule:
    """A local module and the viewers it is about."""

    program: Program
    viewers: frozenset[str] | None = None
    """None is everybody. A label is good for one exchange; verifiers are who stays."""

    def is_for(self, viewer: str) -> bool:
        """Tell whether the module is in scope for a viewer."""
        return self.viewers is None or viewer in self.viewers


def read_expose(text: str | bytes, viewers: Iterable[str] | None = None) -> ExposeModule:
    """Read an expose module with its scope: everybody, or a list."""
    program = read_module(text, EXPOSE).program
    return ExposeModule(program, None if viewers is None else frozenset(viewers))


def expose_selected(selector: Module) -> ExposeModule:
    """Return the module that exposes to everybody what a local selector selects (`expose = selected`).

    PROFILE 10: "`expose = selected` is one more module for all viewers, so it narrows the others."
    """
    check_selector(selector)
    if selector.reads_advertisements((SELECT_HAVE,)):
        raise SelectedNotExposable()

    rules = [rename_rule(rule, private) for rule in selector.rules_below((SELECT_HAVE,))]
    head = Atom(ALLOW_QUERY_RECORD.name, (_V, _P))
    rules.append(Rule(head, (Atom(VIEWER.name, (_V,)), Atom(private(SELECT_HAVE), (_P,)))))
    return ExposeModule(parse_program("\n".join(map(str, rules)), EXPOSE))


@dataclass(frozen=True)
class Exposure:
    """All that local policy says about who may see what."""

    modules: tuple[ExposeModule, ...] = ()
    compose: Compose = Compose.INTERSECTION
    trusted: frozenset[str] = field(default_factory=frozenset)
    """Viewers whose rules local policy marks as trusted: they read everything. Nobody is, by default."""

    def in_scope(self, viewer: str) -> tuple[ExposeModule, ...]:
        """Return the modules that apply to a viewer."""
        return tuple(each for each in self.modules if each.is_for(viewer))

    def is_trusted(self, viewer: str) -> bool:
        """Tell whether a viewer's rules read everything."""
        return viewer in self.trusted


def lower_exposure(
    modules: tuple[ExposeModule, ...], compose: Compose = Compose.INTERSECTION
) -> tuple[Generated, ...]:
    """Return the rules for `CanQueryRecord`; without modules there are none, and nothing is queryable.

    040: "CanQueryRecord(Viewer,P) :- m1_AllowQueryRecord(Viewer,P), …, mN_AllowQueryRecord(Viewer,P)."
    """
    rules: list[Generated] = []
    allows: list[Atom] = []
    for number, module in enumerate(modules):
        prefix = f"m{number}_"
        rules += scope_rules(module.program, prefix, step="040-expose-scope", subject=f"m{number}")
        allows.append(Atom(prefix + ALLOW_QUERY_RECORD.name, (_V, _P)))
    head = Atom(CAN_QUERY_RECORD.name, (_V, _P))
    bodies = [tuple(allows)] if compose is Compose.INTERSECTION else [(each,) for each in allows]
    for body in bodies if modules else ():
        rules.append(Generated(Rule(head, body), "040-query-view", str(CAN_QUERY_RECORD)))
    return tuple(rules)


@lru_cache(maxsize=64)
def _compiled(modules: tuple[ExposeModule, ...], compose: Compose) -> RelationProgram:
    program = make_program(each.rule for each in lower_exposure(modules, compose))
    return compile_program(program, (CAN_QUERY_RECORD,))


class ExposureStopped(LimitExceeded):
    """Expose modules that would pass a limit."""

    code = "policy/exposure-stopped"
    text = "the expose modules for {viewer} were stopped: {limit} would pass {bound}; nothing is exposed"


@dataclass(slots=True)
class _Watched:
    """The expose modules of one viewer, running, and the view that came of them last."""

    following: Following
    version: int = -1
    view: View | None = None


class Views:
    """Makes the query views of viewers for snapshot after snapshot.

    The expose modules are evaluated when they are first asked and brought up to date after that, also when a
    new record takes others out of the view.
    """

    def __init__(
        self, owner: str, exposure: Exposure | None = None, limits: EvaluationLimits = LIMITS
    ) -> None:
        self.owner = owner
        self.exposure = exposure or Exposure()
        self._limits = limits
        self._watched: dict[str, _Watched] = {}

    def view(self, viewer: str, snapshot: Snapshot) -> View:
        """Return what a viewer's rules may see in a snapshot."""
        if self.exposure.is_trusted(viewer):
            return full_view(self.owner)
        if not self.exposure.in_scope(viewer):
            return query_view(self.owner, viewer)
        watched = self._watch(viewer)
        running = watched.following
        try:
            given = Given(snapshot.runtime | {(VIEWER.name, viewer)})
            running.evaluate(snapshot, given, Budget(self._limits))
        except EvaluationStopped as error:
            fields = error.fields
            raise ExposureStopped(
                viewer=viewer, limit=fields["limit"], bound=fields["bound"], seen=fields["seen"]
            ) from error
        if watched.view is None or watched.version != running.version:
            watched.view = query_view(self.owner, viewer, _can_query(running.result, viewer))
            watched.version = running.version
        return watched.view

    def _watch(self, viewer: str) -> _Watched:
        watched = self._watched.pop(viewer, None)
        if watched is None:
            watched = _Watched(Following(_compiled(self.exposure.in_scope(viewer), self.exposure.compose)))
        self._watched[viewer] = watched
        while len(self._watched) > WATCHED:
            self._watched.pop(next(iter(self._watched)))
        return watched


def _can_query(result: Result, viewer: str) -> QueryFacts | Iterable[Fact]:
    """Return what is queryable, as the engine holds it where it hands that over."""
    if is_handing(result):
        derived = result.relation(CAN_QUERY_RECORD)
        if isinstance(derived, QueryFacts):
            return derived
    rows = result.lookup(CAN_QUERY_RECORD, (viewer, None))
    return ((CAN_QUERY_RECORD.name, *row) for row in rows)


class GivenViews:
    """Views that are given and not computed, whatever the snapshot: what a test or a lake has at hand."""

    def __init__(self, *views: View, owner: str = "") -> None:
        self._views = {view.viewer: view for view in views}
        self._owner = owner

    def view(self, viewer: str, snapshot: Snapshot) -> View:
        """Return the view of a viewer; nobody else sees anything."""
        return self._views.get(viewer) or query_view(self._owner, viewer)
