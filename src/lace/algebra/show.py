"""A relational program as text: every node prints, and a program prints as its components."""

from __future__ import annotations

from lace.algebra.nodes import Component, RelationProgram
from lace.algebra.rewrite import delta, whole
from lace.algebra.rewrite import deltas as deltas_of


def show_program(program: RelationProgram, *, deltas: bool = False) -> str:
    """Write a program for people; with `deltas`, also what runs when something is added."""
    blocks = [show_component(component, deltas=deltas) for component in program.components]
    wanted = ", ".join(str(predicate) for predicate in program.wanted) or "nothing"
    return "\n\n".join([*blocks, f"wanted: {wanted}"])


def show_component(component: Component, *, deltas: bool = False) -> str:
    """Write one component."""
    names = ", ".join(str(predicate) for predicate in component.predicates)
    kind = "fixpoint of" if component.recursive else "union for"
    lines = [f"{kind} {names}"]
    if component.closure is not None:
        lines.append(f"  as the transitive closure of {component.closure}")
    for rule in component.rules:
        lines.append(f"  rule {rule.rule}:")
        lines += [f"    {line}" for line in str(whole(rule)).split("\n")]
        for at, _ in enumerate(deltas_of(rule)) if deltas else ():
            lines.append("    when new:")
            lines += [f"      {line}" for line in str(delta(rule, at)).split("\n")]
    return "\n".join(lines)
