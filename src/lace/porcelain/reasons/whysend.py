"""Why a record would be sent to a peer, and what would hold it back, as values that people and programs read.

Rules of this file:
1. Whether a record is here is asked of the store: rules may name others, and what is not here is not sent.
2. An answer stands by itself: sections are told by their places, and nothing has to be open to show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lace.datalog import Proof, WhyNot, show_proof, show_why_not
from lace.policy import Held
from lace.porcelain.reasons.rehearsal import BY_EXPOSE, Rehearsal
from lace.text import RecordId

WIDTH: Final = 400
"""How long a line gets: two or three record ids and a rule of some length."""

NAMED: Final = (
    "It is hidden, and nothing holds it back: a peer whose rules name it by its id, or by a link that they"
    " may see, gets it. A [send] section would hold it."
)


@dataclass(frozen=True, slots=True)
class WhySend:
    """Why a record would be sent to a peer; it would not be where there is no proof."""

    record: RecordId
    here: bool
    """Whether the store has it; rules may name one that it has not."""
    proof: Proof | None
    """With both sides' shares, `O0` and `O1`, each in its author's own rules."""
    exposed_by: tuple[tuple[str, Proof | None], ...]
    """The sections by which the peer's rules may see it; without a proof where the header says it all."""

    @property
    def sent(self) -> bool:
        """Whether it would be sent."""
        return self.proof is not None

    def lines(self, **size: int) -> Iterator[str]:
        """Yield the answer for people; `depth`, `breadth` and `width` are those of `show_proof`."""
        if self.proof is None:
            yield f"{self.record} is not {'sent to this peer' if self.here else 'here, so it is not sent'}"
            return
        size = {"width": WIDTH, **size}
        yield from show_proof(self.proof, **size).split("\n")
        for where, proof in self.exposed_by:
            yield f"The peer's rules may see it by {where}{':' if proof else '.'}"
            yield from show_proof(proof, **size).split("\n") if proof else ()

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""
        return {
            "record": self.record,
            "here": self.here,
            "sent": self.sent,
            "proof": self.proof and self.proof.to_json(),
            "expose": [
                {"where": where, **(proof.to_json() if proof else {})} for where, proof in self.exposed_by
            ],
        }


@dataclass(frozen=True, slots=True)
class WhyNotSend:
    """What would hold a record back from a peer."""

    record: RecordId
    here: bool
    """Whether the store has it."""
    exposed: bool
    """Whether the peer's rules can see it at all."""
    held_by: tuple[str, ...]
    """Which parts of the policies do: `select`, `expose`, `peer`, `send`, or `receive` for what is asked."""
    words: str | None
    """What a person should be told about what the peer can see, where there is something to tell."""
    hidden_by: tuple[tuple[str, WhyNot], ...]
    """The expose sections that do not show it, each with the atom that fails."""
    reasons: tuple[tuple[str | None, WhyNot], ...]
    """Each selector and restriction that does not agree; with its place where it is one of our sections."""

    @property
    def sent(self) -> bool:
        """Whether it would be sent all the same."""
        return self.here and not self.reasons

    @property
    def only_hidden(self) -> bool:
        """Whether nothing is against it but that the peer's rules do not see it: who names it gets it."""
        return self.here and self.held_by == (BY_EXPOSE,)

    def lines(self, **size: int) -> Iterator[str]:
        """Yield the answer for people; `depth`, `breadth` and `width` are those of `show_why_not`."""
        if self.sent:
            yield f"{self.record} may be sent to this peer"
        if not self.here:
            yield "The record is not here."
        yield from self.obstacles(**size)
        if self.only_hidden:
            yield NAMED

    def obstacles(self, **size: int) -> Iterator[str]:
        """Yield what the policies have against it, line by line."""
        size = {"width": WIDTH, **size}
        if BY_EXPOSE in self.held_by:
            yield f"{self.words}." if self.words else "The record is not exposed to this peer."
        for where, answer in (*self.hidden_by, *self.reasons):
            if where is not None:
                yield f"{where}:"
            yield from show_why_not(answer, **size).split("\n")

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a program reads it."""
        return {
            "record": self.record,
            "here": self.here,
            "sent": self.sent,
            "exposed": self.exposed,
            "held_by": list(self.held_by),
            "only_hidden": self.only_hidden,
            "words": self.words,
            "expose": [{"where": where, **answer.to_json()} for where, answer in self.hidden_by],
            "reasons": [answer.to_json() for _, answer in self.reasons],
        }


def why_send(rehearsal: Rehearsal, record: RecordId, *, here: bool) -> WhySend:
    """Say why a record would be sent in an exchange that is rehearsed."""
    proof = rehearsal.why_send(record) if here else None
    shown = rehearsal.why_exposed(record) if proof is not None else []
    return WhySend(record, here, proof, tuple((rehearsal.ours.place(each), why) for each, why in shown))


def why_not_send(rehearsal: Rehearsal, record: RecordId, *, here: bool) -> WhyNotSend:
    """Say what would hold a record back in an exchange that is rehearsed."""
    return explain_held(rehearsal, rehearsal.why_not_send(record), here=here)


def explain_held(rehearsal: Rehearsal, held: Held, *, here: bool) -> WhyNotSend:
    """Say of each part of the policies that holds a record back where it stands."""
    place = rehearsal.ours.place
    parts = tuple(rehearsal.held_by(held))
    hidden = rehearsal.why_not_exposed(held.record) if BY_EXPOSE in parts else []
    sections = [(rehearsal.section_of(answer.fact[0]), answer) for answer in held.reasons]
    return WhyNotSend(
        RecordId(held.record),
        here,
        held.seen,
        parts,
        rehearsal.words,
        tuple((place(section), answer) for section, answer in hidden),
        tuple((None if section is None else place(section), answer) for section, answer in sections),
    )
