"""What a server file comes to once its policies are read: which policy and which limits meet which visitor.

    lace.serve ──read──▶ ServerFile ──arrange──▶ Arrangement ──┬─ door: who is let in
    policies ────────────────────────────────────┘             ├─ book(visitor): under which policy
                                                               └─ terms(visitor): how much of everything

Rules of this file:
1. A proven peer is in the group that lists it. Whoever is in none by proof is in the first group, in the
   order of the file, that has its user, its host or its transport; else the words above all groups hold.
2. What is wrong with the file and what is wrong with its policies is told together, and nothing is used then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lace.algebra import EvaluationLimits
from lace.errors import LaceError
from lace.iltp import Address
from lace.interlace import ExchangeLimits, Link, LocalLimits
from lace.policy import OperandLimits
from lace.porcelain.arguments import WrongArgument, check_many, check_text
from lace.porcelain.exchanges.exchange import ExchangeChoices
from lace.porcelain.exchanges.peerpolicy import PolicyBook, given_policies
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.policies.parse import GivenPolicy, read_policy
from lace.porcelain.server.disk import Room
from lace.porcelain.server.faults import find_server_fault, refuse_server
from lace.porcelain.server.file import COMMAND_LINE, Given, ServerFile, ServerGroup, parse_served, read_server
from lace.porcelain.server.quotas import Bounds, DayLimits
from lace.porcelain.server.visitors import Door, Visitor, Who
from lace.text import Verifier
from lace.transports import OPTIONS, Options, Proven, Tls, TransportError, certificate_days, serving_context

EXCHANGES: Final = 128
PER_HOST: Final = 32
PER_PEER: Final = 8
OPERAND_BYTES: Final = 64 << 10
"""Rules that somebody wrote are a few kilobytes. Each exchange holds its peer's compiled, some hundred times
their text, and a valid lacegram may have a mebibyte."""
ROUNDS: Final = 100_000
"""At one round a second, a day and a bit: whoever follows for longer connects again."""
LOOK_SECONDS: Final = 1.0
GRACE_SECONDS: Final = 10.0
SOON: Final = timedelta(days=7)
"""Before a certificate expires: those who renew them do so weeks before, so by then something is wrong."""
ROOM_TO_REFUSE: Final = 64
"""Connections beyond those that are served: enough to tell strangers that the house is full."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How much a peer may have."""

    per_peer: int = PER_PEER
    rounds: int = ROUNDS
    limits: ExchangeLimits = field(default_factory=ExchangeLimits)
    local: LocalLimits = field(default_factory=lambda: LocalLimits(operand_bytes=OPERAND_BYTES))
    evaluation: OperandLimits = field(default_factory=OperandLimits)
    day: DayLimits = field(default_factory=DayLimits)


@dataclass(frozen=True, slots=True)
class PeerGroup:
    """Some peers, with a policy and terms of their own."""

    name: str
    policy: PolicyFile | None
    """None where it has no policy of its own."""
    terms: Terms
    peers: frozenset[Verifier] = frozenset()
    users: frozenset[int] = frozenset()
    hosts: tuple[Who, ...] = ()
    transports: frozenset[str] = frozenset()

    def has(self, visitor: Visitor) -> bool:
        """Tell whether a visitor is in it by what its transport shows."""
        return (
            visitor.uid in self.users
            or visitor.scheme in self.transports
            or any(host.names(visitor) for host in self.hosts)
        )


@dataclass(frozen=True)
class Arrangement:
    """Everything that a server has to know."""

    addresses: tuple[Address, ...] = ()
    policy: PolicyFile | None = None
    """For whoever is in no group with a policy; None serves nobody else."""
    terms: Terms = field(default_factory=Terms)
    groups: tuple[PeerGroup, ...] = ()
    door: Door = field(default_factory=Door)
    users: Mapping[int, Verifier] = field(default_factory=lambda: MappingProxyType({}))
    options: Options = OPTIONS
    exchanges: int = EXCHANGES
    per_host: int = PER_HOST
    stored_in_all: int | None = None
    keep_free: int | None = None
    """So many bytes of the disk are left free; None stores until it is full."""
    store_at_most: int | None = None
    """So many bytes of records the store may hold; with more it only gives. None is no bound."""
    stays_open: bool = True
    look_seconds: float = LOOK_SECONDS
    grace_seconds: float = GRACE_SECONDS
    prove_in_clear: bool = False
    sign_as: str | None = None
    log: Path | None = None
    log_format: str | None = None
    metrics: int | None = None

    def certificates(self) -> dict[str, tuple[datetime, datetime]]:
        """Return from when and until when each certificate holds that peers are shown, by its word."""
        tls = self.options.tls
        shown = {"certificate": tls.certificate, "public-certificate": tls.public_certificate}
        return {word: certificate_days(path) for word, path in shown.items() if path is not None}

    def certificate_notes(self, now: datetime) -> list[str]:
        """Return what is to be said of certificates that hold no more, not yet, or not for long."""
        notes: list[str] = []
        for word, (start, end) in self.certificates().items():
            if end <= now:
                notes.append(f"the {word} expired at {_day(end)}: who checks it does not connect")
            elif start > now:
                notes.append(f"the {word} holds from {_day(start)} on: who checks it does not connect before")
            elif end - now < SOON:
                notes.append(f"the {word} expires at {_day(end)}: renew the file, and send SIGHUP")
        return notes

    def __post_init__(self) -> None:
        """Refuse what would be met only when somebody comes."""
        for policy in (self.policy, *(group.policy for group in self.groups)):
            if policy is not None and not isinstance(policy, PolicyFile):
                found = f"a value of type {type(policy).__name__}"
                wanted = "what read_policy or parse_policy gives; arrange(…) also takes a PolicyBook"
                raise WrongArgument(name="policy", wanted=wanted, found=found)

    @cached_property
    def _by_peer(self) -> dict[Verifier, PeerGroup]:
        return {peer: group for group in self.groups for peer in group.peers}

    def group(self, visitor: Visitor) -> PeerGroup | None:
        """Return the group of a visitor, by what is known of it."""
        if visitor.peer is not None and visitor.peer in self._by_peer:
            return self._by_peer[visitor.peer]
        return next((group for group in self.groups if group.has(visitor)), None)

    def book(self, visitor: Visitor) -> PolicyBook:
        """Return the policies of which one will be the visitor's, whoever it proves to be."""
        own = {peer: each.policy or self.policy for peer, each in self._by_peer.items()}
        if visitor.peer in own:
            # For whoever is in a group by name it decides nothing where it comes from.
            default = own[visitor.peer]
        else:
            group = self.group(visitor.known_as(None))
            default = self.policy if group is None else group.policy or self.policy
        return PolicyBook(default, {peer: policy for peer, policy in own.items() if policy is not None})

    def terms_of(self, visitor: Visitor) -> Terms:
        """Return how much a visitor may have."""
        group = self.group(visitor)
        return self.terms if group is None else group.terms

    def is_final(self, visitor: Visitor, link: Link) -> bool:
        """Tell whether a visitor is who it will be: it proved it, or can prove nothing that matters here."""
        return visitor.peer is not None or not link.may_prove or not self._by_peer

    def link(self, proven: Proven) -> Link:
        """Return the link of a connection."""
        return proven.link(verifiers=self.users, prove_in_clear=self.prove_in_clear)

    def bounds(self, visitor: Visitor) -> Bounds:
        """Return what its quotas are checked against."""
        terms = self.terms_of(visitor)
        return Bounds(self.exchanges, self.per_host, terms.per_peer, terms.day, self.stored_in_all)

    @property
    def room(self) -> Room:
        """What peers may take of the disk."""
        return Room(self.keep_free, self.store_at_most)

    def choices(self, visitor: Visitor, room: int | None) -> ExchangeChoices:
        """Return how an exchange with a visitor goes, where it is known how many bytes it may store today.

        The peer is told that limit, so that an honest one stops before it.
        """
        terms = self.terms_of(visitor)
        limits = terms.limits
        if room is not None:
            most = max(1, min(limits.max_total_transferred_bytes, room))
            limits = replace(limits, max_total_transferred_bytes=most)
        return ExchangeChoices(
            stays_open=self.stays_open, limits=limits, local=terms.local, evaluation=terms.evaluation
        )


def arrange(addresses: Sequence[str], policy: GivenPolicy | PolicyBook, **more: Any) -> Arrangement:
    """Arrange a server for some addresses; whoever has a policy of its own in a book is a group of its own.

    `more` are the other fields of an `Arrangement`.

    >>> arrange(["tcp:127.0.0.1:0"], PolicyBook(None)).addresses[0].port
    0
    """
    check_many("addresses", addresses, "addresses to serve, such as tcp:127.0.0.1:0")
    for address in addresses:
        check_text("address", address, "text, such as tcp:127.0.0.1:0")
    given = given_policies(policy)
    book = given if isinstance(given, PolicyBook) else PolicyBook(given)
    groups = tuple(
        PeerGroup(f"peer {number}", own, more.get("terms", Terms()), frozenset({peer}))
        for number, (peer, own) in enumerate(book.by_peer.items(), 1)
    )
    return Arrangement(tuple(map(parse_served, addresses)), book.default, groups=groups, **more)


def read_arrangement(path: Path | None, given: Sequence[tuple[str, str]] = ()) -> Arrangement:
    """Read a server file and all that it names, and words that are given beside it.

    Raises `ServerRefused` with everything that is wrong.
    """
    return _Arranging(read_server(path, given)).arrange()


class _Arranging:
    def __init__(self, file: ServerFile) -> None:
        self._file = file
        self._policies: dict[str, PolicyFile | None] = {}
        self._refused: list[LaceError] = []

    def arrange(self) -> Arrangement:
        file, server = self._file, self._file.server
        if "address" not in server.words:
            self._fault("serve/no-address", "no address is served")
        terms = self._terms(server, Terms())
        policy = self._policy(server)
        groups = tuple(self._group(each, terms) for each in file.groups)
        if "policy" not in server.words and not any("policy" in each.words for each in file.groups):
            self._fault("serve/no-policy", "there is no policy")
        self._check_peers()
        options = self._options(server)
        if file.faults or self._refused:
            found = sorted(file.faults, key=lambda each: (each.span.line, each.span.start))
            raise refuse_server(file.name, found, self._refused)
        log = server.one("log")
        return Arrangement(
            addresses=server.all("address"),
            policy=policy,
            terms=terms,
            groups=groups,
            door=Door(server.all("allow"), server.all("deny")),
            users=MappingProxyType(dict(file.users)),
            options=options,
            exchanges=server.one("exchanges", EXCHANGES),
            per_host=server.one("exchanges-per-host", PER_HOST),
            stored_in_all=server.one("stored-per-day-in-all"),
            keep_free=server.one("keep-free"),
            store_at_most=server.one("store-at-most"),
            stays_open=server.one("open", True),
            look_seconds=server.one("look-seconds", LOOK_SECONDS),
            grace_seconds=server.one("grace-seconds", GRACE_SECONDS),
            prove_in_clear=server.one("prove-in-clear", False),
            sign_as=server.one("sign-as"),
            log=None if log is None else Path(log),
            log_format=server.one("log-format"),
            metrics=server.one("metrics"),
        )

    def _fault(self, code: str, message: str, given: Given | None = None, **values: object) -> None:
        line, at = ("", None) if given is None else (given.line, given.at)
        typed = self._file.name == COMMAND_LINE
        if at is not None and not at.line:
            # Of the command line: it has no place that one could look at.
            line, at, message, typed = "", None, f"{line}: {message}", True
        self._file.faults.append(find_server_fault(code, message, line, at, typed=typed, **values))

    def _policy(self, group: ServerGroup) -> PolicyFile | None:
        """Read the policy of a group; a file that several groups name is read, and complained of, once."""
        if "policy" not in group.words:
            return None
        given = group.words["policy"][-1]
        if given.value not in self._policies:
            self._policies[given.value] = None
            try:
                self._policies[given.value] = read_policy(given.value)
            except LaceError as error:
                if "diagnostics" in error.fields:
                    self._refused.append(error)
                else:
                    self._fault(
                        "serve/file", str(error), given, advice="make the policy, or correct the name"
                    )
        return self._policies[given.value]

    def _group(self, group: ServerGroup, terms: Terms) -> PeerGroup:
        found = PeerGroup(
            group.name,
            self._policy(group),
            self._terms(group, terms),
            peers=frozenset(group.all("peers")),
            users=frozenset(group.all("users")),
            hosts=group.all("hosts"),
            transports=frozenset(group.all("transports")),
        )
        if not any(word in group.words for word in ("peers", "users", "hosts", "transports")):
            self._fault("serve/nobody", f"nobody is in [{group.name}]", Given(None, group.header, group.at))
        return found

    def _check_peers(self) -> None:
        first: dict[Verifier, str] = {}
        for group in self._file.groups:
            for given in group.words.get("peers", ()):
                if first.setdefault(given.value, group.name) != group.name:
                    self._fault("serve/twice", "a peer of two groups", given, first=first[given.value])

    def _terms(self, group: ServerGroup, above: Terms) -> Terms:
        limits, local, evaluation, day = above.limits, above.local, above.evaluation, above.day
        return Terms(
            group.one("exchanges-per-peer", above.per_peer),
            group.one("rounds", above.rounds),
            _changed(
                limits,
                max_loop_iterations=group.one("loops"),
                max_total_transferred_bytes=group.one("round-bytes"),
                max_fact_block_bytes=group.one("block-bytes"),
                phase_timeout_seconds=group.one("phase-seconds"),
            ),
            _changed(local, round_seconds=group.one("round-seconds"), operand_bytes=group.one("rules-bytes")),
            _changed(evaluation, peer=_peer_evaluation(group, evaluation.peer)),
            _changed(day, stored=group.one("stored-per-day"), traffic=group.one("traffic-per-day")),
        )

    def _options(self, server: ServerGroup) -> Options:
        paths = {
            "certificate": server.one("certificate"),
            "key": server.one("certificate-key"),
            "public_certificate": server.one("public-certificate"),
        }
        tls: Tls = _changed(Tls(), **{name: path and Path(path) for name, path in paths.items()})
        if "proxy" in server.words:
            tls = replace(tls, proxies=server.all("proxy"))
        secure = next((each for each in server.words.get("address", ()) if each.value.scheme == "wss"), None)
        if secure is not None and tls.certificate is None:
            advice = "give a certificate; behind a proxy that ends TLS serve ws"
            self._fault("serve/file", "wss needs a certificate", secure, advice=advice)
        self._check_certificates(server, tls)
        most = server.one("exchanges", EXCHANGES) + ROOM_TO_REFUSE
        # A host that only ever shakes hands must not take the room of all others.
        per_host = server.one("exchanges-per-host", PER_HOST) + ROOM_TO_REFUSE // 4
        return replace(
            OPTIONS,
            tls=tls,
            max_connections=most,
            host_connections=most if tls.public_certificate is not None else per_host,
            deflate=server.one("deflate", False),
            origins=server.all("origin"),
            unix_mode=server.one("socket-mode", OPTIONS.unix_mode),
        )

    def _check_certificates(self, server: ServerGroup, tls: Tls) -> None:
        advice = "certificates and keys are files in PEM"
        for word, path in (("certificate", tls.certificate), ("public-certificate", tls.public_certificate)):
            if path is None:
                continue
            given = server.words[word][-1]
            try:
                certificate_days(path)
                if word == "certificate":
                    serving_context(tls)
            except TransportError as error:
                self._fault("serve/file", str(error), given, advice=advice)


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}Z"


def _changed(above: Any, **given: Any) -> Any:
    """Return a value of settings with those that were given."""
    return replace(above, **{name: value for name, value in given.items() if value is not None})


def _peer_evaluation(group: ServerGroup, above: EvaluationLimits) -> EvaluationLimits:
    found: EvaluationLimits = _changed(
        above, seconds=group.one("evaluation-seconds"), steps=group.one("evaluation-steps")
    )
    return found
