"""The other side of reconciliation: answering what the peer asks about our partitions (PROFILE 9 and 10).

Rules of this file:
1. "An answer comes from the loop's own snapshot": the send set does not change between advertising and the
   end of the turns.
2. A prefix is asked about only where we summarized it in this loop, and once answered it is not asked again.
3. "Answers are sent summaries first, then records sorted by P." A listing is whole or left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lace.facts import Fact
from lace.interlace.blocks import LIST, MalformedBlock, block_size
from lace.interlace.claims import ADVERTISED, Claims, advertisement_facts, advertisements_size
from lace.interlace.limits import ExchangeLimit
from lace.interlace.own import OwnAdvertisements
from lace.interlace.partitions import Summary, in_order
from lace.interlace.reconcile import Asked
from lace.interlace.terms import Terms


class Answers:
    """What we said and may still be asked about, in one loop."""

    def __init__(self, summaries: Iterable[Summary], own: OwnAdvertisements, terms: Terms) -> None:
        self._own = own
        self._limits = terms.limits
        self._start = terms.partition_start
        self._said = {summary.prefix: summary.count for summary in summaries}
        self._total = len(self._said)

    def read(self, facts: Sequence[Fact]) -> Asked:
        """Read an ask block, or raise what may not be asked."""
        asked = Asked()
        seen: set[str] = set()
        for name, prefix in facts:
            if prefix not in self._said:
                raise MalformedBlock(reason=f"partition {prefix[:50]!r} was not summarized, or is answered")
            if prefix in seen:
                raise MalformedBlock(reason=f"partition {prefix!r} is asked about twice")
            seen.add(prefix)
            if name == LIST:
                asked.lists.append(prefix)
            elif len(prefix) - self._start >= self._limits.max_narrowing_depth:
                raise MalformedBlock(reason=f"partition {prefix!r} is as deep as partitions go")
            else:
                asked.narrows.append(prefix)
        return asked

    def answer(self, asked: Asked) -> list[Fact]:
        """Return the answer block: as much as fits, and something where something was asked."""
        children, size = self._children(in_order(asked.narrows))
        facts = children + self._listings(in_order(asked.lists), size)
        if asked and not facts:
            # PROFILE 9: "An empty answer to an ask is malformed." Not even one thing fits: it ends here.
            limits = self._limits
            raise ExchangeLimit(
                limit="max_fact_block_bytes or max_advertisement_records",
                bound=f"{limits.max_fact_block_bytes} or {limits.max_advertisement_records}",
                seen="more",
                advice="nothing that was asked fits into one answer",
            )
        return facts

    def _children(self, prefixes: list[str]) -> tuple[list[Fact], int]:
        limits = self._limits
        facts: list[Fact] = []
        size = 0
        for prefix, children in zip(prefixes, self._own.tree.children(prefixes), strict=True):
            said = [child.fact() for child in children]
            more = block_size(said)
            if (
                self._total + len(children) > limits.max_partition_summaries
                or size + more > limits.max_fact_block_bytes
            ):
                break
            facts += said
            size += more
            self._total += len(children)
            del self._said[prefix]
            self._said.update((child.prefix, child.count) for child in children)
        return facts, size

    def _listings(self, prefixes: list[str], size: int) -> list[Fact]:
        limits, own = self._limits, self._own
        listed: dict[str, Claims] = {}
        for prefix, held in zip(prefixes, own.tree.under_each(prefixes), strict=True):
            if len(listed) + self._said[prefix] > limits.max_advertisement_records:
                break
            claims = own.claims_of(held, own.source)
            size += advertisements_size(claims, own.source)
            if size > limits.max_fact_block_bytes:
                break
            listed.update(claims)
            del self._said[prefix]
        if not any(listed.values()):
            return [(ADVERTISED, record, own.source) for record in sorted(listed)]
        return [
            fact
            for record in sorted(listed)
            for fact in advertisement_facts(record, own.source, listed[record])
        ]
