"""Why and why not: results of an engine, told in rules and facts (030, Evaluation).

030: "Evaluation makes derived facts explainable from explicit inputs: base facts, runtime facts, and rules."
"""

from lace.datalog.explain.explainer import CANDIDATES, EXPLAINING, Explainer
from lace.datalog.explain.proof import Absent, Checked, Counted, Derived, Given, NamedRule, Premise, Proof
from lace.datalog.explain.search import NotEvaluated, SeenThroughView, WrongResult
from lace.datalog.explain.show import show_proof, show_why_not
from lace.datalog.explain.verify import check_proof
from lace.datalog.explain.whynot import Obstacle, OtherHead, Present, Stopped, Unmatched, WhyNot

__all__ = [
    "CANDIDATES", "EXPLAINING",
    "Absent", "Checked", "Counted", "Derived", "Explainer", "Given", "NamedRule", "NotEvaluated",
    "Obstacle", "OtherHead", "Premise", "Present", "Proof", "SeenThroughView", "Stopped", "Unmatched",
    "WhyNot", "WrongResult",
    "check_proof", "show_proof", "show_why_not",
]  # fmt: skip
