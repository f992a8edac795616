"""What can go wrong between two ends: the world's faults, and a peer's below the stream.

Rules of this file:
1. What keeps a connection from being made, or an address from being served, is a `TransportError`.
2. What ends a connection that was made is told to the exchange: as a `PeerLost` where the peer went silent or
   away, as a `RemoteProtocolError` where it broke the rules of the transport.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from typing import cast

from lace.errors import LaceError, RemoteProtocolError
from lace.interlace import PeerLost


class TransportError(LaceError):
    """A connection that could not be made or an address that could not be served."""

    code = "transports/error"
    text = "{address}: {reason}"
    exit_code = 9


class NotReached(TransportError):
    """A peer that could not be connected to."""

    code = "transports/not-reached"
    text = "{address} was not reached: {reason}"


class NotServed(TransportError):
    """An address that could not be listened on."""

    code = "transports/not-served"
    text = "{address} cannot be served: {reason}"


class NotUpgraded(TransportError):
    """An HTTP server that did not make a WebSocket of the connection."""

    code = "transports/not-upgraded"
    text = "{address} made no WebSocket of the connection: {reason}"


class BadTls(TransportError):
    """Certificates, keys or authorities that make no TLS."""

    code = "transports/tls"
    text = "{what}: {reason}"
    exit_code = 7


class NoWebSockets(TransportError):
    """The library for ws and wss is not installed."""

    code = "transports/no-websockets"
    text = "{missing} is not installed, and ws and wss need it: pip install 'lace-py[ws]'"


class PeerSilent(PeerLost):
    """A peer that gives no sign of life."""

    code = "transports/silent"
    text = "the peer has not been heard for {seconds} s, not even in answer to a ping"


class PeerStalled(PeerLost):
    """A peer that takes nothing off our hands."""

    code = "transports/stalled"
    text = "the peer took less than {bytes} bytes in {seconds} s: it does not read what it is sent"


class PeerGone(PeerLost):
    """A peer that was gone while something was being sent to it."""

    code = "transports/gone"
    text = "the connection broke while something was being sent: {reason}"


class PeerClosedInError(PeerLost):
    """A peer that closed a WebSocket and said that something is wrong."""

    code = "transports/closed-in-error"
    text = "the peer closed the WebSocket with {reason}"


class TextMessage(RemoteProtocolError):
    """A WebSocket text message, which no stream has."""

    code = "transports/text-message"
    text = "the peer sent a WebSocket text message; a stream is carried in binary messages alone"


class BadFrames(RemoteProtocolError):
    """Bytes that are no WebSocket frames, or frames that no stream has."""

    code = "transports/bad-frames"
    text = "the peer broke the rules of WebSocket: {reason}"


_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"})
"""What OpenSSL calls bytes that are no record of TLS."""


def explain(error: OSError) -> str:
    """Return what the system says about an error, without our own arguments in it.

    >>> explain(ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('::1', 4790)"))
    'Connection refused'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "what answers there speaks no TLS: is it ws, or another port?"
    if isinstance(error, ConnectionResetError) and not error.args:
        return "it closed the connection in the middle of the TLS handshake"
    known = error.errno is not None and error.errno in errno.errorcode
    if known and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(cast(int, error.errno))
    return error.strerror or str(error) or type(error).__name__
