"""What a history tells about one record: every time that it left, and why, and how it came.

Rules of this file:
1. An answer stands by itself: people read its lines, programs its JSON, and nothing has to be open for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from lace.datalog import Proof, show_proof
from lace.drive import Agreement, ExchangeEntry, Passage, Way
from lace.porcelain.reasons.whysend import WIDTH
from lace.porcelain.times import show_time
from lace.text import RecordId

_OTHERS: Final = {
    Way.CAME: "came from {peer}",
    Way.REJECTED: "came from {peer} and was rejected: {words}",
    Way.NOT_AVAILABLE: "was asked of {peer}, who could no longer send it",
    Way.DEFERRED: "was asked of {peer}, who left it for later",
    Way.HELD_BACK: "was asked for by {peer}, and held back",
}


class Worth(Enum):
    """What an explanation is worth."""

    AS_IT_WAS = "as it was"
    """Over exactly the records, rules and facts of that moment."""
    MADE_AGAIN = "made again"
    """Over what is left of the records of that moment."""
    NOT_MADE = "not made again"
    """What decided is gone, or was never kept."""
    NOT_ASKED = "not explained"
    """Older than the newest that were asked for."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A section that showed a record to a viewer, and the rule of it that did."""

    section: str
    rule: str


@dataclass(frozen=True, slots=True)
class Sending:
    """One time that a record left."""

    passage: Passage
    entry: ExchangeEntry
    agreement: Agreement | None
    worth: Worth = Worth.NOT_ASKED
    words: tuple[str, ...] = ()
    """What a reader should know about the explanation."""
    proof: Proof | None = None
    selected_by: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The rules of the two operands that selected the record: ours, then the peer's; several where an operand
    is composed of parts."""
    shown_by: tuple[Shown, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the sending as a program reads it."""
        passage, entry, agreed = self.passage, self.entry, self.agreement
        return {
            "exchange": passage.number, "certain": passage.way is Way.LEFT, "at": passage.at,
            "peer": entry.peer, "viewer": None if agreed is None else agreed.viewer,
            "address": entry.address, "plan": None if agreed is None else agreed.plan,
            "epoch": passage.epoch, "loop": passage.loop, "tick": passage.tick,
            "worth": self.worth.value, "words": list(self.words),
            "selected_by": {"ours": list(self.selected_by[0]), "peer": list(self.selected_by[1])},
            "shown_by": [{"section": each.section, "rule": each.rule} for each in self.shown_by],
            "proof": self.proof and self.proof.to_json(),
        }  # fmt: skip

    def lines(self, *, proofs: bool = False, **size: int) -> Iterator[str]:
        """Yield the sending for people; `depth`, `breadth` and `width` are those of `show_proof`."""
        passage, agreed = self.passage, self.agreement
        perhaps = "" if passage.way is Way.LEFT else " perhaps: the process ended while it was about to leave"
        yield f"exchange {passage.number}, {show_time(passage.at)}: to {whom(self.entry)}{perhaps}"
        if agreed is not None:
            yield f"  under {agreed.plan}, epoch {passage.epoch}, loop {passage.loop}, tick {passage.tick}"
            yield f"  the peer's rules saw what is shown to {agreed.viewer}"
        for whose, rules in zip(("us", "the peer"), self.selected_by, strict=True):
            yield from (f"  selected by {whose}: {rule}" for rule in rules)
        yield from (f"  shown by {shown.section}: {shown.rule}" for shown in self.shown_by)
        if self.worth is Worth.NOT_ASKED:
            yield "  not explained: a larger number explains it (--explain, explain=)"
        else:
            words = f": {'; '.join(self.words)}" if self.words else ""
            yield f"  this reason is {self.worth.value}{words}"
        if proofs and self.proof is not None:
            shown_proof = show_proof(self.proof, **{"width": WIDTH, **size})
            yield from (f"    {line}" for line in shown_proof.split("\n"))


@dataclass(frozen=True, slots=True)
class WhySent:
    """Everything that a history knows about one record."""

    record: RecordId
    sendings: tuple[Sending, ...]
    """The newest first."""
    others: tuple[tuple[Passage, ExchangeEntry], ...]
    """How it came, was rejected, or was asked for in vain; the oldest first."""

    @property
    def came(self) -> tuple[tuple[Passage, ExchangeEntry], ...]:
        """How it came, where it did."""
        return tuple(each for each in self.others if each[0].way is Way.CAME)

    def lines(self, *, proofs: bool = False, **size: int) -> Iterator[str]:
        """Yield the answer for people: each time that it left, with whole proofs where they are wanted."""
        times = "1 time" if len(self.sendings) == 1 else f"{len(self.sendings):,} times"
        left = f"left {times}" if self.sendings else "never left, as far as the history goes"
        yield f"{self.record} {left}"
        for sending in self.sendings:
            yield from sending.lines(proofs=proofs, **size)
        for passage, entry in self.others:
            words = _OTHERS[passage.way].format(peer=whom(entry), words=passage.words)
            yield f"exchange {passage.number}, {show_time(passage.at)}: it {words}"

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""
        return {
            "record": self.record,
            "sent": bool(self.sendings),
            "sendings": [each.to_json() for each in self.sendings],
            "others": [
                {
                    "exchange": passage.number, "way": passage.way.value, "at": passage.at,
                    "loop": passage.loop, "peer": entry.peer, "address": entry.address,
                    "code": passage.error_code,
                }
                for passage, entry in self.others
            ],
        }  # fmt: skip


def whom(entry: ExchangeEntry) -> str:
    """Say with whom an exchange was, and through which address."""
    peer = entry.peer or "somebody who proved nothing"
    return f"{peer} through {entry.address}" if entry.address else peer
