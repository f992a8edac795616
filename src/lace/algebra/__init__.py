"""Relational programs: the waist between the rule language and the engines. Pure."""

from lace.algebra.builtins import OPERATORS, int_compare, is_decimal, lex_compare, text_shape
from lace.algebra.engine import Engine, Evaluation, Result
from lace.algebra.limits import LIMITS, Budget, EvaluationLimits, EvaluationStopped, NoClock, rule_name
from lace.algebra.nodes import (
    AntiJoin,
    Column,
    Compare,
    Component,
    Constant,
    CountTest,
    Filter,
    Join,
    Level,
    NotEqual,
    Part,
    Pipeline,
    Place,
    RankTest,
    RelationProgram,
    RuleProgram,
    Scan,
    SemiJoin,
    Shape,
    Step,
    Term,
    Test,
    reads_strictly,
    scans,
    strict_scans,
)
from lace.algebra.rewrite import PASSES, delta, deltas, restrict, rewrite, whole
from lace.algebra.show import show_component, show_program

__all__ = [
    "LIMITS", "OPERATORS", "PASSES",
    "AntiJoin", "Budget", "Column", "Compare", "Component", "Constant", "CountTest", "Engine", "Evaluation",
    "EvaluationLimits", "EvaluationStopped", "Filter", "Join", "Level", "NoClock", "NotEqual", "Part",
    "Pipeline", "Place", "RankTest", "RelationProgram", "Result", "RuleProgram", "Scan", "SemiJoin", "Shape",
    "Step", "Term", "Test",
    "delta", "deltas", "int_compare", "is_decimal", "lex_compare", "reads_strictly", "restrict", "rewrite",
    "rule_name", "scans", "show_component", "show_program", "strict_scans", "text_shape",
    "whole",
]  # fmt: skip
