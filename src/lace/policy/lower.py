"""Lowering: a plan and local restrictions become one program for `MaySend` and `MayRequest` (040; PROFILE 8).

    operand 0 ──scope──▶ o0_… ─┐
                               ├─ Merged… ─▶ MaySend(P)     ◀─ s0_AllowSend(P), …       local restrictions
    operand 1 ──scope──▶ o1_… ─┘             MayRequest(P)  ◀─ r0_AllowRequest(P,S), …
       ▲
       └─ of the peer's operand every scan of a record relation is read through the query view

There are two forms of it, and they give the same facts. `whole` is a relational program for any engine that
can read through a view. `flat` is plain 030 text in which the view is written out as 020 does, for engines
that cannot, for the oracle, and for proofs that a person reads.

Rules of this file:
1. Components of the peer's scope are restricted before they are put beside ours: ours read everything.
2. A restriction is one more conjunct. It can take facts away and never add one.
3. `peer` and `ours` are `whole` in two pieces: the peer's operand alone, so that it can be run first and
   under limits of its own, and the rest, to which its selections are handed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from lace.algebra import RelationProgram, restrict
from lace.datalog import (
    SELECT_ADVERTISED,
    SELECT_HAVE,
    Atom,
    Const,
    Program,
    Rule,
    Var,
    compile_program,
    make_program,
)
from lace.facts import CAN_QUERY_RECORD, GATED, Predicate
from lace.policy.merge import MERGED_SELECT_ADVERTISED, MERGED_SELECT_HAVE, VARIABLES, merge_rules
from lace.policy.module import SCOPES
from lace.policy.plan import ExchangePlan
from lace.policy.restriction import ALLOWS, Gate, Restriction, of_gate
from lace.policy.scope import Generated, scope_rules, scoped

MAY_SEND: Final = Predicate("MaySend", 1)
MAY_REQUEST: Final = Predicate("MayRequest", 1)

_SCOPE_LETTER: Final[dict[Gate, str]] = {"send": "s", "request": "r"}
_GENERATED_BY: Final = "040-lowering"
KEPT_BYTES: Final = 256 << 10
"""Text of programs that are kept: compiled, they take some hundred times as much."""


@dataclass(frozen=True)
class Lowered:
    """The program of one side for one plan. It holds no facts, no view and no viewer."""

    plan: ExchangePlan
    side: int
    """Which operand is ours."""
    restrictions: tuple[Restriction, ...] = ()
    trusted: bool = False
    """Whether local policy lets the peer's rules read everything."""

    @property
    def peer_index(self) -> int:
        """Which operand is the peer's."""
        return 1 - self.side

    @property
    def gate(self) -> Predicate:
        """The relation of records that the peer's rules may see; no text can spell its name."""
        return Predicate(f"O{self.peer_index}.{CAN_QUERY_RECORD.name}", 1)

    @property
    def text_bytes(self) -> int:
        """How much text it is made of: both operands and the restrictions."""
        programs = [operand.module.program for operand in self.plan.operands]
        programs += [each.program for each in self.restrictions]
        return sum([len(program.raw) for program in programs])

    def exported(self, index: int) -> tuple[Predicate, Predicate]:
        """Return what an operand selects, by its scoped names."""
        return scoped(SCOPES[index], SELECT_HAVE), scoped(SCOPES[index], SELECT_ADVERTISED)

    @cached_property
    def generated(self) -> tuple[Generated, ...]:
        """The rules of all scopes, the merge and the lowering; the view is not among them."""
        return (*self._scope(0), *self._scope(1), *self._rest)

    @cached_property
    def _rest(self) -> tuple[Generated, ...]:
        return (*merge_rules(), *self._lowering("send"), *self._lowering("request"))

    def _scope(self, index: int, gated: Iterable[Predicate] = ()) -> tuple[Generated, ...]:
        operand = self.plan.operands[index]
        return scope_rules(
            operand.module.program,
            SCOPES[index],
            subject=f"O{index}",
            origin=operand.origin.label,
            gated=tuple(gated),
        )

    def _lowering(self, gate: Gate) -> tuple[Generated, ...]:
        """Return the rule for one of the two predicates, and the restrictions that it names."""
        head, merged = {
            "send": (MAY_SEND, MERGED_SELECT_HAVE),
            "request": (MAY_REQUEST, MERGED_SELECT_ADVERTISED),
        }[gate]
        terms, allows = VARIABLES[merged.arity], ALLOWS[gate]
        narrowed: list[Generated] = []
        body = [Atom(merged.name, terms)]
        for number, each in enumerate(of_gate(self.restrictions, gate)):
            prefix = f"{_SCOPE_LETTER[gate]}{number}_"
            narrowed += scope_rules(
                each.program,
                prefix,
                step="040-local-restriction",
                subject=str(allows),
                origin=self.plan.operands[self.side].origin.label,
            )
            body.append(Atom(prefix + allows.name, terms))
        rule = Rule(Atom(head.name, VARIABLES[1]), tuple(body))
        return (Generated(rule, _GENERATED_BY, str(head)), *narrowed)

    # For engines

    @cached_property
    def peer(self) -> RelationProgram:
        """The peer's operand alone."""
        program = make_program(each.rule for each in self._scope(self.peer_index))
        return _unexplained(self._gated(compile_program(program, self.exported(self.peer_index))))

    def copied(self, predicate: Predicate) -> Predicate:
        """Return the name of the copy that `seen` makes of a record relation."""
        return scoped(SCOPES[self.peer_index], predicate)

    @cached_property
    def seen(self) -> RelationProgram:
        """A copy of each record relation as the peer's rules see it."""
        rules = []
        for predicate in GATED:
            terms = tuple(Var(f"X{at}") for at in range(predicate.arity))
            rules.append(Rule(Atom(self.copied(predicate).name, terms), (Atom(predicate.name, terms),)))
        return self._gated(compile_program(make_program(rules), tuple(map(self.copied, GATED))))

    @cached_property
    def ours(self) -> RelationProgram:
        """Our operand, the restrictions, the merge and the lowering; what the peer's selects is supplied."""
        program = make_program(each.rule for each in (*self._scope(self.side), *self._rest))
        return _unexplained(compile_program(program, (MAY_SEND, MAY_REQUEST, *self.exported(self.side))))

    @cached_property
    def whole(self) -> RelationProgram:
        """Everything as one relational program."""
        program = make_program(each.rule for each in self.generated)
        wanted = (MAY_SEND, MAY_REQUEST, *self.exported(0), *self.exported(1))
        return self._gated(compile_program(program, wanted))

    def _gated(self, program: RelationProgram) -> RelationProgram:
        """Let the peer's components, and no others, read record facts through the view."""
        if self.trusted:
            return program
        prefix = SCOPES[self.peer_index]
        theirs = [component.predicates[0].name.startswith(prefix) for component in program.components]
        chosen = tuple(each for each, is_theirs in zip(program.components, theirs, strict=True) if is_theirs)
        alone = replace(program, components=chosen, unranked=None)
        seen = iter(restrict(alone, self.gate, GATED).components)
        return replace(
            program,
            components=tuple(
                next(seen) if is_theirs else each
                for each, is_theirs in zip(program.components, theirs, strict=True)
            ),
            unranked=None if program.unranked is None else self._gated(program.unranked),
        )

    # For people, and for engines without views

    def flat_rules(self, viewer: str) -> tuple[Generated, ...]:
        """Return plain 030 rules in which the view of this viewer is written out."""
        if self.trusted:
            return self.generated
        rules = [self._scope(self.side), self._scope(self.peer_index, GATED)]
        return (*rules[self.side], *rules[self.peer_index], *self._gates(viewer), *self._rest)

    def flat(self, viewer: str) -> Program:
        """Return the flat rules as a program; it reads `CanQueryRecord` facts of this viewer."""
        return make_program(each.rule for each in self.flat_rules(viewer))

    def _gates(self, viewer: str) -> Iterable[Generated]:
        """Yield 020's transformation: Have(P) => Have(P) and CanQueryRecord(Viewer,P), and so on."""
        prefix = SCOPES[self.peer_index]
        for predicate in GATED:
            terms = (Var("P"), *(Var(f"X{at}") for at in range(1, predicate.arity)))
            gate = Atom(CAN_QUERY_RECORD.name, (Const(viewer), Var("P")))
            rule = Rule(Atom(prefix + predicate.name, terms), (Atom(predicate.name, terms), gate))
            yield Generated(rule, "020-query-view", str(predicate))


def _unexplained(program: RelationProgram) -> RelationProgram:
    """Return a program without the rules it was made of: proofs come from `flat`, and rules take room."""
    unranked = program.unranked
    return replace(program, source=None, unranked=None if unranked is None else _unexplained(unranked))


class Precompiled:
    """Lowered programs that are kept: trusted local code generation, made here from plans alone.

    040: "A runtime or build system MAY precompile a local executable policy as an internal optimization after
    it has constructed or loaded the agreed faceted exchange plan." There is no way to put a program in.

    A peer chooses half of a plan, so both the programs and their text are bounded. What was kept longest goes
    first, and what would not fit is not kept at all.
    """

    def __init__(self, most: int = 64, most_bytes: int = KEPT_BYTES) -> None:
        """Keep so many programs, of so many bytes of text in all."""
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: dict[tuple[object, ...], Lowered] = {}

    def lower(
        self, plan: ExchangePlan, side: int, restrictions: tuple[Restriction, ...] = (), trusted: bool = False
    ) -> Lowered:
        """Return the lowered plan, made once for a plan, a side, its restrictions and its kind of view."""
        narrowed = tuple((each.gate, each.program.id) for each in restrictions)
        key = (plan.id, side, narrowed, trusted)
        if key in self._kept:
            return self._kept[key]
        lowered = Lowered(plan, side, restrictions, trusted)
        if lowered.text_bytes <= self._most_bytes:
            self._kept[key] = lowered
            self._bytes += lowered.text_bytes
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._kept.pop(next(iter(self._kept))).text_bytes
        return lowered
