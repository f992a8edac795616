"""The fixpoint driver: components from the lowest up, rounds until nothing new comes.

Rules of this file:
1. One driver for every operator: a pipeline runs over columns or as quick loops, whichever its rows suit,
   and gives the same rows.
2. In a round every pipeline sees the tables as the round found them; what is derived is added at its end.
3. Whatever path is taken, the tables hold the facts of a full evaluation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lace.algebra import Budget
from lace.engines.closure import NODES, closure, count_nodes
from lace.engines.columnar import ColumnarRunner
from lace.engines.dictionary import Ids
from lace.engines.prepared import PreparedComponent, PreparedDelta, PreparedPipeline, PreparedProgram
from lace.engines.relations import Marks, Relations, Source, stretch
from lace.engines.table import Row, Table
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


@dataclass(slots=True)
class Change:
    """Which relations gained facts and which lost some."""

    grown: set[Source] = field(default_factory=set)
    shrunk: set[Source] = field(default_factory=set)

    def touches(self, sources: Collection[Source]) -> bool:
        """Tell whether one of the sources changed at all."""
        return not self.grown.isdisjoint(sources) or not self.shrunk.isdisjoint(sources)

    def loses(self, component: PreparedComponent) -> bool:
        """Tell whether the change can take facts of a component away."""
        if not self.shrunk:
            return not self.grown.isdisjoint(component.strict)
        return self.touches(component.strict) or not self.shrunk.isdisjoint(component.reads)


class Output(NamedTuple):
    """Head rows of one pipeline, in the form in which they came."""

    pipeline: PreparedPipeline
    rows: list[Row] | None
    columns: list[Ids] | None


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
        self._columnar = ColumnarRunner(relations)

    def table(self, predicate: Predicate) -> Table:
        """Return what the rules derived of a predicate."""
        apart = self.derived.get(predicate)
        return self.relations.table(predicate) if apart is None else apart

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
        supplied, dictionary = self._given[predicate], self.relations.dictionary
        if len(supplied):
            self.derived[predicate] = Table(predicate.arity, dictionary)
            self.relations.put(predicate, supplied.copy(dictionary))
        else:
            self.relations.put(predicate, Table(predicate.arity, dictionary))

    def update(self, change: Change, marks: Marks, budget: Budget) -> None:
        """Bring the derived tables up to date with changed base relations."""
        looked: set[Source] = set()
        for component in self.prepared.components:
            if component.views:
                self._look_again(component, change, marks, looked)
            if not change.touches(component.reads):
                continue
            if change.loses(component):
                self._refill(component, change, marks, budget)
            else:
                self._continue(component, change, marks, budget)
                for predicate in component.component.predicates:
                    table = self.relations.table(predicate)
                    if marks.get(table, table.size) < table.size:
                        change.grown.add(Source(predicate))

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
            fresh = sum(row not in old for row in new.rows())
            if len(new) - fresh < len(old):
                change.shrunk.add(Source(predicate))
            elif fresh:
                change.grown.add(Source(predicate))
                marks[new] = 0  # its rows stand in another order: all of them count as new

    # One component

    def _fill(self, component: PreparedComponent, budget: Budget) -> None:
        if component.component.closure is not None and self._close(component, budget):
            return
        tables = {p: self.relations.table(p) for p in component.component.predicates}
        marks = {table: len(table) for table in tables.values()}
        outputs = [
            self._run(whole, marks, budget)
            for whole in component.wholes
            # Before the first round a rule that joins its own component finds only what was supplied.
            if all(len(tables[predicate]) for predicate in whole.own)
        ]
        self._add(outputs, budget)
        self._rounds(component, marks, budget)

    def _continue(self, component: PreparedComponent, change: Change, marks: Marks, budget: Budget) -> None:
        """Go on from what is new below."""
        tables = [self.relations.table(predicate) for predicate in component.component.predicates]
        for table in tables:
            marks.setdefault(table, table.size)
        deltas: Iterable[PreparedDelta] = component.deltas
        if len(change.grown) == 1:
            (source,) = change.grown
            deltas = component.deltas_of.get(source, ())
        outputs = self._deltas(deltas, marks, budget)
        if any(output.rows or output.columns for output in outputs):
            self._add(outputs, budget)
            self._rounds(component, {table: marks[table] for table in tables}, budget)

    def _rounds(self, component: PreparedComponent, marks: Marks, budget: Budget) -> None:
        predicates = component.component.predicates
        tables = [self.relations.table(predicate) for predicate in predicates]
        count = 0
        while any(marks[table] < table.size for table in tables):
            count += 1
            budget.check_rounds(count, predicates[0])
            for table in tables:
                table.rounds.append(table.size)
            if not component.component.recursive:
                break
            outputs = self._deltas(component.own_deltas, marks, budget)
            marks = {table: table.size for table in tables}
            self._add(outputs, budget)
        self.rounds[predicates[0]] = self.rounds.get(predicates[0], 0) + count

    def _deltas(self, deltas: Iterable[PreparedDelta], marks: Marks, budget: Budget) -> list[Output]:
        outputs = []
        for delta in deltas:
            table, _ = self.relations.resolve(delta.scan)
            old = marks.get(table)
            if old is not None and old < table.size:
                few = table.size - old <= FEW
                outputs.append(self._run(delta.prepared, marks, budget, few))
        return outputs

    def _run(self, prepared: PreparedPipeline, marks: Marks, budget: Budget, few: bool = False) -> Output:
        """Run one pipeline; `few` says that it starts from few rows."""
        cost = self.costs.get(prepared.rule)
        if cost is None:
            cost = self.costs[prepared.rule] = RuleCost()
        cost.runs += 1
        started = budget.now() if budget.now is not None else 0.0
        rows: list[Row] | None = None
        columns: list[Ids] | None = None
        if (few and prepared.loops) or self._suits_loops(prepared, marks):
            rows = prepared.quick.run(self.relations, marks, budget)
            cost.rows += len(rows)
        else:
            columns = self._columnar.run(prepared.pipeline, marks, budget)
            if columns is not None and not columns:
                rows, columns = [()], None
            cost.rows += len(rows or ()) + (len(columns[0]) if columns else 0)
        if budget.now is not None:
            cost.seconds += budget.now() - started
        return Output(prepared, rows, columns)

    def _suits_loops(self, prepared: PreparedPipeline, marks: Marks) -> bool:
        if not prepared.loops:
            return False
        if prepared.first is None:
            return True
        table, _ = self.relations.resolve(prepared.first)
        start, stop = stretch(table, prepared.first.part, marks)
        if stop - start <= FEW:
            return True
        if stop - start > SMALL:
            return False
        return all(len(self.relations.resolve(scan)[0]) <= SMALL for scan in prepared.scans)

    def _add(self, outputs: list[Output], budget: Budget) -> None:
        """Add what a round derived."""
        for output in outputs:
            if not (output.rows or output.columns):
                continue
            head = output.pipeline.pipeline.head
            tables = [self.relations.table(head)]
            if head in self.derived:
                tables.append(self.derived[head])
            new = 0
            for table in reversed(tables):
                if output.rows:
                    new = table.add_rows(output.rows)
                elif output.columns:
                    new = table.add_columns(output.columns)
            if new:
                self.costs[output.pipeline.rule].new += new
                budget.take_derived(new, tables[0].size, head)

    def _close(self, component: PreparedComponent, budget: Budget) -> bool:
        """Evaluate a transitive closure at once, where the graph is neither tiny nor too large."""
        path = component.component.predicates[0]
        table = self.relations.table(path)
        base = next(whole for whole in component.wholes if not whole.own)
        if len(table) or self._suits_loops(base, {}):
            return False
        edges = self._run(base, {}, budget).columns
        if edges is None:
            return True
        if count_nodes(edges[0], edges[1]) > NODES:
            return False
        new = table.add_columns(list(closure(edges[0], edges[1])))
        budget.take_derived(new, new, path)
        table.rounds.append(len(table))
        self.costs[base.rule].new += new
        self.rounds[path] = 1
        return True
