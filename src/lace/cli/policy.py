"""lace policy check, test, diff, new"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli import policy_check, policy_diff, policy_new, policy_test
from lace.cli.command import Call, Command


def _no_arguments(parser: ArgumentParser) -> None:
    return None


def _only_verbs(call: Call) -> int:
    raise AssertionError("a verb with verbs below it is not run itself")


COMMAND = Command(
    "policy",
    "write, check, test and compare policies",
    "A policy file says in one place what is selected, what peers' rules may see and to whom, and what is "
    "held back.",
    (
        "lace policy new group mine.policy --set town=u",
        "lace policy check mine.policy",
        "lace policy test mine.policy",
    ),
    _no_arguments,
    _only_verbs,
    tuple(each.COMMAND for each in (policy_new, policy_check, policy_test, policy_diff)),
)
