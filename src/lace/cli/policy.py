"""lace policy check, test, diff, new"""

from __future__ import annotations

from lace.cli import policy_check, policy_diff, policy_new, policy_test
from lace.cli.command import verb_of_verbs

COMMAND = verb_of_verbs(
    "policy",
    "write, check, test and compare policies",
    "A policy file says in one place what is selected, what peers' rules may see and to whom, and what is "
    "held back.",
    (
        "lace policy new group mine.policy --set town=u",
        "lace policy check mine.policy",
        "lace policy test mine.policy",
    ),
    tuple(each.COMMAND for each in (policy_new, policy_check, policy_test, policy_diff)),
)
