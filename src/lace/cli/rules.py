"""lace rules check, fmt, id, plan, profile"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli import rules_check, rules_fmt, rules_id, rules_plan, rules_profile
from lace.cli.command import Call, Command


def _no_arguments(parser: ArgumentParser) -> None:
    return None


def _only_verbs(call: Call) -> int:
    raise AssertionError("a verb with verbs below it is not run itself")


COMMAND = Command(
    "rules",
    "check, format, name and measure rules",
    "Rules are lacegrams, one rule a line, or annotated source with # comments and #:json lines.",
    (
        "echo \"Selected(P) :- Have(P), Field(P,'Group',_,'u').\" > mine.lacegram",
        "lace rules check mine.lacegram",
    ),
    _no_arguments,
    _only_verbs,
    tuple(each.COMMAND for each in (rules_check, rules_fmt, rules_id, rules_plan, rules_profile)),
)
