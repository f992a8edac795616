"""The tokens of one line as a rule (030, Syntax; PROFILE section 7).

Rules of this file:
1. Inside a line the reader goes on where it can tell what was meant, and gives up where it cannot.
2. What it puts in place of a mistake binds its variables, so that one mistake is reported once.
3. No recursion: a line of a million tokens is as deep as one of ten.
"""

from __future__ import annotations

import re
from typing import NoReturn

from lace.algebra import OPERATORS, is_decimal
from lace.datalog.diagnostics import Report, shown
from lace.datalog.rules import (
    Anonymous,
    Atom,
    BodyAtom,
    Cardinality,
    Const,
    IntCompare,
    LexCompare,
    Negated,
    Rule,
    Span,
    Term,
    TextShape,
    Truth,
    Unequal,
    Var,
)
from lace.datalog.tokens import Token, make_span
from lace.facts import parse_constant

FORMS = {
    "IntCompare": (3, "IntCompare(A,'<',B)"),
    "LexCompare": (3, "LexCompare(A,'<',B)"),
    "TextShape": (4, "TextShape(Text,Start,'delims',End)"),
    "Cardinality": (3, "Cardinality(P(X,_),'<','100')"),
}

# PROFILE 7: these "are no ordinary predicates, at any arity".
NO_PREDICATES = frozenset(FORMS) | {"not", "true", "Prefix"}

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class GiveUp(Exception):
    """The rest of the line cannot be read; the reason has been reported."""


class RuleReader:
    """Reads the tokens of one line from left to right."""

    __slots__ = ("_at", "_line", "_report", "_tokens", "mistaken")

    def __init__(self, line: int, tokens: list[Token], report: Report) -> None:
        self._line = line
        self._tokens = tokens
        self._at = 0
        self._report = report
        self.mistaken = False

    def rule(self) -> Rule:
        """Read the whole line, or raise GiveUp."""
        head = self._head()
        token = self._next()
        if token.kind in (".", "end"):
            self._give_up("L-204", token, head=shown(str(head)))
        if token.kind != ":-":
            self._unexpected(token, "':-' after the head")
        body, token = self._body()
        if token.kind == "end":
            self._give_up("L-202", token)
        if token.kind != ".":
            self._unexpected(token, "',' or '.' after the atom")
        after = self._next()
        if after.kind != "end":
            self._give_up("L-203", after, found=_found(after))
        return Rule(head, body, self._tokens[0].span(self._line, token))

    def question(self) -> tuple[BodyAtom, ...]:
        """Read the whole line as a body, with or without a period after it, or raise GiveUp."""
        body, token = self._body()
        if token.kind == ".":
            token = self._next()
        if token.kind != "end":
            self._unexpected(token, "',' or the end after the atom")
        return body

    def _body(self) -> tuple[tuple[BodyAtom, ...], Token]:
        """Read the atoms of a body and the token after them."""
        body = [self._body_atom()]
        while (token := self._next()).kind == ",":
            body.append(self._body_atom())
        return tuple(body), token

    def _head(self) -> Atom:
        name = self._next()
        if name.kind != "word":
            self._unexpected(name, "a rule head")
        if name.text in NO_PREDICATES:
            self._mistake("L-210", name, found=name.text)
        return self._atom(name)

    def _body_atom(self) -> BodyAtom:
        first, second = self._tokens[self._at], self._peek()
        if first.kind == "word" and second.kind != "!=":
            if first.text == "not":
                return self._negated(self._next())
            if first.text == "true" and second.kind != "(":
                return Truth(self._next().span(self._line))
            if first.text in FORMS and second.kind == "(":
                return self._builtin(self._next())
            if second.kind == "(" or second.kind in (",", ".", "end"):
                return self._ordinary(self._next())
        return self._relation()

    def _ordinary(self, name: Token) -> Atom:
        """Read an atom whose predicate must not be a built-in."""
        if name.text in NO_PREDICATES and name.text != "Prefix":
            self._mistake("L-210", name, found=name.text)
            if self._tokens[self._at].kind != "(":
                raise GiveUp
        atom = self._atom(name)
        if name.text == "Prefix":
            text, start = (
                [shown(str(term)) for term in atom.terms[:2]] if len(atom.terms) > 1 else ("K", "'…'")
            )
            self._mistake("L-209", name, text=text, start=start)
        return atom

    def _negated(self, word: Token) -> BodyAtom:
        name = self._next()
        if name.kind != "word" or self._tokens[self._at].kind == "!=":
            # `not X != Y`, `not (X)`, `not 'a' != X`: only predicate atoms can be negated.
            self._unexpected(name, "a predicate atom after 'not'")
        if name.text in FORMS and self._tokens[self._at].kind == "(":
            self._mistake("L-210", name, found=name.text)
            return self._builtin(name)
        if name.text == "true" and self._tokens[self._at].kind != "(":
            self._mistake("L-210", name, found=name.text)
            return Truth(word.span(self._line))
        atom = self._ordinary(name)
        return Negated(atom, word.span(self._line, self._last()))

    def _relation(self) -> BodyAtom:
        """Read `X != Y`, or explain what stands there in its place."""
        first = self._tokens[self._at]
        left = self._term("an atom")
        token = self._next()
        if token.kind == "foreign" and token.text[0] in "=<>":
            # 030: "MUST reject source text that contains = as a body atom".
            code = "L-208" if token.text[0] == "=" and ">" not in token.text else "L-218"
            self._mistake(code, token, found=shown(token.text))
            right = self._term("a term")
            return Atom(token.text, (left, right), first.span(self._line, self._last()))
        if token.kind != "!=":
            self._unexpected(token, "'!=' after the term")
        right = self._term("a term")
        return Unequal(left, right, first.span(self._line, self._last()))

    def _builtin(self, name: Token) -> BodyAtom:
        if name.text == "Cardinality":
            return self._cardinality(name)
        self._next()
        terms = self._terms()
        span = name.span(self._line, self._last())
        wanted, form = FORMS[name.text]
        if len(terms) != wanted:
            self._mistake("L-211", span, name=name.text, wanted=wanted, found=len(terms), form=form)
            return Atom(name.text, terms, span)
        if name.text == "TextShape":
            text, start, delims, end = terms
            if not isinstance(delims, Const):
                self._mistake("L-213", delims.span)
                return Atom(name.text, terms, span)
            return TextShape(text, start, delims.value, end, span)
        left, op, right = terms
        compare = IntCompare if name.text == "IntCompare" else LexCompare
        return compare(left, self._operator(op), right, span)

    def _cardinality(self, name: Token) -> BodyAtom:
        self._next()
        counted = self._next()
        if counted.kind != "word" or self._tokens[self._at].kind != "(":
            self._give_up("L-215", counted, found=_found(counted))
        atom = self._ordinary(counted)
        token = self._next()
        terms = self._terms() if token.kind == "," else ()
        if token.kind not in (",", ")"):
            self._unexpected(token, "',' after the counted atom")
        span = name.span(self._line, self._last())
        if len(terms) != 2:
            wanted, form = FORMS["Cardinality"]
            self._mistake("L-211", span, name=name.text, wanted=wanted, found=1 + len(terms), form=form)
            return atom
        op, count = self._operator(terms[0]), terms[1]
        if not (isinstance(count, Const) and is_decimal(count.value)):
            self._mistake("L-214", count.span, found=shown(str(count)))
            return Cardinality(atom, op, "0", span)
        return Cardinality(atom, op, count.value, span)

    def _operator(self, term: Term) -> str:
        if isinstance(term, Const) and term.value in OPERATORS:
            return term.value
        self._mistake("L-212", term.span, found=shown(str(term)))
        return "<"

    def _atom(self, name: Token) -> Atom:
        """Read the terms of an atom whose name has been read."""
        if not _is_predicate_name(name.text):
            self._give_up("L-216", name, found=shown(name.text))
        if self._tokens[self._at].kind != "(":
            self._give_up("L-207", name, found=shown(name.text))
        self._next()
        terms = self._terms()
        return Atom(name.text, terms, name.span(self._line, self._last()))

    def _terms(self) -> tuple[Term, ...]:
        """Read terms up to and with the closing parenthesis."""
        tokens, line = self._tokens, self._line
        if tokens[self._at].kind == ")":
            self._at += 1
            return ()
        terms: list[Term] = []
        while True:
            kind, text, start, offset = tokens[self._at]
            # Nearly every term is one of these three; the others are read with more thought.
            if kind == "constant" and "\\" not in text:
                self._at += 1
                terms.append(Const(text[1:-1], make_span((line, start, start + len(text), offset))))
            elif kind == "word" and (
                text == "_"
                or ("A" <= text[0] <= "Z" and text.isidentifier() and tokens[self._at + 1].kind != "(")
            ):
                self._at += 1
                span = make_span((line, start, start + len(text), offset))
                terms.append(Anonymous(span) if text == "_" else Var(text, span))
            else:
                terms.append(self._term("a term"))
            token = tokens[self._at]
            if token.kind == ",":
                self._at += 1
            elif token.kind == ")":
                self._at += 1
                return tuple(terms)
            else:
                self._unexpected(self._next(), "',' or ')' after the term")

    def _term(self, expected: str) -> Term:
        token = self._next()
        kind, text = token.kind, token.text
        span = token.span(self._line)
        if kind == "word":
            if text == "_":
                return Anonymous(span)
            if "A" <= text[0] <= "Z" and text.isidentifier():
                if self._tokens[self._at].kind == "(":
                    self._give_up("L-217", token, found=shown(text))
                return Var(text, span)
            if text[0] == "_":
                # 030: "Underscore-prefixed names such as _Name are not variables".
                self._mistake("L-206", span, found=shown(text))
                return Anonymous(span)
            self._mistake("L-205", span, found=shown(text))
            return Const(text, span) if text[0].isdigit() else Var(text, span)
        if kind == "constant":
            return Const(self._unescaped(token), span)
        if kind == "quoted":
            self._mistake("L-107", span, found=shown(text))
            return Const(text.strip('"'), span)
        if kind == "foreign" and text in OPERATORS:
            self._mistake("L-212", span, found=text)
            return Const(text, span)
        return self._unexpected(token, expected)

    def _unescaped(self, token: Token) -> str:
        inner = token.text[1:-1]
        if "\\" not in inner:
            return inner
        for escape in _ESCAPE.finditer(inner):
            if escape[1] not in "\\'":
                at = 1 + escape.start()
                start, offset = token.start + at, token.offset + len(token.text[:at].encode())
                self._mistake("L-106", Span(self._line, start, start + 2, offset), found=shown(escape[0]))
                break
        return parse_constant(token.text)

    def _next(self) -> Token:
        token = self._tokens[self._at]
        # The end is read again and again.
        if token.kind != "end":
            self._at += 1
        return token

    def _peek(self) -> Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def _last(self) -> Token:
        return self._tokens[self._at - 1]

    def _mistake(self, code: str, where: Span | Token, **fields: object) -> None:
        self.mistaken = True
        self._report.add(code, where.span(self._line) if isinstance(where, Token) else where, **fields)

    def _give_up(self, code: str, token: Token, **fields: object) -> NoReturn:
        self._mistake(code, token, **fields)
        raise GiveUp

    def _unexpected(self, token: Token, expected: str) -> NoReturn:
        """Say what stands there in words of its own, where it has some."""
        if token.kind == "open":
            self._give_up("L-105", token)
        if token.kind == "foreign" and token.text[0] == "#":
            self._give_up("L-108", token)
        if token.kind == "foreign" and token.text[0] == "=":
            self._give_up("L-208", token)
        if token.kind == "foreign":
            self._give_up("L-104", token, found=_named(token.text))
        self._give_up("L-201", token, expected=expected, found=_found(token))


def _is_predicate_name(word: str) -> bool:
    # 030: [A-Za-z][A-Za-z0-9_~-]* or, reserved, _[A-Za-z][A-Za-z0-9_~-]*; a word has no other characters.
    return word[0].isalpha() or (word[0] == "_" and word[1:2].isalpha())


def _found(token: Token) -> str:
    if token.kind == "foreign":
        return _named(token.text)
    return "the end of the line" if token.kind == "end" else shown(token.text)


def _named(text: str) -> str:
    """Show foreign characters; those that cannot be seen by their number."""
    return shown(text) if text.isprintable() else " ".join(f"U+{ord(c):04X}" for c in text[:4])
