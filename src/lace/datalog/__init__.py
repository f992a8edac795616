"""030: the rule language. Text to checked rules to canonical text, what a program means, and why. Pure."""

from lace.datalog.annotated import AnnotatedProgram, check_annotated, parse_annotated
from lace.datalog.canonical import name_rule, write_lacegram, write_rule
from lace.datalog.codes import CODES, Code, Severity
from lace.datalog.compile import compile_program
from lace.datalog.dependencies import Components, Dependency
from lace.datalog.diagnostics import Diagnostic, InvalidLacegram
from lace.datalog.explain import (
    CANDIDATES,
    EXPLAINING,
    Absent,
    Checked,
    Counted,
    Derived,
    Explainer,
    Given,
    NamedRule,
    NotEvaluated,
    Obstacle,
    OtherHead,
    Premise,
    Present,
    Proof,
    SeenThroughView,
    Stopped,
    Unmatched,
    WhyNot,
    WrongResult,
    check_proof,
    show_proof,
    show_why_not,
)
from lace.datalog.facets import (
    ADVERTISEMENT_PREDICATES,
    ALLOW_QUERY_RECORD,
    FACETS,
    RUNTIME_PREDICATES,
    SELECT_ADVERTISED,
    SELECT_HAVE,
    VIEWER,
    Facet,
)
from lace.datalog.limits import FIXED, LacegramLimits
from lace.datalog.meaning import evaluate
from lace.datalog.pipelines import compile_rule
from lace.datalog.program import Program, UnknownFacet, check_program, make_program, parse_program
from lace.datalog.question import Question, parse_question
from lace.datalog.received import is_canonical, parse_canonical
from lace.datalog.rules import (
    NOWHERE,
    TESTS,
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
    Test,
    TextShape,
    Truth,
    Unequal,
    Var,
)

__all__ = [
    "ADVERTISEMENT_PREDICATES", "ALLOW_QUERY_RECORD", "CANDIDATES", "CODES", "EXPLAINING", "FACETS",
    "FIXED", "NOWHERE", "RUNTIME_PREDICATES", "SELECT_ADVERTISED", "SELECT_HAVE", "TESTS", "VIEWER",
    "Absent", "AnnotatedProgram", "Anonymous", "Atom", "BodyAtom", "Cardinality", "Checked", "Code",
    "Components", "Const", "Counted", "Dependency", "Derived", "Diagnostic", "Explainer", "Facet",
    "Given", "IntCompare", "InvalidLacegram", "LacegramLimits", "LexCompare", "NamedRule", "Negated",
    "NotEvaluated", "Obstacle", "OtherHead", "Premise", "Present", "Program", "Proof", "Question", "Rule",
    "SeenThroughView", "Severity", "Span", "Stopped", "Term", "Test", "TextShape", "Truth", "Unequal",
    "UnknownFacet", "Unmatched", "Var", "WhyNot", "WrongResult",
    "check_annotated", "check_program", "check_proof", "compile_program", "compile_rule", "evaluate",
    "is_canonical", "make_program", "name_rule", "parse_annotated", "parse_canonical", "parse_program",
    "parse_question", "show_proof", "show_why_not", "write_lacegram", "write_rule",
]  # fmt: skip
