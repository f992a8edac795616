"""Ready policies, each with its cases: a start that people change to what they need.

Rules of this file:
1. A ready policy is a file like any other, in the folder `ready_made` beside this one. It checks, and
   its cases pass.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from lace.errors import Missing
from lace.porcelain.policies.cases import CASES_SUFFIX

POLICY_SUFFIX = ".policy"
_FOLDER = Path(__file__).parent / "ready_made"


class NoSuchPolicy(Missing):
    """A name that no ready policy has."""

    code = "policy/missing"
    text = "there is no ready policy {name!r}; these are there: {names}"


class ReadyPolicy(NamedTuple):
    """The text of a policy and of its cases."""

    name: str
    text: str
    cases: str

    @property
    def summary(self) -> str:
        """Its first sentence."""
        first = " ".join(line[2:] for line in self.text.split("\n\n")[0].split("\n"))
        return first.partition(". ")[0].rstrip(".:")


@cache
def ready_policies() -> tuple[ReadyPolicy, ...]:
    """Return all of them, sorted by name."""
    files = sorted(_FOLDER.glob(f"*{POLICY_SUFFIX}"))
    return tuple(
        ReadyPolicy(
            file.stem,
            file.read_text(encoding="utf-8"),
            file.with_suffix(CASES_SUFFIX).read_text(encoding="utf-8"),
        )
        for file in files
    )


def find_ready_policy(name: str) -> ReadyPolicy:
    """Return one by its name.

    >>> find_ready_policy("group").summary
    'Everything in a group, for everybody who asks'
    """
    for each in ready_policies():
        if each.name == name:
            return each
    raise NoSuchPolicy(name=name[:60], names=", ".join(each.name for each in ready_policies()))
