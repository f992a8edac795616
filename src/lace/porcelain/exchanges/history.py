"""The history of a lace: what is noted of an exchange under a policy file, and who is asked for it.

with Lace.open() as lace:
    notes = lace.note_exchange(policy, address="tcp:198.51.100.7:7777")
    Side(settings, host, moment, observe=notes)
    for entry in lace.history(since="3d"):
        print(entry.number, entry.peer, entry.left, entry.came)
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lace.drive import ExchangeNotes, FileHistory, History, InForce, MemoryHistory, Role, Section
from lace.errors import StoreError
from lace.policy import expose_selected
from lace.porcelain.past import note_state
from lace.porcelain.policies.file import EXPOSE, RECEIVE, SELECTED, SEND, UNION, PolicyFile
from lace.stores import Store, check_is_file, file_faults
from lace.text import Tai

_log = logging.getLogger("lace.history")


def open_history(path: Path | None, *, like: Path | None = None, read_only: bool = False) -> History:
    """Return the history that a file holds, or will; without a file, one in memory.

    A new file is no more open to others than the store, `like`.
    """
    return MemoryHistory() if path is None else FileHistory(path, like=like, read_only=read_only)


def prepare_history(path: Path) -> None:
    """Make a file for notes of exchanges, or raise what would keep notes from it and leave it as it is."""
    check_is_file(path)
    with file_faults(path), path.open("ab"):
        pass  # of a path the system says more than SQLite does
    history = FileHistory(path)
    try:
        history.prepare()
    finally:
        history.close()


def note_exchange(
    history: History,
    store: Store,
    now: Callable[[], Tai],
    policy: PolicyFile | None = None,
    *,
    peer: str | None = None,
    address: str | None = None,
    began: Tai | None = None,
) -> ExchangeNotes:
    """Return what watches an exchange and notes it; `peer` is for whom our operand was chosen."""
    return ExchangeNotes(
        history,
        now,
        address=address,
        in_force=None if policy is None else policy_in_force(policy, peer),
        version=partial(note_state, store),
        report=report_fault,
        began=began,
    )


def report_fault(fault: StoreError) -> None:
    """Tell on the log that an exchange could not be noted."""
    _log.warning("%s [%s]; it is tried again, and until then no record leaves", fault, fault.code)


def policy_in_force(policy: PolicyFile, peer: str | None = None) -> Callable[[str], InForce]:
    """Return what says which sections of a policy have a say about a viewer.

    `peer` is for whom the operand was chosen: whom a transport proved before setup, or None.
    """
    select = policy.select_sections(peer)
    parts = [Section(Role.SELECT, str(each.module), policy.place(each)) for each in select]
    own = [section for section in policy.of(EXPOSE) if section.header.detail == SELECTED]
    for section in own[:1]:
        program = expose_selected(policy.operand(peer).module).program
        parts.append(Section(Role.EXPOSE, str(program), policy.place(section)))
    for word, role in ((SEND, Role.SEND), (RECEIVE, Role.RECEIVE)):
        parts += [Section(role, str(e.restriction.program), policy.place(e)) for e in policy.of(word)]
    union = policy.says(EXPOSE, UNION)

    def in_force(viewer: str) -> InForce:
        shown = [
            Section(Role.EXPOSE, str(section.expose_module.program), policy.place(section))
            for section in policy.expose_sections()
            if section.expose_module.is_for(viewer)
        ]
        return InForce((*parts, *shown), union, viewer in policy.trusted)

    return in_force
