"""Policies of the simulator: each as rules, for the plan, and as a function, for deciding quickly.

Rules of this file:
1. A function decides what the rules beside it decide; a test holds the two together.
2. An operand is given the records that its view shows, what is advertised, and the time; nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lace.policy import Module, read_module
from lace.record import Record, Seal, make_plex, parse_record
from lace.text import Tai

Records = Mapping[str, Record]
Advertised = Mapping[str, Mapping[str, str]]
"""By record: its claimed fields."""


def group_of(record: Record) -> str:
    """Return the group of a simulated record."""
    plex = record.plex if isinstance(record, Seal) else record
    return str(getattr(plex, "group", ""))


def links_of(record: Record) -> list[str]:
    """Return what a simulated record links to."""
    plex = record.plex if isinstance(record, Seal) else record
    return [link.target for link in plex.links()] if hasattr(plex, "links") else []


def tai_of(record: Record) -> str:
    """Return the time of a simulated record."""
    plex = record.plex if isinstance(record, Seal) else record
    return str(getattr(plex, "tai", ""))


def make_sim_record(number: int, group: str, tai: Tai, links: tuple[str, ...] = ()) -> Record:
    """Return one of the records that the simulator throws around, read as a stranger reads it."""
    extra = tuple(("+Link", each) for each in links)
    return parse_record(make_plex(group, "sim", f"n/{number}", tai, b"%d" % number, extra).raw)


@dataclass(frozen=True)
class SimPolicy:
    """A selector in both forms."""

    name: str
    text: str
    have: Callable[[Records, Advertised, str], set[str]]
    advertised: Callable[[Records, Advertised, str], set[str]]
    monotonic: bool = True

    def module(self) -> Module:
        """Return the rules as a module."""
        if self.name not in _modules:
            _modules[self.name] = read_module(self.text)
        return _modules[self.name]


_modules: dict[str, Module] = {}


def _blocked(records: Records) -> set[str]:
    return {target for record in records.values() for target in links_of(record)}


POLICIES = {
    policy.name: policy
    for policy in (
        SimPolicy(
            "all",
            "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).",
            lambda records, advertised, tick: set(records),
            lambda records, advertised, tick: set(advertised),
        ),
        SimPolicy(
            "group",
            "SelectHave(P) :- Have(P), Field(P,'Group',_,'u').\n"
            "SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').",
            lambda records, advertised, tick: {p for p, r in records.items() if group_of(r) == "u"},
            lambda records, advertised, tick: {p for p, f in advertised.items() if f.get("Group") == "u"},
        ),
        SimPolicy(
            "unless blocked",
            "SelectHave(P) :- Have(P), not Blocked(P).\n"
            "SelectAdvertised(P,S) :- Advertised(P,S), not Blocked(P).\n"
            "Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q).",
            lambda records, advertised, tick: set(records) - _blocked(records),
            lambda records, advertised, tick: set(advertised) - _blocked(records),
            monotonic=False,
        ),
        SimPolicy(
            "by time",
            "SelectHave(P) :- Have(P), Field(P,'TAI',_,T), TickTAI(N), LexCompare(T,'<=',N).\n"
            "SelectAdvertised(P,S) :- Advertised(P,S).",
            lambda records, advertised, tick: {p for p, r in records.items() if tai_of(r) <= tick},
            lambda records, advertised, tick: set(advertised),
        ),
        SimPolicy(
            "by hearing",
            "SelectHave(P) :- Have(P), Field(P,'Group',_,'X').\n"
            "SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Heard().\n"
            "SelectAdvertised(P,S) :- Advertised(P,S).\n"
            "Heard() :- Advertised(_,_).",
            lambda records, advertised, tick: {
                p
                for p, r in records.items()
                if group_of(r) == "X" or (group_of(r) == "u" and len(advertised) > 0)
            },
            lambda records, advertised, tick: set(advertised),
        ),
    )
}


def policy_of(module: Module) -> SimPolicy:
    """Return the policy that a module is."""
    return next(policy for policy in POLICIES.values() if policy.module().id == module.id)
