"""What views, changes and previews cost: `make bench-policy` (python -m bench.policy).

    view       a plan over a million record facts under a given view     against the same without a view
    lookup     the same where nobody ever looked up the view's records: their texts become positions first
    selective  the same as `view` for a plan without recursion, which is over soon
    unknown    the same as `lookup` for that plan
    expose     the expose modules that make such a view                  beside the evaluation under it
    change     a thousand new records, no negation                       against the first evaluation
    exposed    the same, with the view brought up to date by expose modules
    light      the same as `change` for the plan without recursion
    negation   the same under a given view, with negation in both operands
    load       facts of a thousand new records, put into the database    against the first evaluation
    preview    `lace preview` of a store of 100,000 records              against opening it and one evaluation

An evaluation starts from facts that the database holds, the first one as well as one after a change: putting
them in is told apart (`load`). Each repeat of a change adds other records, to a database that goes on, under
a view that was never looked up before.

The plan is one that people have: our groups on one side, some apps with the threads that they answer on the
other. Both sides of `view` select the same records, since the view hides other groups.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import Contender, Goal, Line, main
from lace.cli import main as lace_main
from lace.engines import Database
from lace.facts import Fact, View, full_view, query_view
from lace.policy import (
    Exposure,
    GivenViews,
    LocalPolicy,
    Snapshot,
    ViewMaker,
    Views,
    make_plan,
    read_expose,
    read_module,
)
from lace.porcelain import Lace, ResidentFacts, Shape, generate, parse_policy
from lace.text import Verifier

SEED = 5
FIELDS = 9  # facts of a record besides Have
GROUPS = 20
NEW = 1000
PEER = Verifier("V.RaTVeRHVc5ItLyB~OsscY6RYPBpxa9ho8K~cNm1LeZ4.H3")
GOOD = [f"g{n}" for n in range(GROUPS // 2)]
"""The groups that are exposed."""

OURS = (
    "SelectHave(P) :- Have(P), Field(P,'Group',_,G), Ours(G).\n"
    + "\n".join(f"Ours('{group}') :- true." for group in GOOD)
    + "\nSelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,G), Ours(G)."
)
THEIRS = (
    "Answers(P,Q) :- RecordLink(P,'+Link',_,'reply',Q), Have(Q).\n"
    "Thread(P,Q) :- Answers(P,Q).\n"
    "Thread(P,R) :- Thread(P,Q), Answers(Q,R).\n"
    "SelectHave(P) :- Have(P), Field(P,'App',_,A), Wanted(A).\n"
    "SelectHave(Q) :- Thread(P,Q), Field(P,'App',_,A), Wanted(A).\n"
    "Wanted('a1') :- true.\nWanted('a2') :- true.\n"
    "SelectAdvertised(P,S) :- AdvertisedField(P,S,'App',_,A), Wanted(A)."
)
LIGHT = (
    "SelectHave(P) :- Have(P), Field(P,'App',_,A), Wanted(A).\n"
    "Wanted('a1') :- true.\nWanted('a2') :- true.\n"
    "SelectAdvertised(P,S) :- AdvertisedField(P,S,'App',_,A), Wanted(A)."
)
OURS_NOT = OURS.replace("Ours(G).\n", "Ours(G), not Draft(P).\nDraft(P) :- Field(P,'State',_,'draft').\n", 1)
THEIRS_NOT = THEIRS.replace("Wanted(A).\n", "Wanted(A), not Odd(P).\nOdd(P) :- Field(P,'Tag',_,'t1').\n", 1)
EXPOSE = "\n".join(f"AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'{group}')." for group in GOOD)
POLICY = (
    "[select]\nSelectHave(P) :- Have(P), Field(P,'Group',_,'town').\n"
    "SelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'town').\n[expose selected]\n"
)


def record_facts(first: int, count: int) -> list[Fact]:
    """Return the facts of records with these numbers; records of a number are always the same."""
    facts: list[Fact] = []
    for number in range(first, first + count):
        record = f"P.{number:043}.H3"
        fields = {
            "Type": "P",
            "Group": f"g{number % GROUPS}",
            "App": f"a{number // GROUPS % 5}",
            "Name": f"n{number}",
            "TAI": f"{1_700_000_000 + number}:000000000",
            "Data-Length": str(number % 4096),
            "State": "draft" if number % 50 == 1 else "done",
            "Tag": f"t{number % 97}",
        }
        facts.append(("Have", record))
        facts += [("Field", record, name, "0", value) for name, value in fields.items()]
        # A reply stays in its group, and threads are not deep.
        answered = number // GROUPS // 2 * GROUPS + number % GROUPS
        facts.append(("RecordLink", record, "+Link", "0", "reply", f"P.{answered:043}.H3"))
    return facts


def shown_records(count: int, owner: str = "me") -> View:
    """Return the view that shows the exposed groups of so many records."""
    numbers = [number for number in range(count) if f"g{number % GROUPS}" in GOOD]
    return query_view(owner, PEER, [("CanQueryRecord", PEER, f"P.{number:043}.H3") for number in numbers])


class Everything:
    """Gives everybody the full view, as if the rules were our own."""

    def view(self, viewer: str, snapshot: Snapshot) -> View:
        """Return the full view."""
        return full_view("me")


def policy(views: ViewMaker, ours: str = OURS, theirs: str = THEIRS) -> LocalPolicy:
    """Make a local policy that has evaluated nothing."""
    return LocalPolicy(make_plan(read_module(ours), read_module(theirs)).prove(1, PEER), 0, views)


def expose_views() -> Views:
    """Return views that expose modules make."""
    return Views("me", Exposure((read_expose(EXPOSE),)))


def sized(quick: bool) -> tuple[Database, int]:
    """Return a database, and how many records it holds."""
    count = 500 if quick else 1_000_000 // (FIELDS + 1)
    return Database(record_facts(0, count)), count


def view_line(
    title: str, theirs: str, *, known: bool = True, shown: bool = False
) -> Callable[[bool], AbstractContextManager[Line]]:
    """Return what prepares a line about a given view; a known one was used before."""

    @contextmanager
    def make(quick: bool) -> Iterator[Line]:
        database, count = sized(quick)
        view = shown_records(count)
        snapshot = Snapshot(database)
        sent = policy(Everything(), OURS, theirs).evaluate(snapshot).counts()
        assert sent == policy(GivenViews(view), OURS, theirs).evaluate(snapshot).counts() != (0, 0)

        numbers = itertools.count()

        @contextmanager
        def given() -> Iterator[View]:
            yield view if known else shown_records(count, f"me {next(numbers)}")

        yield Line(
            title,
            "record fact",
            count * (FIELDS + 1),
            Contender("no view", lambda _: policy(Everything(), OURS, theirs).evaluate(snapshot)),
            Contender(
                "query view of half of it",
                lambda view: policy(GivenViews(view), OURS, theirs).evaluate(snapshot),
                given,
            ),
            Goal(1.5, "time"),
            shown=shown,
        )

    return make


@contextmanager
def expose_line(quick: bool) -> Iterator[Line]:
    """Evaluate the expose modules, apart from the plan."""
    database, count = sized(quick)
    view, snapshot = shown_records(count), Snapshot(database)
    assert expose_views().view(PEER, snapshot) == view

    yield Line(
        "expose modules alone",
        "record fact",
        count * (FIELDS + 1),
        Contender("plan under that view", lambda _: policy(GivenViews(view)).evaluate(snapshot)),
        Contender("expose modules", lambda _: expose_views().view(PEER, snapshot)),
        Goal(1, "time"),
        shown=True,
    )


def change_line(
    title: str, ours: str, theirs: str, *, computed: bool = False, shown: bool = False
) -> Callable[[bool], AbstractContextManager[Line]]:
    """Return what prepares a line about new records."""

    @contextmanager
    def make(quick: bool) -> Iterator[Line]:
        growing = Growing(quick)

        def fresh_policy() -> LocalPolicy:
            views = expose_views() if computed else GivenViews(growing.view())
            return policy(views, ours, theirs)

        @contextmanager
        def fresh() -> Iterator[LocalPolicy]:
            yield fresh_policy()

        @contextmanager
        def evaluated() -> Iterator[tuple[LocalPolicy, Snapshot]]:
            running, first = fresh_policy(), Snapshot(growing.database)
            running.evaluate(first).counts()
            growing.database.add(growing.more())
            yield running, first
            sent = running.evaluate(Snapshot(growing.database)).counts()
            assert sent == fresh_policy().evaluate(Snapshot(growing.database)).counts(), "went another way"

        def change(given: tuple[LocalPolicy, Snapshot]) -> None:
            running, first = given
            running.evaluate(first.next(records=growing.database)).counts()

        yield Line(
            title,
            "new record",
            growing.new,
            Contender("first evaluation", lambda p: p.evaluate(Snapshot(growing.database)).counts(), fresh),
            Contender("evaluation after the change", change, evaluated),
            Goal(1 / 20, "time"),
            shown=shown,
        )

    return make


class Growing:
    """A database that gains as many records each time."""

    def __init__(self, quick: bool) -> None:
        self.database, self._count = sized(quick)
        self.new = self._count // 100 if quick else NEW

    def view(self) -> View:
        """Return a view of what is there and of what comes next."""
        return shown_records(self._count + self.new)

    def more(self) -> list[Fact]:
        """Return the facts of the next records."""
        first, self._count = self._count, self._count + self.new
        return record_facts(first, self.new)


@contextmanager
def load_line(quick: bool) -> Iterator[Line]:
    """Put facts of new records into a database."""
    growing = Growing(quick)

    @contextmanager
    def facts() -> Iterator[list[Fact]]:
        snapshot = Snapshot(growing.database)  # whoever holds it keeps what it holds
        yield growing.more()
        assert snapshot.complete

    @contextmanager
    def fresh() -> Iterator[LocalPolicy]:
        yield policy(GivenViews(growing.view()))

    yield Line(
        "facts of new records put into the database",
        "new record",
        growing.new,
        Contender("first evaluation", lambda p: p.evaluate(Snapshot(growing.database)).counts(), fresh),
        Contender("adding the facts", growing.database.add, facts),
        Goal(1, "time"),
        shown=True,
    )


@contextmanager
def preview_line(quick: bool) -> Iterator[Line]:
    """Preview a store, against opening it and evaluating the plan once."""
    count = 300 if quick else 100_000
    with TemporaryDirectory() as folder:
        with Lace.init(folder) as lace:
            lace.put_records(generate(SEED, count, shape=Shape(sealed=0)))
        file = Path(folder, "mine.policy")
        file.write_text(POLICY, encoding="utf-8")

        def floor(_: object) -> None:
            with Lace.open(folder, read_only=True) as lace:
                ours = parse_policy(POLICY)
                running = LocalPolicy(
                    make_plan(ours.operand().module, read_module(THEIRS_ALL)),
                    0,
                    Views("me", ours.active().exposure),
                )
                running.evaluate(Snapshot(ResidentFacts(lace.store).database)).counts()

        def contender(_: object) -> None:
            words = ["preview", "--store", folder, "--policy", str(file), "--as", "anonymous"]
            with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
                assert lace_main(words) == 0

        yield Line(
            "preview of a store",
            "record",
            count,
            Contender("open and evaluate once", floor),
            Contender("lace preview", contender),
            Goal(2, "time"),
        )


THEIRS_ALL = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S)."

LINES = {
    "view": view_line("plan over record facts under a given view", THEIRS),
    "lookup": view_line("the same, the view looked up first", THEIRS, known=False, shown=True),
    "selective": view_line("selective plan under a given view", LIGHT, shown=True),
    "unknown": view_line("the same, the view looked up first", LIGHT, known=False, shown=True),
    "expose": expose_line,
    "change": change_line("new records, no negation", OURS, THEIRS),
    "exposed": change_line("new records, with the view", OURS, THEIRS, computed=True, shown=True),
    "light": change_line("new records, no recursion", OURS, LIGHT, shown=True),
    "negation": change_line("new records, with negation", OURS_NOT, THEIRS_NOT, shown=True),
    "load": load_line,
    "preview": preview_line,
}

if __name__ == "__main__":
    main(LINES)
