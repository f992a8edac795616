"""The fixpoint driver: components from the lowest up, rounds until nothing new comes.

Rules of this file:
1. One driver for every operator: a pipeline runs over columns or as quick loops, whichever its rows suit,
   and gives the same rows.
2. In a round every pipeline sees the tables as the round found them; what is derived is added at its end.
3. Whatever path is taken, the tables hold the facts of a full evaluation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from lace.algebra import Budget, Column
from lace.engines.bound import BoundPipeline
from lace.engines.closure import NODES, Closure, close, count_nodes
from lace.engines.columnar import ColumnarRunner
from lace.engines.dictionary import Ids
from lace.engines.lookup import Row
from lace.engines.prepared import PreparedComponent, PreparedDelta, PreparedPipeline, PreparedProgram
from lace.engines.relations import Marks, Relations, Source, Stretch, Version, stretch
from lace.engines.table import Table
from lace.engines.whole import Outcome
from lace.facts import Predicate

FEW = 32
"""A pipeline that starts from so few rows runs as loops."""
SMALL = 512
"""So does one whose relations are all this small."""


@dataclass(slots=True)
class RuleCost:
    """What one rule cost."""

    runs: int = 0
    rows: int = 0
    new: int = 0
    seconds: float = 0.0


class Change:
    """Which relations gained facts and which lost some."""

    __slots__ = ("grown", "shrunk")

    def __init__(self) -> None:
        self.grown: set[Source] = set()
        self.shrunk: set[Source] = set()

    def touches(self, sources: Collection[Source]) -> bool:
        """Tell whether one of the sources changed at all."""
        if self.shrunk and not self.shrunk.isdisjoint(sources):
            return True
        return not self.grown.isdisjoint(sources)

    def loses(self, component: PreparedComponent) -> bool:
        """Tell whether the change can take facts of a component away."""
        if not self.shrunk:
            return bool(component.strict) and not self.grown.isdisjoint(component.strict)
        return self.touches(component.strict) or not self.shrunk.isdisjoint(component.reads)


Output = tuple[PreparedPipeline, list[Row] | None, list[Ids] | None]
"""Head rows of one pipeline, in the form in which they came."""


class Reader(NamedTuple):
    """A component that reads what gained a row, by its number, and the pipelines that start from that row."""

    number: int
    component: PreparedComponent
    pipelines: list[PreparedPipeline]


_Noted = tuple[Table, int, int, Table | None, int]
"""A derived table before a change, its rows and rounds; what rules derived apart, and its rows."""


class Driver:
    """Fills the tables of derived predicates."""

    def __init__(self, prepared: PreparedProgram, relations: Relations) -> None:
        self.prepared = prepared
        self.relations = relations
        self.costs: dict[int, RuleCost] = {}
        self.rounds: dict[Predicate, int] = {}
        self.derived: dict[Predicate, Table] = {}
        """What rules derived, apart, of predicates for which facts were supplied as well."""
        self._given: dict[Predicate, Table] = {}
        self._noted: dict[Predicate, _Noted] = {}
        """What the present change has touched, as it was before."""
        self._noted_rounds: dict[Predicate, int] = {}
        self._known: dict[Predicate, Stretch] | None = None
        self._columnar = ColumnarRunner(relations)
        self._loops: dict[int, tuple[BoundPipeline, RuleCost]] = {}
        """By the identity of what the program holds."""

    def table(self, predicate: Predicate) -> Table:
        """Return what the rules derived of a predicate."""
        if self.derived and predicate in self.derived:
            return self.derived[predicate]
        return self.relations.table(predicate)

    def known(self) -> dict[Predicate, Stretch]:
        """Return what the rules derived by now, for whoever reads it; the same while nothing is derived."""
        known = self._known
        if known is None:
            known = {}
            for predicate in self.prepared.heads:
                table = self.table(predicate)
                known[predicate] = (table, table.size)
            self._known = known
        return known

    def supplied(self, predicate: Predicate) -> Table:
        """Return what was supplied of a derived predicate."""
        return self._given[predicate]

    # Whole evaluations and updates

    def evaluate(self, budget: Budget) -> None:
        """Evaluate every component from nothing."""
        for component in self.prepared.components:
            for predicate in component.component.predicates:
                if predicate not in self._given:
                    self._given[predicate] = self.relations.table(predicate)
                self._reset(predicate)
            self._fill(component, budget)

    def adopt(self, outcome: Outcome) -> None:
        """Take over what a run of the whole program found."""
        self._known = None
        for predicate, rows in outcome.rows.items():
            self._given[predicate] = self.relations.table(predicate)
            table = Table(predicate.arity, self.relations.dictionary)
            table.add_rows(((value,) for value in rows) if predicate.arity == 1 else rows)
            table.rounds += outcome.rounds[predicate]
            self.relations.put(predicate, table)
        for component in self.prepared.components:
            first = component.component.predicates[0]
            self.rounds[first] = len(outcome.rounds[first])
        for rule, count, new in outcome.log:
            cost = self.costs.setdefault(rule, RuleCost())
            cost.runs, cost.rows, cost.new = cost.runs + 1, cost.rows + count, cost.new + new

    def _reset(self, predicate: Predicate) -> None:
        """Forget what was derived of a predicate; what was supplied for it stays."""
        self._known = None
        supplied, dictionary = self._given[predicate], self.relations.dictionary
        if len(supplied):
            self.derived[predicate] = Table(predicate.arity, dictionary)
            self.relations.put(predicate, supplied.copy(dictionary))
        else:
            self.relations.put(predicate, Table(predicate.arity, dictionary))

    def begin(self) -> None:
        """Be told that a change begins: what the one before noted is nothing to go back to any more."""
        if self._noted:
            self._noted_rounds.clear()
            self._noted.clear()  # last: it says whether there is something to forget

    def update_one(
        self, source: Source, row: Row, readers: list[Reader], marks: Marks, budget: Budget
    ) -> None:
        """Bring the derived tables up to date with one new row of a source."""
        for number, component, pipelines in readers:
            outputs = []
            for prepared in pipelines:
                output = self._run_few(prepared, marks, budget, [row])
                if output is not None:
                    outputs.append(output)
            if outputs:
                change = Change()
                change.grown.add(source)
                self._take(component, outputs, change, marks, budget)
                if len(change.grown) > 1:
                    # What is above may read what was derived as well: from here on it is any change.
                    self.update(change, marks, budget, number + 1)
                    return

    def update(self, change: Change, marks: Marks, budget: Budget, first: int = 0) -> None:
        """Bring the derived tables up to date with changed base relations, from one component on."""
        looked: set[Source] = set()
        for component in self.prepared.components[first:]:
            if component.views:
                self._look_again(component, change, marks, looked)
            if not change.touches(component.reads):
                continue
            if change.loses(component):
                self._note(component)
                self._refill(component, change, marks, budget)
            else:
                self._continue(component, change, marks, budget)

    def _note(self, component: PreparedComponent) -> Marks:
        """Remember a component as it is: tables only grow, so how long they are is enough; return that."""
        predicates, marks = component.component.predicates, {}
        for predicate in predicates:
            table, apart = self.relations.table(predicate), self.derived.get(predicate)
            size = marks[table] = table.size
            self._noted[predicate] = (
                table,
                size,
                len(table.rounds),
                apart,
                0 if apart is None else apart.size,
            )
        self._noted_rounds[predicates[0]] = self.rounds.get(predicates[0], 0)
        return marks

    def restore(self, version: Version, marks: Marks) -> None:
        """Go back to before a change that failed; nothing is evaluated for it."""
        self._known = None
        for table, *_ in self._noted.values():
            marks.pop(table, None)
        self.relations.restore(version, marks)
        for predicate, (table, size, rounds, apart, apart_size) in self._noted.items():
            self.relations.put(predicate, table.first(size, rounds))
            if apart is not None:
                self.derived[predicate] = apart.first(apart_size)
        self.rounds.update(self._noted_rounds)
        self.begin()

    def _look_again(
        self, component: PreparedComponent, change: Change, marks: Marks, looked: set[Source]
    ) -> None:
        """Bring what a component sees through views up to date: all that they are made of is by now."""
        for source in component.views:
            if source in looked:
                continue
            looked.add(source)
            assert source.view is not None
            made_of = (Source(source.predicate, source.name), Source(source.view))
            if change.touches(made_of):
                shrunk = not change.shrunk.isdisjoint(made_of)
                grew, lost = self.relations.look_again(source, shrunk, marks)
                if grew:
                    change.grown.add(source)
                if lost:
                    change.shrunk.add(source)

    def _refill(self, component: PreparedComponent, change: Change, marks: Marks, budget: Budget) -> None:
        """Evaluate a component anew and find out what changed."""
        before = {p: self.relations.table(p) for p in component.component.predicates}
        for predicate in before:
            self._reset(predicate)
        self._fill(component, budget)
        # The new tables stay even where the facts are the same: proofs follow their rounds.
        for predicate, old in before.items():
            new = self.relations.table(predicate)
            fresh = new.count_not_in(old)
            if len(new) - fresh < len(old):
                change.shrunk.add(Source(predicate))
            elif fresh:
                change.grown.add(Source(predicate))
                marks[new] = 0  # its rows stand in another order: all of them count as new

    # One component

    def _fill(self, component: PreparedComponent, budget: Budget) -> None:
        ready: dict[int, Output] = {}
        if component.component.closure is not None:
            base = next(whole for whole in component.wholes if not whole.own)
            if not self._suits_loops(base, {}):
                ready[base.rule] = self._run(base, {}, budget)
                if self._close(component, ready[base.rule], budget):
                    return
        tables = {p: self.relations.table(p) for p in component.component.predicates}
        marks = {table: len(table) for table in tables.values()}
        outputs = [
            ready[whole.rule] if whole.rule in ready else self._run(whole, marks, budget)
            for whole in component.wholes
            # Before the first round a rule that joins its own component finds only what was supplied.
            if all(len(tables[predicate]) for predicate in whole.own)
        ]
        self._rounds(component, self._add(outputs, budget), marks, budget)

    def _continue(self, component: PreparedComponent, change: Change, marks: Marks, budget: Budget) -> None:
        """Go on from what is new below."""
        deltas: Iterable[PreparedDelta] = component.deltas
        if len(change.grown) == 1:
            (source,) = change.grown
            deltas = component.deltas_of.get(source, ())
        outputs = self._deltas(deltas, marks, budget)
        if outputs:
            self._take(component, outputs, change, marks, budget)

    def _take(
        self,
        component: PreparedComponent,
        outputs: list[Output],
        change: Change,
        marks: Marks,
        budget: Budget,
    ) -> None:
        """Add what came of something new below, and go on from that."""
        own = self._note(component)
        marks.update(own)
        if new := self._add(outputs, budget):
            self._rounds(component, new, own, budget)
            for predicate, (table, size) in zip(component.component.predicates, own.items(), strict=True):
                if size < table.size:
                    change.grown.add(Source(predicate))

    def _rounds(self, component: PreparedComponent, new: int, marks: Marks, budget: Budget) -> None:
        """Go on until nothing is new; by now so many rows are, from their marks on."""
        predicates, tables = component.component.predicates, list(marks)
        count = 0
        while new:
            count += 1
            budget.check_rounds(count, predicates[0])
            for table in tables:
                table.rounds.append(table.size)
            if not component.component.recursive:
                break
            outputs = self._deltas(component.own_deltas, marks, budget)
            marks = {table: table.size for table in tables}
            new = self._add(outputs, budget) if outputs else 0
        self.rounds[predicates[0]] = self.rounds.get(predicates[0], 0) + count

    def _deltas(self, deltas: Iterable[PreparedDelta], marks: Marks, budget: Budget) -> list[Output]:
        """Run what starts from something new; return what brought rows."""
        outputs = []
        for delta in deltas:
            table = self.relations.resolve(delta.scan)
            old, size = marks.get(table), table.size
            if old is None or old == size:
                continue
            if size - old <= FEW:
                few = self._run_few(delta.prepared, marks, budget)
                if few is not None:
                    outputs.append(few)
            else:
                output = self._run(delta.prepared, marks, budget)
                if output[1] or output[2]:
                    outputs.append(output)
        return outputs

    def _run_few(
        self, prepared: PreparedPipeline, marks: Marks, budget: Budget, new: list[Row] | None = None
    ) -> Output | None:
        """Run a pipeline that starts from few rows; None where nothing comes of it that was not there."""
        rows = None
        if FEW and prepared.loops and budget.now is None:
            bound, cost = self._bound(prepared)
            rows = bound.run(marks, budget, prepared, new)
        if rows is None:
            # Without a clock they were tried above, and proved too long.
            output = self._run(prepared, marks, budget, loops=FEW > 0 and budget.now is not None)
            return output if output[1] or output[2] else None
        cost.runs += 1
        if not rows:
            return None
        cost.rows += len(rows)
        head = prepared.pipeline.head
        if head in self.derived:
            return prepared, rows, None
        table = self.relations.table(head)
        for row in rows:
            if row not in table:
                return prepared, rows, None
        return None

    def _run(
        self, prepared: PreparedPipeline, marks: Marks, budget: Budget, *, loops: bool | None = None
    ) -> Output:
        """Run one pipeline, in `loops` where it can or over columns; None: as suits what it starts from."""
        cost = self.costs.get(prepared.rule)
        if cost is None:
            cost = self.costs[prepared.rule] = RuleCost()
        cost.runs += 1
        budget.check_time(prepared)
        started = budget.now() if budget.now is not None else 0.0
        rows: list[Row] | None = None
        columns: list[Ids] | None = None
        if loops is None:
            loops = self._suits_loops(prepared, marks)
        if loops and prepared.loops:
            rows = self._bound(prepared)[0].run(marks, budget, prepared)
        if rows is not None:
            cost.rows += len(rows)
        else:
            found = self._columnar.run(prepared, marks, budget)
            cost.rows += found.count
            columns = found.columns or None
            if found.count and columns is None:
                rows = [()]
        if budget.now is not None:
            cost.seconds += budget.now() - started
        return prepared, rows, columns

    def _bound(self, prepared: PreparedPipeline) -> tuple[BoundPipeline, RuleCost]:
        """Return a pipeline's function with the tables that it reads, and what its rule cost."""
        bound = self._loops.get(id(prepared))
        if bound is None:
            cost = self.costs.setdefault(prepared.rule, RuleCost())
            bound = self._loops[id(prepared)] = BoundPipeline(prepared.quick, self.relations), cost
        return bound

    def _suits_loops(self, prepared: PreparedPipeline, marks: Marks) -> bool:
        if not prepared.loops:
            return False
        if prepared.first is None:
            return True
        table = self.relations.resolve(prepared.first)
        start, stop = stretch(table, prepared.first.part, marks)
        if stop - start <= FEW:
            return True
        if stop - start > SMALL:
            return False
        return all(len(self.relations.resolve(scan)) <= SMALL for scan in prepared.scans)

    def _add(self, outputs: list[Output], budget: Budget) -> int:
        """Add what a round derived; return how many rows were new."""
        self._known = None
        new = 0
        for prepared, rows, columns in outputs:
            if not (rows or columns):
                continue
            head = prepared.pipeline.head
            table = self.relations.table(head)
            added = table.add_rows(rows) if rows else table.add_columns(columns or [])
            self.costs[prepared.rule].new += added
            new += added
            if head in self.derived:
                # What was supplied too is derived all the same, and what was only supplied is not.
                table = self.derived[head]
                added = table.add_rows(rows) if rows else table.add_columns(columns or [])
            if added:
                budget.take_derived(added, table.size, head)
                budget.hold(4 * head.arity * added, head)
        return new

    def _close(self, component: PreparedComponent, base: Output, budget: Budget) -> bool:
        """Evaluate a transitive closure at once, where the graph is not too large and no limit is near.

        It takes the steps that rounds would take. Where these would pass a limit, they do, and stop there.
        """
        path, (prepared, _, columns) = component.component.predicates[0], base
        table = self.relations.table(path)
        if len(table) or columns is None:
            return False
        starts, ends = columns
        nodes = count_nodes(starts, ends)
        # No shortest way is longer than there are nodes, and each round makes the longest one longer.
        if nodes > min(NODES, budget.limits.iterations) or not budget.has_room(nodes, nodes // 2):
            return False
        closure = close(starts, ends, partial(budget.check_time, path))
        found = int(closure.ends().sum())
        (rule,) = (whole for whole in component.wholes if whole.own)
        if not budget.has_room(steps := _closing_steps(rule, closure, starts, ends, found), found):
            return False
        budget.take_steps(steps, rule)
        budget.take_derived(found, found, path)
        budget.hold(8 * found, path)
        self._known = None
        table.add_distinct(list(closure.pairs()))
        table.rounds.append(len(table))
        self.costs[prepared.rule].new += found
        self.rounds[path] = 1
        return True


def _closing_steps(rule: PreparedPipeline, closure: Closure, starts: Ids, ends: Ids, found: int) -> int:
    """Return how many rows the joins of a rule that puts paths together would put out in all rounds."""
    path, (start, _) = rule.pipeline.head, rule.pipeline.project
    if all(scan.predicate == path for scan in rule.scans):
        # Each path is new once on either side, and every two that meet are found once.
        return 2 * found + int((closure.starts() * closure.ends()).sum())
    first = next(scan for scan in rule.scans if Column(scan.columns()[0]) == start)
    if first.predicate == path:
        return found + int((closure.starts() * closure.degrees(starts)).sum())
    return found + int((closure.degrees(ends) * closure.ends()).sum())
