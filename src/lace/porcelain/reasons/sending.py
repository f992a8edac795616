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
from lace.drive import Agreement, ExchangeEntry, Passage, Role, Section, Way, write_utc
from lace.porcelain.reasons.whysend import WIDTH
from lace.porcelain.times import show_time
from lace.text import RecordId, Tai

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
    """A section that showed a record to a viewer, or let it go, and the rule of it that did."""

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
    let_go_by: tuple[Shown, ...] = ()
    """The sections that hold back what they do not name, each with the rule that named the record: `[send]`,
    and a `[select]` that is not in our operand, because only later is it known who the peer is."""
    shown: bool | None = None
    """Whether the peer's rules could see the record; None where that is not known."""
    shown_by: tuple[Shown, ...] = ()
    """By which sections, where they could."""
    named: bool = False
    """Whether the peer's rules hold the id of the record."""

    @property
    def has_rules(self) -> bool:
        """Whether the rules that decided are told as they stand, because no reason was made of them."""
        return self.agreement is not None and self.worth is Worth.NOT_MADE

    def to_json(self) -> dict[str, Any]:
        """Return the sending as a program reads it."""
        passage, entry, agreed = self.passage, self.entry, self.agreement
        return {
            "exchange": passage.number, "certain": passage.way is Way.LEFT, "at": passage.at,
            "at_utc": write_utc(passage.at),
            "peer": entry.peer, "viewer": None if agreed is None else agreed.viewer,
            "address": entry.address, "plan": None if agreed is None else agreed.plan,
            "epoch": passage.epoch, "loop": passage.loop, "tick": passage.tick,
            "worth": self.worth.value, "words": list(self.words),
            "selected_by": None if self.proof is None else {
                "ours": list(self.selected_by[0]), "peer": list(self.selected_by[1]),
            },
            "let_go_by": None if self.proof is None else [
                {"section": each.section, "rule": each.rule} for each in self.let_go_by
            ],
            "shown": self.shown,
            "shown_by": None if self.shown is None else [
                {"section": each.section, "rule": each.rule} for each in self.shown_by
            ],
            "named": None if self.proof is None else self.named,
            "rules": None if agreed is None or not self.has_rules else _rules_to_json(agreed),
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
        yield from (f"  let go by {each.section}: {each.rule}" for each in self.let_go_by)
        yield from (f"  shown by {shown.section}: {shown.rule}" for shown in self.shown_by)
        if self.shown is False:
            yield f"  {self._why_unseen()}"
        if self.worth is Worth.NOT_ASKED:
            yield "  not explained: a larger number explains it (--explain, explain=)"
        else:
            words = f": {'; '.join(self.words)}" if self.words else ""
            yield f"  this reason is {self.worth.value}{words}"
        if agreed is not None and self.has_rules:
            yield from (f"  {line}" for line in _rules(agreed))
        if proofs and self.proof is not None:
            shown_proof = show_proof(self.proof, **{"width": WIDTH, **size})
            yield from (f"    {line}" for line in shown_proof.split("\n"))

    def _why_unseen(self) -> str:
        """Say how the peer's rules came to select a record that they did not see."""
        none = self.agreement is not None and not self.agreement.in_force.of(Role.EXPOSE)
        hidden = "nothing was exposed to this peer" if none else "not shown to this peer"
        # A link or a field that they may see holds the id as well, and so does what the peer advertised.
        other = "came by its id in another way, such as a link to it"
        return f"{hidden}; its rules {'named it by its id' if self.named else other}"


def tell_section(section: Section) -> str:
    """Say which rules of ours had a say, and in what, where their name does not tell.

    >>> tell_section(Section(Role.SEND, "", "[select] (town.policy:3)"))
    '[select] (town.policy:3), for what is sent'
    """
    if not section.name:
        made = ", made for this exchange" if section.role is Role.SELECT else ""
        return f"[{section.role.value}]{made}"
    late = section.name.startswith("[select") and section.role is not Role.SELECT
    use = "what is sent" if section.role is Role.SEND else "what is asked for"
    return f"{section.name}, for {use}" if late else section.name


def _rules(agreed: Agreement) -> Iterator[str]:
    """Yield the rules of both sides that decided."""
    if not agreed.in_force.noted:
        yield "what of our own policy had a say was not noted"
    for section in agreed.in_force.sections:
        yield f"in force: {tell_section(section)}"
        yield from (f"  {line}" for line in section.text.split("\n"))
    if agreed.in_force.trusted:
        yield "in force: the peer was trusted, and its rules read everything"
    # The parts of ours are sections in force, where those were noted.
    ours = [] if agreed.in_force.of(Role.SELECT) else [("us", agreed.operands[agreed.side])]
    for side, text in (*ours, ("the peer", agreed.operands[1 - agreed.side])):
        yield f"in force: the rules of {side}"
        yield from (f"  {line}" for line in text.split("\n"))


def _rules_to_json(agreed: Agreement) -> dict[str, Any]:
    parts = agreed.in_force.sections
    return {
        "noted": agreed.in_force.noted,
        "sections": [{"role": each.role.value, "where": each.name, "text": each.text} for each in parts],
        "union": agreed.in_force.union,
        "trusted": agreed.in_force.trusted,
        "operands": {"ours": agreed.operands[agreed.side], "peer": agreed.operands[1 - agreed.side]},
    }


@dataclass(frozen=True, slots=True)
class WhySent:
    """Everything that a history knows about one record."""

    record: RecordId
    sendings: tuple[Sending, ...]
    """The newest first."""
    others: tuple[tuple[Passage, ExchangeEntry], ...]
    """How it came, was rejected, or was asked for in vain; the oldest first."""
    here: bool = False
    """Whether the store has it."""
    peer: str | None = None
    """About whom alone it was asked."""
    noted: bool = True
    """Whether there is any exchange in the history."""
    forgotten_until: Tai | None = None
    """Until when what was noted is gone from the history; None where nothing is."""
    converged: int = 0
    """How many exchanges a lake had of which no ids were noted: the history cannot tell about them."""

    @property
    def came(self) -> tuple[tuple[Passage, ExchangeEntry], ...]:
        """How it came, where it did."""
        return tuple(each for each in self.others if each[0].way is Way.CAME)

    def lines(self, *, proofs: bool = False, **size: int) -> Iterator[str]:
        """Yield the answer for people: each time that it left, with whole proofs where they are wanted."""
        times = "1 time" if len(self.sendings) == 1 else f"{len(self.sendings):,} times"
        to = " to this peer" if self.peer else ""
        empty = not (self.noted or self.forgotten_until or self.converged)
        since = ": no exchange was noted here yet" if empty else ""
        never = f"never left{to}, as far as the history goes{since}"
        yield f"{self.record} {f'left {times}' if self.sendings else never}"
        for sending in self.sendings:
            yield from sending.lines(proofs=proofs, **size)
        for passage, entry in self.others:
            words = _OTHERS[passage.way].format(peer=whom(entry), words=passage.words)
            yield f"exchange {passage.number}, {show_time(passage.at)}: it {words}"
        if not self.sendings:
            unknown = "" if self.others or self.peer else ", and the history does not know it"
            yield "the record is here" if self.here else f"the record is not here{unknown}"
        yield from gaps(self.forgotten_until, self.converged)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""
        return {
            "record": self.record,
            "here": self.here,
            "sent": bool(self.sendings),
            "forgotten_until": self.forgotten_until,
            "converged": self.converged,
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


def gaps(forgotten_until: Tai | None, converged: int) -> Iterator[str]:
    """Say what a history cannot tell about."""
    if forgotten_until is not None:
        yield f"what was noted until {show_time(forgotten_until)} was forgotten (--forget-before)"
    if converged:
        exchanges = "1 exchange" if converged == 1 else f"{converged:,} exchanges"
        are, them = ("is", "it") if converged == 1 else ("are", "them")
        yield (
            f"{exchanges} by `lace lake converge` {are} in the table `exchanges`, without ids: this history"
            f" cannot tell about {them}"
        )


def whom(entry: ExchangeEntry) -> str:
    """Say with whom an exchange was, and through which address."""
    peer = entry.peer or "somebody who proved nothing"
    return f"{peer} through {entry.address}" if entry.address else peer
