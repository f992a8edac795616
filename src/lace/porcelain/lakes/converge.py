"""Two lakes, or a lake and a lace, brought to the fixed point of their policies.

    converge_lakes("mine", "yours", (read_policy("mine.policy"), read_policy("yours.policy")))

Rules of this file:
1. What a policy file says is turned into what `lace.pipeline` takes, as for any exchange.
2. Both sides are in one hand, so nobody signs: who a side is, is said and not proven over a wire.
3. What leaves a lake is noted before it leaves, beside its inbox, as in an exchange over a wire.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lace.interlace import Dice, ExchangeLimits, Link, Moment, Settings
from lace.policy import NothingToPresent
from lace.porcelain.arguments import WrongArgument
from lace.porcelain.clock import now_tai
from lace.porcelain.exchanges.history import note_exchange, open_history
from lace.porcelain.lace import Lace
from lace.porcelain.lakes.joined import lake_history_file
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.policies.operand import NOBODY
from lace.porcelain.policies.parse import GivenPolicy, given_policy
from lace.text import Verifier

if TYPE_CHECKING:
    from lace.drive import History
    from lace.pipeline import ConvergeProgress, ConvergeReport, Lake, LakeParty, Session
    from lace.stores import Store

LOOPS: Final = 64
"""Records that are found by following links come a link a loop; a policy that swings to and fro ends here."""
SEED_BYTES: Final = 32
_ALL_BYTES: Final = 1 << 62


def converge_lakes(
    left: str | Path,
    right: str | Path,
    policies: tuple[GivenPolicy, GivenPolicy],
    *,
    session: Session | Callable[[], Session] | None = None,
    proven: tuple[Verifier | None, Verifier | None] = (None, None),
    loops: int = LOOPS,
    progress: Callable[[ConvergeProgress], None] | None = None,
    dry_run: bool = False,
    inbox: str | Path | None = None,
) -> ConvergeReport:
    """Run both policies to their fixed point over two lakes or laces.

    `proven` says who each side is taken for by the other. Without a session no Spark is started, and
    everything is done in this process; a function that starts one is called when both sides are open.
    What it did is noted in the history of both, where `why_sent` finds it, and counted in the table
    `exchanges` of a lake. `inbox` is a folder of this machine for the history of a lake that is on none of
    its disks; without one, no history has the ids of what left such a lake. A dry run only reads, and leaves
    no note.
    """
    if not isinstance(policies, tuple | list) or len(policies) != 2:
        raise WrongArgument(name="policies", wanted="two: that of each side", found=repr(policies)[:80])
    ours, theirs = map(given_policy, policies)

    from lace.pipeline import check_apart, converge

    opened: list[Lace] = []
    noting: list[History] = []
    try:
        parties: list[LakeParty] = []
        holders: list[Lake | Lace] = []
        for index, place in enumerate((left, right)):
            holder = _open(place, opened, read_only=dry_run)
            policy, peer = (ours, theirs)[index], proven[1 - index]
            parties.append(_party(index, holder, policy, proven[index], peer, loops))
            holders.append(holder)
        check_apart(parties[0], parties[1])
        started = session() if callable(session) else session
        now = Moment(now_tai(), time.monotonic())
        for index, holder in enumerate(() if dry_run else holders):
            store, notes_of = _noted(holder, inbox, noting)
            if notes_of is not None:
                notes = note_exchange(
                    notes_of,
                    store,
                    now_tai,
                    (ours, theirs)[index],
                    peer=proven[1 - index],
                    address=str((right, left)[index]),
                    began=now.tai,
                )
                parties[index] = replace(parties[index], observe=notes)
        return converge(parties[0], parties[1], started, now=now, progress=progress, dry_run=dry_run)
    finally:
        for history in noting:
            history.close()
        for lace in opened:
            lace.close()


def _open(place: str | Path, opened: list[Lace], *, read_only: bool) -> Lake | Lace:
    """Open a lake; where there is none, a lace."""
    from lace.pipeline import NotALake, open_lake

    try:
        return open_lake(place)
    except NotALake:
        if "://" in str(place) or not Path(place).exists():
            raise
    lace = Lace.open(place, read_only=read_only)
    opened.append(lace)
    return lace


def _noted(
    holder: Lake | Lace, inbox: str | Path | None, noting: list[History]
) -> tuple[Store, History | None]:
    """Return what knows the versions of a side, and where its exchanges are noted; None where nowhere."""
    if isinstance(holder, Lace):
        return holder.store, holder.kept
    from lace.pipeline import LakeStore

    file = lake_history_file(holder, inbox, make=True)
    if file is not None:
        noting.append(open_history(file))
    return LakeStore(holder), noting[-1] if file is not None else None


def _party(
    index: int,
    holder: Lake | Lace,
    policy: PolicyFile,
    here: Verifier | None,
    peer: Verifier | None,
    loops: int,
) -> LakeParty:
    from lace.pipeline import Lake, LakeParty
    from lace.stores import SqliteStore

    if not policy.select_sections(peer):
        raise NothingToPresent(peer=f"{peer or NOBODY} in {policy.name}")
    active = policy.active(peer)
    settings = Settings(
        index=index,
        module=policy.operand(peer).module,
        dice=Dice(secrets.token_bytes(SEED_BYTES)),
        link=Link(here=here, peer=peer),
        limits=ExchangeLimits(max_total_transferred_bytes=_ALL_BYTES, max_loop_iterations=loops),
    )
    place = holder.store if isinstance(holder, Lace) else holder
    assert isinstance(place, Lake | SqliteStore)
    return LakeParty(place, settings, active.exposure, active.restrictions)
