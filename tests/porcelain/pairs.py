"""Exchanges between two laces in one process, each under a policy file, noted where it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lace.drive import Host, Observer, Party, interlace_in_process
from lace.interlace import InterlaceResult, Settings
from lace.porcelain import Lace, PolicyFile, parse_policy
from lace.signing import Secret
from tests.interlace.pair import Clock, dice
from tests.porcelain.policy_texts import SELECT_ALL

OPEN = f"[select]\n{SELECT_ALL}[expose to anyone]\nAllowQueryRecord(V,P) :- _Viewer(V), Have(P).\n"


@dataclass
class End:
    """One side: its lace, its policy, and who it proves to be."""

    lace: Lace = field(default_factory=Lace)
    policy: str | PolicyFile = OPEN
    secret: Secret | None = None
    address: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    observe: Observer | None = None

    def party(self, index: int) -> Party:
        """Make ready for an exchange."""
        policy = parse_policy(self.policy, "town.policy") if isinstance(self.policy, str) else self.policy
        active, module = policy.active(), policy.operand().module
        host = Host(self.lace.store, active.exposure, restrictions=active.restrictions)
        settings = Settings(index=index, module=module, dice=dice(index), secret=self.secret, **self.settings)
        notes = self.lace.note_exchange(policy, address=self.address)
        return Party(settings, host, self.observe or notes)


def exchange(left: End, right: End) -> tuple[InterlaceResult, InterlaceResult]:
    """Run a bounded exchange; both laces note it."""
    return interlace_in_process(left.party(0), right.party(1), Clock().now())
