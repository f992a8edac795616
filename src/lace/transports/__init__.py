"""Streams between processes and machines, and the pump of an exchange. The only package that waits."""

from lace.transports.end import End, Tap
from lace.transports.faults import (
    BadFrames,
    BadTls,
    NotReached,
    NotServed,
    NotUpgraded,
    NoWebSockets,
    PeerClosedInError,
    PeerGone,
    PeerSilent,
    PeerStalled,
    TextMessage,
    TransportError,
)
from lace.transports.options import OPTIONS, Options, Tls
from lace.transports.pipe import PipeStream, make_pipe
from lace.transports.proven import Proven
from lace.transports.pump import Pump, exchange
from lace.transports.reach import connect, serve
from lace.transports.relay import relay
from lace.transports.serving import Handler, Server
from lace.transports.stream import BufferedStream, SocketStream, Stream
from lace.transports.tls import (
    certificate_days,
    certificate_hash,
    leaf_hash,
    make_self_signed,
    serving_context,
)

__all__ = [
    "OPTIONS",
    "BadFrames", "BadTls", "BufferedStream", "End", "Handler", "NoWebSockets", "NotReached", "NotServed",
    "NotUpgraded", "Options", "PeerClosedInError", "PeerGone", "PeerSilent", "PeerStalled", "PipeStream",
    "Proven", "Pump", "Server", "SocketStream", "Stream", "Tap", "TextMessage", "Tls", "TransportError",
    "certificate_days", "certificate_hash", "connect", "exchange", "leaf_hash", "make_pipe",
    "make_self_signed", "relay", "serve", "serving_context",
]  # fmt: skip
