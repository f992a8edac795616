"""How connections are made and kept: one value for all transports, each reads what concerns it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

KIBIBYTE = 1 << 10
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Tls:
    """Who vouches for whom on wss: files in PEM."""

    certificate: Path | None = None
    """Serving: our certificate, leaf first, with the ones between it and its authority behind it."""
    key: Path | None = None
    """Serving: its key; None where it stands in the file of the certificate."""
    authorities: tuple[Path, ...] = ()
    """Connecting: trust these authorities, and not the system's."""
    verify: bool = True
    """Connecting: check the server's certificate. Without that, encryption is not proven to anybody."""
    server_name: str | None = None
    """Connecting: the name that the certificate must have, where it is not the address's host."""
    public_certificate: Path | None = None
    """Serving ws behind a proxy that ends TLS: the certificate that the proxy shows to the world."""
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """Whose connections count as encrypted then: the proxy's addresses, seen from here."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything about connections that is not an address."""

    buffer_bytes: int = 64 * KIBIBYTE
    """How much is read, or handed to be sent, at a time."""
    socket_buffer_bytes: int | None = None
    """What the kernel keeps for each direction of a socket; None leaves that to it."""
    connect_seconds: float = 10.0
    """For the connection with all its handshakes, TLS and WebSocket included; on either side."""
    close_seconds: float = 10.0
    """PROFILE 10: how long the other's close is waited for; nothing is waited for longer at the end."""
    keepalive_seconds: float = 20.0
    """Silence after which the peer is asked for a sign of life: TCP keepalive, WebSocket ping."""
    dead_seconds: float = 60.0
    """Silence after which it is dead. It may be evaluating for up to 30 s, and then it reads no ping."""
    max_connections: int = 128
    """How many a server keeps at once, those in handshakes included; more are closed at once."""
    host_connections: int = 128
    """How many of them may be from one host; as many as there are where a proxy stands between."""
    backlog: int = 128
    """How many the kernel keeps waiting to be accepted."""
    tls: Tls = field(default_factory=Tls)
    deflate: bool = False
    """Offer and accept permessage-deflate on ws. It costs time and memory, and lets lengths leak secrets."""
    origins: tuple[str, ...] = ()
    """Web pages whose scripts may connect; none by default, so that no page reaches a server at home."""
    command: tuple[str, ...] = ()
    """Connecting by stdio: the child to start. Without one, our own stdin and stdout are the stream."""
    unix_mode: int = 0o600
    """Who may connect to a unix socket: by default the owner alone."""


OPTIONS = Options()
