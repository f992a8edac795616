"""Address strings: parsed and printed exactly (060, Address strings; PROFILE sections 9 and 10).

    stdio   unix:/run/lace.sock   tcp:host[:port]   ws:host[:port][/interlace]   wss:host[:port][/interlace]

Rules of this file:
1. One spelling comes out: `str` of an address is the text of `Transport(S)`. What goes in may leave out a
   port or a path; nothing else is filled in, trimmed or lowered.
2. Addresses are text. Nothing here resolves a name or touches a socket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from lace.errors import InputError
from lace.facts import VALUE_BYTES
from lace.text import is_nfc

INTERLACE: Final = "/interlace"
DEFAULT_PORTS: Final = {"tcp": 4790, "ws": 80, "wss": 443}

# PROFILE section 10: "Host names are letters, digits, inner hyphens and dots; digits and dots alone must be
# IPv4".
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_NUMBERS = re.compile(r"[0-9.]+", re.ASCII)
# A host in brackets or without colons, maybe a port, maybe a path.
_HOST_PORT = re.compile(r"(\[[^\]]*\]|[^:/\[\]]*)(?::([^/]*))?(/.*)?", re.DOTALL)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
HOST_CHARS: Final = 253  # DNS, RFC 1035: what a name can have in writing
LAST_PORT: Final = 65_535


class BadAddress(InputError):
    """Text that is no address."""

    code = "iltp/address"
    text = "{address!r} is no address: {reason}"


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint; `str` is how `Transport(S)` shows it.

    >>> str(parse_address("tcp:example.com")), str(parse_address("wss:example.com:443"))
    ('tcp:example.com:4790', 'wss:example.com/interlace')
    """

    scheme: str
    host: str | None = None
    """As written: a name, an IPv4 address, an IPv6 address in brackets."""
    port: int | None = None
    path: str | None = None

    def __str__(self) -> str:
        if self.scheme == "stdio":
            return self.scheme
        if self.scheme == "unix":
            return f"unix:{self.path}"
        # PROFILE section 9: "tcp always with port [...]; ws and wss with the path always and the port where
        # it is not the default".
        shown = self.scheme == "tcp" or self.port != DEFAULT_PORTS[self.scheme]
        return f"{self.scheme}:{self.host}{f':{self.port}' if shown else ''}{self.path or ''}"

    @property
    def bare_host(self) -> str:
        """The host as sockets take it: without brackets."""
        return (self.host or "").strip("[]")


STDIO: Final = Address("stdio")


def parse_address(text: str) -> Address:
    """Read an address, strictly.

    >>> parse_address("tcp:[::1]:4790")
    Address(scheme='tcp', host='[::1]', port=4790, path=None)
    """
    if text == "stdio":
        return STDIO
    scheme, colon, rest = text.partition(":")
    # "any `?`, `#` or `//`, is refused"; 060: "URL-style `ws://` and `wss://` strings are not standard".
    for mark in ("//", "?", "#"):
        if colon and mark in rest:
            raise _refuse(text, f"it holds {mark!r}; an address is no URL: write wss:host or unix:/path")
    if colon and scheme == "unix":
        return Address("unix", path=_read_path(text, rest))
    if not colon or scheme not in DEFAULT_PORTS:
        raise _refuse(text, "expected stdio, unix:/path, tcp:host[:port], ws:host[:port] or wss:host[:port]")
    found = _HOST_PORT.fullmatch(rest)
    if found is None:
        raise _refuse(text, "expected host, host:port or [IPv6]:port")
    host, port, path = found.groups()
    if not _is_host(host):
        raise _refuse(
            text, "the host is a name, an IPv4 address, or an IPv6 address in brackets, without zone"
        )
    number = DEFAULT_PORTS[scheme] if port is None else _read_port(text, port)
    if scheme == "tcp":
        if path is not None:
            raise _refuse(text, "tcp has no path")
        return Address(scheme, host, number)
    if path not in (None, INTERLACE):
        raise _refuse(text, "the only path is /interlace")
    return Address(scheme, host, number, INTERLACE)


def remote_address(scheme: str, host: str, port: int) -> Address:
    """Return the address of a socket's other end, whose host comes without brackets and maybe with a zone.

    PROFILE sections 9 and 10: "the remote socket's on the accepting side", "no IPv6 zones".

    >>> str(remote_address("ws", "fe80::1%eth0", 51000))
    'ws:[fe80::1]:51000/interlace'
    """
    bare = host.partition("%")[0]
    written = f"[{bare}]" if ":" in bare else bare
    return parse_address(f"{scheme}:{written}:{port}")


def _read_path(text: str, path: str) -> str:
    if not path.startswith("/") or path == "/":
        raise _refuse(text, "a unix path is absolute: it begins with / and names a socket")
    # It becomes the value of a fact: UTF-8 NFC, one line.
    if _CONTROL.search(path) or not _is_text(path) or not is_nfc(path):
        raise _refuse(text, "a unix path is composed UTF-8 text without control characters")
    if len(text.encode()) > VALUE_BYTES:
        raise _refuse(text, f"it has more than {VALUE_BYTES} bytes")
    return path


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a name from the file system that is no UTF-8
        return False
    return True


def _is_host(host: str) -> bool:
    try:
        if host.startswith("["):
            IPv6Address(host[1:-1])
            return "%" not in host
        if _NUMBERS.fullmatch(host):
            IPv4Address(host)
            return True
    except AddressValueError:
        return False
    return len(host) <= HOST_CHARS and _NAME.fullmatch(host) is not None


def _read_port(text: str, port: str) -> int:
    if _PORT.fullmatch(port) is None or int(port) > LAST_PORT:
        raise _refuse(text, "a port is a number from 1 to 65535 without leading zeros")
    return int(port)


def _refuse(text: str, reason: str) -> BadAddress:
    return BadAddress(address=text[:120], reason=reason)
