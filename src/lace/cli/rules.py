"""lace rules check, fmt, id, plan, profile"""

from __future__ import annotations

from lace.cli import rules_check, rules_fmt, rules_id, rules_plan, rules_profile
from lace.cli.command import verb_of_verbs

COMMAND = verb_of_verbs(
    "rules",
    "check, format, name and measure rules",
    "Rules are lacegrams, one rule a line, or annotated source with # comments and #:json lines.",
    (
        "echo \"Selected(P) :- Have(P), Field(P,'Group',_,'u').\" > mine.lacegram",
        "lace rules check mine.lacegram",
    ),
    tuple(each.COMMAND for each in (rules_check, rules_fmt, rules_id, rules_plan, rules_profile)),
)
