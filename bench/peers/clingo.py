"""clingo: grounding computes the whole model of a stratified program, so nothing is left to solve.

Facts go in as text: making the text and parsing it takes half as long as the back end's calls from Python,
which is measured beside it. They stay in one control; a program is a new part of it. A part can be grounded
once only, so each evaluation gets derived predicates of its own, and what it derived stays: the fiftieth
takes twice as long as the tenth. After some evaluations the control is made anew, outside the measured time;
what programs in a row take with that is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import clingo

from bench.peers import Evaluated, Peer
from bench.workloads import Facts, Row, Workload

# clingo compares texts by their bytes, so a prefix is a range: "0" comes right after "/".
SELECTION = (
    'selected$(P) :- have(P), field(P,"Group",_,"u"), field(P,"App",_,"ding"), field(P,"Name",_,K), '
    'K >= "links/", K < "links0". '
)
CLOSURE = "path$(X,Y) :- edge(X,Y). path$(X,Z) :- path$(X,Y), edge(Y,Z)."
SPREAD = 'member$(Q) :- member$(P), recordLink(P,"evidence",_,_,Q), have(Q). '
PROGRAMS = {
    "w1": SELECTION,
    "w2": "member$(P) :- root(P), have(P). " + SPREAD,
    "w3_dense": CLOSURE,
    "w3_chain": CLOSURE,
    "w4": "blocked$(P) :- author(P,A), blockedAuthor(A). visible$(P) :- have(P), not blocked$(P).",
    "w5": (
        "before$(P,Q) :- candidate(P,T), candidate(Q,T), Q > P. "
        "before$(P,Q) :- candidate(P,TP), candidate(Q,TQ), TQ > TP. "
        "newest$(P) :- candidate(P,_), #count{ Q : before$(P,Q) } < 100."
    ),
    "w6": SELECTION
    + "member$(P) :- selected$(P). "
    + SPREAD
    + 'blocked$(P) :- field(P,"Author",_,A), blockedAuthor(A). out$(P) :- member$(P), not blocked$(P).',
}


EVERY = 10
"""In a row of programs so many share a control: with fewer or more of them a program takes longer."""


class Clingo(Peer):
    """Facts in one control, each evaluation a part of its own."""

    package = "clingo"
    threads = "grounds in one thread"
    about = "parse and ground the program; the atoms are not counted or handed out"
    prepares = False

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self._program = PROGRAMS[workload.name]
        self._control = new_control()
        self._parts = 0

    def load(self, facts: Facts) -> None:
        self._control = new_control()
        self._control.add("base", [], facts_text(facts))
        self._control.ground([("base", [])])

    def evaluate(self, *, read: bool = False) -> Evaluated:
        self._parts += 1
        part = f"part{self._parts}"
        self._control.add(part, [], self._program.replace("$", str(self._parts)))
        self._control.ground([(part, [])])
        return Evaluated(None, list(self._answers()) if read else None)

    def _answers(self) -> Iterator[Row]:
        name = f"{predicate(self.workload.wanted)}{self._parts}"
        start = len(f'{name}("')
        for atom in self._control.symbolic_atoms.by_signature(name, self.workload.arity):
            # As one text, which takes a third of the calls for its arguments; ids need no escapes.
            yield tuple(str(atom.symbol)[start:-2].split('","'))

    def others(self, facts: Facts) -> Mapping[str, Callable[[], int]]:
        if self.workload.name == "w1":
            return {"load through the back end": lambda: load_by_calls(facts)}
        if self.workload.name == "w6":
            return {
                "a new control, facts and all": lambda: self._anew(facts),
                f"programs in a row, a new control for every {EVERY}": lambda: self._in_a_row(facts),
            }
        return {}

    def _anew(self, facts: Facts) -> int:
        control = new_control()
        control.add("base", [], facts_text(facts) + self._program.replace("$", ""))
        control.ground([("base", [])])
        return self._count(control, predicate(self.workload.wanted))

    def _in_a_row(self, facts: Facts) -> int:
        if self._parts % EVERY == 0:
            self.load(facts)
        self.evaluate()
        return self._count(self._control, f"{predicate(self.workload.wanted)}{self._parts}")

    def _count(self, control: clingo.Control, name: str) -> int:
        return sum(1 for _ in control.symbolic_atoms.by_signature(name, self.workload.arity))


def load_by_calls(facts: Facts) -> int:
    """Load as the documentation of the Python package does; return how many facts."""
    control = new_control()
    with control.backend() as backend:
        for name, rows in facts.items():
            for row in rows:
                atom = clingo.Function(predicate(name), [clingo.String(value) for value in row])
                backend.add_rule([backend.add_atom(atom)])
    return sum(map(len, facts.values()))


def new_control() -> clingo.Control:
    """Return a control without facts."""
    return clingo.Control(["--warn=none"])


def predicate(name: str) -> str:
    """Write a predicate as clingo wants it, with a small first letter."""
    return name[0].lower() + name[1:]


def facts_text(facts: Facts) -> str:
    """Write facts as clingo reads them.

    >>> facts_text({"Edge": [("a", 'b"')]})
    'edge("a","b\\\\"").'
    """
    parts = []
    for name, rows in facts.items():
        head = predicate(name)
        text = f'").{head}("'.join(map('","'.join, rows))
        if any(odd in text for odd in "\\\n") or text.count('"') != 2 * sum(map(len, rows)) - 2:
            rows = [tuple(map(escaped, row)) for row in rows]
            text = f'").{head}("'.join(map('","'.join, rows))
        parts.append(f'{head}("{text}").')
    return "".join(parts)


def escaped(value: str) -> str:
    """Escape what ends or breaks a text."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


PEER = Clingo
