"""Who comes to a server, as far as it is known, and who is let in (`lace serve`).

    proven by the transport ──▶ Visitor ──knock──▶ refused at the door, or a conversation begins
    proven in hello ──────────▶ Visitor ──admit──▶ refused, or served

Rules of this file:
1. What nobody proved decides nothing but where a stranger is put: hosts and transports are no identities.
2. Deny is asked first. Where anybody is allowed by name, nobody else is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from lace.errors import InputError, PolicyError, TextError
from lace.iltp import parse_address
from lace.text import Verifier, parse_verifier
from lace.transports import Proven

Network: TypeAlias = IPv4Network | IPv6Network
TRANSPORTS: Final = ("stdio", "unix", "tcp", "ws", "wss")
PROVEN, ANONYMOUS = "proven", "anonymous"
USER: Final = "user:"


class NotAVisitor(InputError):
    """Text that names nobody who could come to a server."""

    code = "serve/who"
    text = (
        "{given!r} names nobody: write a verifier V.….H3, an address or network such as 192.0.2.0/24 "
        "(and not 192.0.2.7/24), user:NAME, a transport, proven or anonymous"
    )


class NoSuchUser(InputError):
    """A user that this machine does not know."""

    code = "serve/user"
    text = "there is no user {given!r} here: write a name of this machine, or a number"


class Denied(PolicyError):
    """A peer that is not served here."""

    code = "serve/denied"
    text = "{who} is not served here: {reason}"


@dataclass(frozen=True, slots=True)
class Visitor:
    """The other end of a connection."""

    scheme: str
    remote: str
    """For people."""
    host: str | None = None
    """Where it comes from, without a port; None where a proxy stands between, or there is no network."""
    uid: int | None = None
    peer: Verifier | None = None
    """Whom it proved to be."""

    @property
    def account(self) -> str:
        """Under which name its quotas are kept: the best that is proven.

        >>> Visitor("tcp", "192.0.2.7:5000", host="192.0.2.7").account
        'host:192.0.2.7'
        """
        if self.peer is not None:
            return self.peer
        if self.uid is not None:
            return f"{USER}{self.uid}"
        return self.scheme if self.place is None else f"host:{self.place}"

    @property
    def place(self) -> str | None:
        """The host that counts as one: of IPv6 addresses everybody has as many as he likes, so their network.

        >>> Visitor("tcp", "", host="2001:db8::7").place
        '2001:db8::/64'
        """
        if self.host is None or ":" not in self.host:
            return self.host
        return str(ip_network(f"{self.host}/64", strict=False))

    def known_as(self, peer: Verifier | None) -> Visitor:
        """Return the same visitor when it has proved who it is."""
        return replace(self, peer=peer)


def visitor_of(proven: Proven, users: Mapping[int, Verifier], proxies: tuple[str, ...] = ()) -> Visitor:
    """Return who a connection is from; what comes through one of our proxies comes from anywhere.

    >>> visitor_of(Proven("tcp:[2001:db8::7]:5000"), {}).host
    '2001:db8::7'
    """
    if proven.address is None:
        return Visitor("pipe", proven.remote)
    address = parse_address(proven.address)
    host = address.bare_host or None
    peer = None if proven.uid is None else users.get(proven.uid)
    return Visitor(address.scheme, proven.remote, None if host in proxies else host, proven.uid, peer)


@dataclass(frozen=True, slots=True)
class Who:
    """One entry of a list of visitors."""

    text: str
    kind: str
    """`peer`, `user`, `host`, `transport`, `proven` or `anonymous`."""
    value: Verifier | int | Network | None = None

    def names(self, visitor: Visitor) -> bool:
        """Tell whether a visitor is meant, by what is known of it."""
        match self.kind, self.value:
            case "peer", verifier:
                return visitor.peer == verifier
            case "user", uid:
                return visitor.uid is not None and visitor.uid == uid
            case "host", IPv4Network() | IPv6Network() as network:
                return visitor.host is not None and ip_address(visitor.host) in network
            case "transport", _:
                return visitor.scheme == self.text
            case "proven", _:
                return visitor.peer is not None
        return visitor.peer is None

    @property
    def waits_for_hello(self) -> bool:
        """Whether a visitor that it does not name yet may still turn out to be meant."""
        return self.kind in ("peer", PROVEN)


def parse_who(text: str) -> Who:
    """Read whom a line of a list names.

    >>> parse_who("192.0.2.0/24").names(Visitor("tcp", "", host="192.0.2.9"))
    True
    """
    if text in (PROVEN, ANONYMOUS):
        return Who(text, text)
    if text in TRANSPORTS:
        return Who(text, "transport")
    if text.startswith(USER):
        return Who(text, "user", parse_user(text.removeprefix(USER)))
    try:
        if text.startswith("V."):
            return Who(text, "peer", parse_verifier(text))
        return Who(text, "host", ip_network(text))
    except (TextError, ValueError):
        raise NotAVisitor(given=text[:80]) from None


def parse_user(text: str) -> int:
    """Return the number of a user of this machine.

    >>> parse_user("1000")
    1000
    """
    if text.isascii() and text.isdigit() and len(text) < 11:
        return int(text)
    try:
        import pwd

        return pwd.getpwnam(text).pw_uid
    except (ImportError, KeyError, ValueError):
        raise NoSuchUser(given=text[:80]) from None


@dataclass(frozen=True, slots=True)
class Door:
    """Who is let in."""

    allow: tuple[Who, ...] = ()
    """Nobody else, where anybody is named."""
    deny: tuple[Who, ...] = ()

    def knock(self, visitor: Visitor) -> None:
        """Refuse whoever is refused before it has proved anything."""
        early = [each for each in self.deny if each.kind != ANONYMOUS]
        self._check(visitor, early, any(each.waits_for_hello for each in self.allow))

    def admit(self, visitor: Visitor) -> None:
        """Refuse whoever is refused, now that it is known who it is."""
        self._check(visitor, self.deny, False)

    def _check(self, visitor: Visitor, deny: Iterable[Who], later: bool) -> None:
        for each in deny:
            if each.names(visitor):
                raise Denied(who=visitor.account, reason=f"deny {each.text}")
        if self.allow and not later and not any(each.names(visitor) for each in self.allow):
            raise Denied(who=visitor.account, reason="it is not among those who are allowed")
