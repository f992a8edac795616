"""Turn joins whose other columns nobody reads into semijoins.

A join multiplies rows; where only the fact that there is a partner matters, keeping is enough. Cross
products of atoms that share nothing shrink to "is there any".
"""

from __future__ import annotations

from lace.algebra.nodes import Column, Join, Part, Scan, SemiJoin, Step


def keep_or_join(join: Join, bound: set[str], once: set[str]) -> Step:
    """Return a join without what nobody reads of it, only keeping rows where it binds nothing then.

    `bound` are the columns of the steps before it. Nobody reads those that a rule mentions `once`.
    """
    scan = join.scan
    columns = scan.names
    # What is new in a relation has to be walked through, whatever is read of it.
    keeps = scan.part is not Part.NEW
    if bound.issuperset(columns):
        return SemiJoin(scan) if keeps else join
    if once.isdisjoint(columns):
        return join
    if keeps and bound.issuperset([name for name in columns if name not in once]):
        return SemiJoin(_forget(scan, once))
    return Join(_forget(scan, once))


def _forget(scan: Scan, once: set[str]) -> Scan:
    """Return the scan without names that nobody reads; one that stands twice in it means equality."""
    names = [place.name for place in scan.places if type(place) is Column]
    places = [
        None if type(place) is Column and place.name in once and names.count(place.name) == 1 else place
        for place in scan.places
    ]
    return Scan(scan.predicate, tuple(places), scan.part, scan.view)
