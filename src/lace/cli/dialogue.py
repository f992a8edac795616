"""What `lace repl` makes of a line: a rule is added, a question answered, a command done.

    Selected(P) :- Have(P).        a rule
    # why                          a comment, #:json an annotation; they belong to the next rule
    ?- Selected(P)    Selected(P)?   a question
    .why Selected('P.…')           a command

Rules of this file:
1. A line that fails changes nothing.
2. What a line does is returned, not written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lace.cli.eval_ import answer_line
from lace.cli.output import count
from lace.cli.rulebook import INPUT, RuleBook
from lace.cli.rulefiles import STDIN
from lace.cli.rules_plan import program_json
from lace.cli.rules_profile import profile_json, profile_lines
from lace.cli.why import WIDTH
from lace.datalog import Diagnostic, show_proof, show_why_not
from lace.errors import InputError
from lace.facts import Predicate, write_fact_line
from lace.porcelain import (
    RulesRefused,
    new_file,
    parse_predicate,
    read_facts,
    read_goal,
    read_question,
    read_rules,
    refuse_rules,
)

if TYPE_CHECKING:
    from lace.porcelain import Workbench

BUILT_IN = ("Cardinality", "IntCompare", "LexCompare", "TextShape", "not", "true")


class UnknownCommand(InputError):
    """A command that there is none of."""

    code = "repl/command"
    text = "{given} is no command; `.help` lists them"


class NeedsMore(InputError):
    """A command without what it needs."""

    code = "repl/needs"
    text = "write {form}"


class Reply(NamedTuple):
    """What to write: lines for people or a value for programs, and warnings beside them."""

    lines: list[str]
    value: Any
    warnings: Sequence[Diagnostic] = ()
    where: str = INPUT
    """What the warnings are about."""


class Verb(NamedTuple):
    """A command of the dialogue."""

    form: str
    about: str
    run: Callable[[Dialogue, str], Reply]


class Dialogue:
    """Rules that grow line by line over the facts of a workbench."""

    def __init__(self, bench: Workbench, limit: int) -> None:
        self._bench = bench
        self._limit = limit
        self._book = RuleBook()
        self._number = 0
        """Of the line that is being answered."""
        self.ended = False

    def answer(self, line: str) -> Reply | None:
        """Do what a line asks for."""
        self._number += 1
        line = line.rstrip("\r\n")
        bare = line.strip(" \t")
        if not bare:
            return None
        if bare.startswith("."):
            return self._command(bare)
        if bare.startswith("#"):
            self._book.comment(bare, self._number)
            return None
        if bare.startswith("?-") or bare.endswith("?"):
            return self._ask(line)
        return self._add_rule(line)

    def words(self) -> list[str]:
        """Return what may be meant by the beginning of a word."""
        known = {predicate.name for predicate in (*self._bench.program.predicates, *self._bench.supplied())}
        return sorted(known.union(BUILT_IN))

    # Rules

    def _add_rule(self, line: str) -> Reply:
        added = self._book.add(line, self._number)
        self._bench.use(self._book.program)
        value = {"rule": added.number, "line": added.line, "new": added.new}
        return Reply([f"rule {added.number}: {added.line}"], value, added.warnings)

    def load(self, path: str) -> Reply:
        """Add the rules of a file."""
        file = read_rules(path)
        loaded = self._book.load(file)
        self._bench.use(self._book.program)
        rules = len(self._book.program.rules)
        told = f"{count(loaded, 'rule')} of {file.name}; {rules:,} in all"
        warnings = file.check(supplied=self._bench.supplied())
        return Reply([told], {"loaded": loaded, "rules": rules}, warnings, file.name)

    def _save(self, rest: str, *, over: bool = False) -> Reply:
        raw = self._book.written()
        with new_file(Path(rest), replace=over) as file:
            file.write(raw)
        rules = len(self._book.program.rules)
        return Reply([f"wrote {count(rules, 'rule')} to {rest}"], {"saved": rules, "file": rest})

    def _save_over(self, rest: str) -> Reply:
        return self._save(rest, over=True)

    def _list(self, rest: str) -> Reply:
        program = self._book.program
        lines = [f"{number}  {line}" for number, line in enumerate(program.lines)]
        rules = [{"rule": number, "line": line} for number, line in enumerate(program.lines)]
        return Reply(lines or ["no rules"], {"id": program.id, "rules": rules})

    def _drop(self, rest: str) -> Reply:
        every = map(str, range(len(self._book.program.lines)))
        gone = self._book.drop(every if rest == "all" else rest.split())
        self._bench.use(self._book.program)
        return Reply([f"dropped {line}" for line in gone], {"dropped": gone})

    # Questions

    def _ask(self, line: str) -> Reply:
        bench = self._bench
        try:
            question = read_question(line, bench.program, bench.supplied())
        except RulesRefused as error:
            raise refuse_rules(INPUT, self._placed(error.diagnostics)) from None
        answers = bench.ask(question, limit=self._limit)
        shown, more = answers.rows, answers.more
        lines = [answer_line(answers, row) for row in shown]
        total = None if more is None else len(shown) + more
        if more != 0:
            lines.append("… and more" if more is None else f"… and {more:,} more")
        if total is None:
            lines.append(f"more than {count(len(shown), 'answer')}")
        elif answers.variables or not total:
            lines.append(count(total, "answer") if answers.variables else "no")
        value = {
            "question": str(question),
            "variables": list(answers.variables),
            "answers": [list(row) for row in shown],
            "count": total,
        }
        return Reply(lines, value, self._placed(question.warnings))

    def _placed(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Say where something is in the line that was typed."""
        return [self._book.placed(each, 1, self._number) for each in diagnostics]

    def _why(self, rest: str) -> Reply:
        fact = read_goal(rest)
        proof = self._bench.why(fact)
        value = {"fact": list(fact), "holds": proof is not None, "proof": proof and proof.to_json()}
        if proof is None:
            return Reply([f"{write_fact_line(fact)} does not hold; `.whynot` says what stops it"], value)
        return Reply(show_proof(proof, width=WIDTH).split("\n"), value)

    def _why_not(self, rest: str) -> Reply:
        answer = self._bench.why_not(read_goal(rest))
        return Reply(show_why_not(answer, width=WIDTH).split("\n"), answer.to_json())

    # Facts and costs

    def _facts(self, rest: str) -> Reply:
        if not rest:
            counts = self._bench.supplied()
            lines = [f"{predicate}  {number:,}" for predicate, number in counts.items()]
            value = {str(predicate): number for predicate, number in counts.items()}
            return Reply(lines or ["no facts"], {"facts": value})
        new = self._bench.give(read_facts(rest))
        return Reply([f"{count(new, 'new fact')} of {rest}"], {"new": new})

    def _give(self, rest: str) -> Reply:
        fact = read_goal(rest)
        new = self._bench.give([fact])
        return Reply([f"{'given' if new else 'given before'}: {write_fact_line(fact)}"], {"new": new})

    def _plan(self, rest: str) -> Reply:
        from lace.algebra import show_program

        compiled = self._bench.compile(_wanted(rest))
        value = program_json(self._bench.program, compiled, deltas=False)
        return Reply(show_program(compiled).split("\n"), value)

    def _profile(self, rest: str) -> Reply:
        evaluated = self._bench.evaluate(_wanted(rest))
        return Reply(profile_lines(evaluated), profile_json(evaluated))

    # Commands

    def _command(self, text: str) -> Reply:
        name, _, rest = text.partition(" ")
        verb = VERBS.get(name)
        if verb is None:
            raise UnknownCommand(given=name)
        rest = rest.strip(" \t")
        needs = verb.form.partition(" ")[2]
        # A dialogue comes in on stdin, so no file is called `-`: reading it would take the lines that follow.
        if (needs and not rest and not needs.startswith("[")) or (name in FILE_VERBS and rest == STDIN):
            raise NeedsMore(form=verb.form)
        return verb.run(self, rest)

    def _help(self, rest: str) -> Reply:
        forms = [(verb.form, verb.about) for verb in VERBS.values()]
        head = [("Head(X) :- Body(X).", "add a rule"), ("?- Atom(X), …   Atom(X)?", "ask")]
        widest = max(len(form) for form, _ in (*head, *forms))
        lines = [f"{form:<{widest}}  {about}" for form, about in (*head, *forms)]
        return Reply(lines, {"commands": dict(forms)})

    def _quit(self, rest: str) -> Reply:
        self.ended = True
        return Reply([], {"quit": True})


VERBS: dict[str, Verb] = {
    ".rules": Verb(".rules", "list the rules with their numbers", Dialogue._list),
    ".drop": Verb(".drop N …", "drop rules by number, or all", Dialogue._drop),
    ".load": Verb(".load FILE", "add the rules of a file", Dialogue.load),
    ".save": Verb(".save FILE", "write the rules to a new file", Dialogue._save),
    ".save!": Verb(
        ".save! FILE", "write the rules to a file, also over one that is there", Dialogue._save_over
    ),
    ".facts": Verb(".facts [FILE]", "count the given facts, or add those of a file", Dialogue._facts),
    ".add": Verb(".add FACT", "add a fact", Dialogue._give),
    ".why": Verb(".why FACT", "explain why a fact holds", Dialogue._why),
    ".whynot": Verb(".whynot FACT", "explain why a fact does not hold", Dialogue._why_not),
    ".plan": Verb(".plan [NAME/ARITY]", "show the relational program", Dialogue._plan),
    ".profile": Verb(".profile [NAME/ARITY]", "show what each rule cost", Dialogue._profile),
    ".help": Verb(".help", "show this list", Dialogue._help),
    ".quit": Verb(".quit", "end; so does Ctrl-D", Dialogue._quit),
}
FILE_VERBS = (".load", ".save", ".save!", ".facts")


def _wanted(rest: str) -> list[Predicate] | None:
    return [parse_predicate(each) for each in rest.split()] or None
