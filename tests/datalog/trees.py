"""Hypothesis strategies for rules as values: every shape that the grammar can say, safe or not."""

from __future__ import annotations

from unicodedata import normalize

from hypothesis import strategies as st

from lace.datalog import (
    Anonymous,
    Atom,
    BodyAtom,
    Cardinality,
    Const,
    IntCompare,
    LexCompare,
    Negated,
    Rule,
    Term,
    TextShape,
    Truth,
    Unequal,
    Var,
)

# Constants are NFC without LF and CR; what normalising brings in is filtered again.
TEXTS = (
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12)
    .map(lambda text: normalize("NFC", text))
    .filter(lambda text: "\n" not in text and "\r" not in text)
)
TRICKY = st.sampled_from(
    ["", "'", "\\", "\\'", "_", "X", ":- true.", "# no comment", "!=", "\t", "\x00", "\u2028"]
)
NAMES = st.from_regex(r"_?[A-Za-z][A-Za-z0-9_~-]{0,6}", fullmatch=True).filter(
    lambda name: name not in {"not", "true", "Prefix", "IntCompare", "LexCompare", "TextShape", "Cardinality"}
)
OPS = st.sampled_from(["<", "<=", ">", ">="])
NUMBERS = st.integers(-(10**40), 10**40).map(str)

constants = st.builds(Const, TEXTS | TRICKY)
variables = st.builds(Var, st.from_regex(r"[A-Z][A-Za-z0-9_]{0,3}", fullmatch=True))
terms: st.SearchStrategy[Term] = variables | constants | st.builds(Anonymous)
atoms = st.builds(Atom, NAMES, st.lists(terms, max_size=8).map(tuple))
body_atoms: st.SearchStrategy[BodyAtom] = st.one_of(
    atoms,
    st.builds(Negated, atoms),
    st.builds(Cardinality, atoms, OPS, NUMBERS),
    st.builds(Unequal, terms, terms),
    st.builds(IntCompare, terms, OPS, terms),
    st.builds(LexCompare, terms, OPS, terms),
    st.builds(TextShape, terms, terms, TEXTS | TRICKY, terms),
    st.builds(Truth),
)
rules = st.builds(Rule, atoms, st.lists(body_atoms, min_size=1, max_size=5).map(tuple))

# Tokens in any order: nearly programs.
PIECES = st.sampled_from(
    [
        *("A", "X", "1", "_", "_x", "B(X)", "not ", "true", "'a'", "TextShape", "Cardinality("),
        *("(", ")", ",", ".", " :- ", "!=", "=", "<", "'", '"', "\\", "#", "~", "-", " ", "\t", "\n", "\r"),
        *(
            "é",
            "e\u0301",
            "\ud800",
            "\u2028",
            "IntCompare(X,'<','1')",
            "Prefix(X,'a')",
            "SelectHave(P) :- Have(P).",
        ),
    ]
)
nearly = st.lists(PIECES | st.text(max_size=3), max_size=40).map("".join)
