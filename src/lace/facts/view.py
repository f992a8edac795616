"""Who may see which record facts: THE trust boundary (020, Fact views; PROFILE section 6).

A stranger's rules run here, over the records of this store. What they can learn is what their query view
holds and nothing else: this is the only place where a peer's rules meet our facts.

    full view       every record fact of the owner          the owner's own rules
    query view      only facts whose first value is a record that `CanQueryRecord(viewer, P)` names
                                                             everybody else's rules

A fact is resolved by three things: whose it is (the owner), who asks (the viewer), and when (the snapshot).
020 says for each of the five predicates that it holds for a viewer where it holds and its record is
queryable. So a view is nothing but the set of queryable records, and it says the same to a positive atom, to
a negated one, to a counted one and to every helper: there is no second question that could be answered
otherwise. A link's target and an inner hash are not looked at; who may see the fact may read what it says.

Whoever evaluates rules that came from elsewhere takes a `View`. An engine that holds the facts resident does
not call `resolve` for each of them: it lets the relations named in `GATED` be read through the relation of
the view's records. That is the same filter; the ids come from here, and so does the list of what is filtered.
Where an engine derived what is queryable, the view keeps it as the engine holds it, and it becomes texts
when somebody wants texts.

Rules of this file:
1. Only `full_view` and `query_view` make a view; nothing else can.
2. A view without a viewer is the owner's own, and is never made from anything that a peer said.
3. Every record predicate is gated. One that is missing in GATED is a leak.
4. A view shows record facts and nothing else: runtime facts and advertisements have their own supply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, Protocol, runtime_checkable

from lace.errors import FactError
from lace.facts.fact import RECORD_PREDICATES, Fact, Predicate, Values
from lace.facts.source import FactSource

CAN_QUERY_RECORD: Final = Predicate("CanQueryRecord", 2)
"""020: "record P is queryable by Viewer in this local context"."""

GATED: Final = RECORD_PREDICATES
"""What is seen through a query view; the record is the first value of each."""

_MADE_HERE: Final = object()


class NotAView(FactError):
    """Something else in the place of a view."""

    code = "fact/not-a-view"
    text = "{given} is no view: rules that came from elsewhere see facts only through full_view or query_view"


@runtime_checkable
class QueryFacts(Protocol):
    """Facts of `CanQueryRecord` as an engine holds them."""

    predicate: Predicate

    def under(self, first: str) -> Collection[str]:
        """Return the second values of the facts that have this first one."""
        ...


class View:
    """Which records of an owner one module may see. Made by `full_view` and `query_view` alone."""

    __slots__ = ("__weakref__", "_records", "owner", "shown", "viewer")

    owner: str
    """Whose facts they are."""
    viewer: str | None
    """Who asks; None where the owner does."""
    shown: Collection[str] | None
    """The queryable records, as whoever found them out holds them; None where all are."""
    _records: frozenset[str] | None

    def __init__(
        self, owner: str, viewer: str | None, shown: Collection[str] | None, made_by: object = None
    ) -> None:
        if made_by is not _MADE_HERE:
            raise NotAView(given="a view that was made by hand")
        # Frozen from here on: what was checked at the border must not change behind it.
        object.__setattr__(self, "owner", owner)
        object.__setattr__(self, "viewer", viewer)
        object.__setattr__(self, "shown", shown)
        object.__setattr__(self, "_records", shown if isinstance(shown, frozenset) else None)

    @property
    def records(self) -> frozenset[str] | None:
        """The queryable records; None where all are."""
        if self._records is None and self.shown is not None:
            object.__setattr__(self, "_records", frozenset(self.shown))
        return self._records

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a view does not change: {name}")

    def __repr__(self) -> str:
        size = "everything" if self.shown is None else f"{len(self.shown)} records"
        return f"<view of {self.owner} for {self.viewer or 'itself'}: {size}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        return (self.owner, self.viewer, self.records) == (other.owner, other.viewer, other.records)

    def __hash__(self) -> int:
        return hash((self.owner, self.viewer, self.records))

    @property
    def is_full(self) -> bool:
        """Whether nothing is hidden."""
        return self.shown is None

    @property
    def is_empty(self) -> bool:
        """Whether everything is."""
        return self.shown is not None and not len(self.shown)

    def shows(self, record: str) -> bool:
        """Tell whether the facts of a record are there."""
        return self.shown is None or record in self.shown

    def resolve(self, facts: FactSource) -> FactSource:
        """Return the record facts of one snapshot as this view shows them.

        >>> from lace.facts import SetSource
        >>> store = SetSource([("Have", "p"), ("Have", "q"), ("Peer", "V.…")])
        >>> seen = query_view("me", "you", [("CanQueryRecord", "you", "p")]).resolve(store)
        >>> list(seen.iterate("Have", 1)), list(seen.iterate("Peer", 1))
        ([('p',)], [])
        """
        return _Resolved(self, facts)


class _Resolved:
    """A fact source that answers from the facts of visible records only."""

    __slots__ = ("_facts", "_view")

    def __init__(self, view: View, facts: FactSource) -> None:
        self._view = view
        self._facts = facts

    def iterate(self, name: str, arity: int) -> Iterator[Values]:
        """Yield the values of every visible fact of a predicate."""
        return self.query(name, arity)

    def query(self, name: str, arity: int, *values: str) -> Iterator[Values]:
        """Yield those that begin with the given values."""
        if (name, arity) in GATED:
            shows = self._view.shows
            for found in self._facts.query(name, arity, *values):
                if shows(found[0]):
                    yield found

    def count(self, name: str, arity: int) -> int:
        """Return the number of visible facts of a predicate."""
        return sum(1 for _ in self.iterate(name, arity))


def full_view(owner: str) -> View:
    """Return the view that an owner's own rules have: everything.

    020: "When a local-origin module is evaluated on its own machine, record fact predicates resolve against
    the full local view".
    """
    return View(owner, None, None, _MADE_HERE)


def query_view(owner: str, viewer: str, can_query: Iterable[Fact] | QueryFacts = ()) -> View:
    """Return the view that a viewer's rules have, from the owner's `CanQueryRecord` facts; empty by default.

    Facts about other viewers may stand among them and change nothing.
    """
    if isinstance(can_query, QueryFacts):
        if can_query.predicate != CAN_QUERY_RECORD:
            raise NotAView(given=f"facts of {can_query.predicate}")
        return View(owner, viewer, can_query.under(viewer), _MADE_HERE)
    records: set[str] = set()
    for fact in can_query:
        if (fact[0], len(fact) - 1) != CAN_QUERY_RECORD:
            raise NotAView(given=f"a fact of {fact[0]}/{len(fact) - 1}")
        if fact[1] == viewer:
            records.add(fact[2])
    return View(owner, viewer, frozenset(records), _MADE_HERE)


def check_view(given: object, viewer: str) -> View:
    """Return what was given, if it is a view that this viewer's rules may have."""
    if not isinstance(given, View):
        raise NotAView(given=type(given).__name__)
    if given.viewer not in (None, viewer):
        raise NotAView(given=f"the view of {given.viewer} in the place of that of {viewer}")
    return given
