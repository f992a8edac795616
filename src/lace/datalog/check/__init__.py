"""What makes a program valid, one check a file, and what makes a valid one look like a mistake.

A check takes a Draft and yields diagnostics. CHECKS find errors, WARNINGS the rest; the order is the order
in which people meet them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.check.limits import check_limits
from lace.datalog.check.never import warn_never
from lace.datalog.check.repeats import warn_repeats, warn_singletons
from lace.datalog.check.reserved import check_required, check_reserved
from lace.datalog.check.safety import check_safety
from lace.datalog.check.shadowing import check_shadowing
from lace.datalog.check.standardfields import warn_field_names, warn_own_facts
from lace.datalog.check.strata import check_strata
from lace.datalog.check.unknown import warn_unknown
from lace.datalog.check.unused import warn_unfounded, warn_unused
from lace.datalog.diagnostics import Diagnostic

Check = Callable[[Draft], Iterator[Diagnostic]]

# What any program must satisfy, also one that policy generated.
MEANING: tuple[Check, ...] = (check_safety, check_strata)

CHECKS: tuple[Check, ...] = (
    check_limits,
    check_safety,
    check_shadowing,
    check_reserved,
    check_required,
    check_strata,
)

WARNINGS: tuple[Check, ...] = (
    warn_unknown,
    warn_unused,
    warn_unfounded,
    warn_never,
    warn_own_facts,
    warn_field_names,
    warn_repeats,
    warn_singletons,
)

__all__ = ["CHECKS", "MEANING", "WARNINGS", "Check", "Draft"]
