"""Ranks on frames: how many others come before an item, without making the pairs where that is possible.

    others of one group in order      a   b   b   c
    how many up to there              1   3       4      so three others are not after b

Rules of this file:
1. Pairs are counted, not made, where everyone stands once in each order and no pair can stand under two
   levels: the same condition as in the embedded engine. Else the pairs are made. A rank takes no steps.
2. An order over everything is cut into ranges, each is summed up on its own, and only the sums of the ranges
   are put together in one task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from lace.algebra import Column, Level, RankTest, Scan
from lace.engines.spark.expressions import ordered, sort_key
from lace.engines.spark.relation import union

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

Rows = Callable[[Scan], "DataFrame | None"]
"""Gives the rows that fit a scan, under `c0`, `c1`, …"""


@dataclass(frozen=True, slots=True)
class _Side:
    """One scan of a level: `who`, `group` (one for all where nothing is shared), `key` to be compared by."""

    frame: DataFrame
    rows: int
    people: int

    def single(self) -> bool:
        """Tell whether everyone stands there once."""
        return self.rows == self.people


@dataclass(frozen=True, slots=True)
class _Order:
    """A level with both of its sides."""

    level: Level
    shared: bool
    own: _Side
    others: _Side

    @property
    def swapped(self) -> bool:
        """Whether the other stands on the left of the comparison."""
        left = self.level.compare.left
        return isinstance(left, Column) and left.name in self.level.others.columns()


def ranks(test: RankTest, wanted: DataFrame, rows: Rows) -> DataFrame | None:
    """Return `item` and `n` for items that have others before them; None where nobody has."""
    orders = [order for level in test.levels if (order := _order(level, rows)) is not None]
    if not orders:
        return None
    if len(orders) == len(test.levels) and _disjoint(orders):
        counts = union([_counted(order) for order in orders])
        return counts.groupBy("item").agg(F.sum("n").alias("n"))
    return _paired(orders, wanted)


def _order(level: Level, rows: Rows) -> _Order | None:
    shared = set(level.own.columns()) & set(level.others.columns())
    names = [term.name for term in level.compare.terms() if isinstance(term, Column)]
    sides = []
    for scan, who in ((level.own, level.item), (level.others, level.other)):
        frame = rows(scan)
        if frame is None:
            return None
        compared = next(name for name in names if name in scan.columns() and name not in shared)
        key = next(iter(shared), compared)
        place = {p.name: at for at, p in reversed(list(enumerate(scan.places))) if isinstance(p, Column)}
        pairs = frame.select(
            F.col(f"c{place[who.name]}").alias("who"),
            F.col(f"c{place[key]}").alias("group") if shared else F.lit("").alias("group"),
            F.col(f"c{place[compared]}").alias("text"),
        )
        if any(p is None for p in scan.places):
            pairs = pairs.dropDuplicates()  # a column that nobody reads may have told equal rows apart
        pairs = pairs.localCheckpoint()
        counts = pairs.agg(F.count(F.lit(1)), F.countDistinct("who")).collect()[0]
        keyed = pairs.select("who", "group", "text", sort_key(level.compare.kind, F.col("text")).alias("key"))
        sides.append(_Side(keyed, int(counts[0]), int(counts[1])))
    return _Order(level, bool(shared), sides[0], sides[1])


def _disjoint(orders: list[_Order]) -> bool:
    """Tell whether no pair can stand under two levels, so that counts may be added up."""
    if not all(order.own.single() and order.others.single() for order in orders):
        return False
    if len(orders) == 1:
        return True
    if len(orders) != 2 or sum(order.shared for order in orders) != 1:
        return False
    tied, free = sorted(orders, key=lambda order: not order.shared)
    # Equal keys in one level, strictly different ones in the other: the keys must be the same keys.
    return free.level.compare.op in "<>" and _same(free.own, tied.own) and _same(free.others, tied.others)


def _same(free: _Side, tied: _Side) -> bool:
    if free.rows != tied.rows:
        return False
    keys = tied.frame.select("who", F.col("group").alias("text"))
    return not free.frame.join(keys, on=["who", "text"], how="left_anti").take(1)


def _counted(order: _Order) -> DataFrame:
    """Return how many others compare so with each own row, from sums along the order."""
    compare = order.level.compare
    own = order.own.frame.filter(F.col("key").isNotNull())
    others = order.others.frame.filter(F.col("key").isNotNull())
    places = union(
        [
            own.select("group", "key", F.lit(0).alias("n")),
            others.select("group", "key", F.lit(1).alias("n")),
        ]
    )
    places = places.groupBy("group", "key").agg(F.sum("n").alias("n"))
    summed = _sums_in_groups(places) if order.shared else _sums_over_all(places)
    greater = (compare.op[0] == ">") == order.swapped  # the other is the greater one
    if greater:
        before = F.col("total") - F.col("upto")
        n = before + F.col("n") if "=" in compare.op else before
    else:
        n = F.col("upto") if "=" in compare.op else F.col("upto") - F.col("n")
    counts = summed.select("group", "key", n.alias("count"))
    joined = own.select(F.col("who").alias("item"), "group", "key").join(counts, on=["group", "key"])
    return joined.select("item", F.col("count").cast("long").alias("n"))


def _sums_in_groups(places: DataFrame) -> DataFrame:
    group = Window.partitionBy("group")
    upto = group.orderBy("key").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return places.select(
        "group", "key", "n", F.sum("n").over(upto).alias("upto"), F.sum("n").over(group).alias("total")
    )


def _sums_over_all(places: DataFrame) -> DataFrame:
    # Kept, because the borders of ranges are guessed from a sample and must not be guessed twice.
    ranged = places.repartitionByRange("key").withColumn("range", F.spark_partition_id()).localCheckpoint()
    inside = Window.partitionBy("range").orderBy("key")
    inside = inside.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sums = ranged.groupBy("range").agg(F.sum("n").alias("sum"))
    # As many rows as there are ranges.
    before = Window.orderBy("range").rowsBetween(Window.unboundedPreceding, -1)
    offsets = sums.select(
        "range",
        F.coalesce(F.sum("sum").over(before), F.lit(0)).alias("offset"),
        F.sum("sum")
        .over(Window.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing))
        .alias("total"),
    )
    joined = ranged.withColumn("within", F.sum("n").over(inside)).join(F.broadcast(offsets), on="range")
    return joined.select("group", "key", "n", (F.col("within") + F.col("offset")).alias("upto"), "total")


def _paired(orders: list[_Order], wanted: DataFrame) -> DataFrame:
    """Count the distinct others of each item one by one: for orders in which an item stands twice."""
    asked = wanted.dropDuplicates().localCheckpoint()
    found = []
    for order in orders:
        own = order.own.frame.filter(F.col("key").isNotNull())
        own = own.join(asked.withColumnRenamed("item", "who"), on="who", how="left_semi")
        mine = own.select(F.col("who").alias("item"), "group", F.col("key").alias("mine"))
        theirs = order.others.frame.filter(F.col("key").isNotNull())
        theirs = theirs.select(F.col("who").alias("other"), "group", F.col("key").alias("theirs"))
        pairs = mine.join(theirs, on="group").filter(_compared(order))
        found.append(pairs.select("item", "other"))
    return union(found).dropDuplicates().groupBy("item").agg(F.count(F.lit(1)).alias("n"))


def _compared(order: _Order) -> Expression:
    mine, theirs = F.col("mine"), F.col("theirs")
    left, right = (theirs, mine) if order.swapped else (mine, theirs)
    return ordered(left, order.level.compare.op, right)
