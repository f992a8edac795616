"""A server in numbers: counters, their text, and the page that Prometheus asks for.

Rules of this file:
1. The text is the exposition format 0.0.4 of Prometheus. A name that is not in the table is a bug.
2. Labels are words of ours: causes, codes, transports. Nothing that a stranger chose makes a series.
3. The page is served on the loopback alone. It reads one short request and answers it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Lock
from typing import Final, NamedTuple

from lace.errors import LaceError
from lace.transports import NotServed

LOOPBACK: Final = "127.0.0.1"
PATH: Final = "/metrics"
REQUEST_BYTES: Final = 8192
REQUEST_SECONDS: Final = 5.0


class Metric(NamedTuple):
    """What one number means."""

    kind: str
    """`counter` or `gauge`."""
    help: str
    labels: tuple[str, ...] = ()


METRICS: Final = {
    "lace_exchanges_total": Metric("counter", "Exchanges that ended, by cause", ("transport", "cause")),
    "lace_exchanges_open": Metric("gauge", "Exchanges that go on"),
    "lace_refused_total": Metric("counter", "Connections and peers that were refused", ("code",)),
    "lace_dropped_total": Metric("counter", "Connections closed at once because there was no room at all"),
    "lace_errors_total": Metric("counter", "Exchanges that ended with an error", ("code",)),
    "lace_rounds_total": Metric("counter", "Rounds that came to a fixed point"),
    "lace_records_received_total": Metric("counter", "Records that came and were stored"),
    "lace_records_sent_total": Metric("counter", "Records that were sent"),
    "lace_records_rejected_total": Metric("counter", "Records that came and were not kept", ("code",)),
    "lace_received_bytes_total": Metric("counter", "Bytes from peers, of connections that ended"),
    "lace_sent_bytes_total": Metric("counter", "Bytes to peers, of connections that ended"),
    "lace_stored_bytes_today": Metric("gauge", "Bytes of records from peers that were stored today (UTC)"),
    "lace_disk_free_bytes": Metric("gauge", "Bytes that are free on the disk of the store"),
    "lace_store_bytes": Metric("gauge", "Bytes of records that the store holds; of a lake, of its files"),
    "lace_evaluations_total": Metric("counter", "Evaluations of policies"),
    "lace_evaluation_seconds_total": Metric("counter", "Time in evaluations, without waiting for turns"),
    "lace_quota_hits_total": Metric("counter", "How often a limit of ours ended something", ("limit",)),
    "lace_reloads_total": Metric("counter", "Times that the policies were read again", ("outcome",)),
    "lace_certificate_expires_timestamp_seconds": Metric(
        "gauge", "When a certificate that peers are shown expires, in seconds since 1970", ("word",)
    ),
}


class Metrics:
    """Counters that every thread may add to."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in METRICS}
        self._gauges: dict[str, Callable[[], float]] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        key = tuple(labels[label] for label in METRICS[name].labels)
        with self._lock:
            values = self._values[name]
            values[key] = values.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Say what a number is from now on."""
        with self._lock:
            self._values[name][tuple(labels[label] for label in METRICS[name].labels)] = value

    def ask(self, name: str, value: Callable[[], float]) -> None:
        """Let a number be asked for when the page is."""
        assert name in METRICS
        self._gauges[name] = value

    def value(self, name: str, **labels: str) -> float:
        """Return a number; a counter with labels that are left out is the sum over them."""
        if name in self._gauges:
            return self._gauges[name]()
        wanted = [labels.get(label) for label in METRICS[name].labels]
        with self._lock:
            return sum(
                value
                for key, value in self._values[name].items()
                if all(want in (None, have) for want, have in zip(wanted, key, strict=True))
            )

    def text(self) -> str:
        """Write everything as Prometheus reads it.

        >>> metrics = Metrics()
        >>> metrics.add("lace_refused_total", code="serve/denied")
        >>> [line for line in metrics.text().splitlines() if "refused" in line][2]
        'lace_refused_total{code="serve/denied"} 1'
        """
        lines: list[str] = []
        for name, metric in METRICS.items():
            lines += [f"# HELP {name} {metric.help}.", f"# TYPE {name} {metric.kind}"]
            found: dict[tuple[str, ...], float]
            if name in self._gauges:
                found = {}
                with suppress(LaceError):  # what a broken store does not say must not hide all the others
                    found = {(): self._gauges[name]()}
            else:
                with self._lock:
                    found = dict(self._values[name]) or ({} if metric.labels else {(): 0})
            for key, value in sorted(found.items()):
                pairs = ",".join(f'{label}="{each}"' for label, each in zip(metric.labels, key, strict=True))
                lines.append(f"{name}{f'{{{pairs}}}' if pairs else ''} {value:.15g}")
        return "\n".join([*lines, ""])


@asynccontextmanager
async def serve_metrics(port: int, metrics: Metrics) -> AsyncIterator[str]:
    """Serve the page, and lend out its URL; port 0 takes one that is free."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(head, metrics))
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, LOOPBACK, port, limit=REQUEST_BYTES)
    except OSError as error:
        where = f"http://{LOOPBACK}:{port}{PATH}"
        # asyncio puts our own arguments into the words; the number has the system's.
        reason = str(error) if error.errno is None else os.strerror(error.errno)
        raise NotServed(address=where, reason=reason) from error
    async with server:
        taken = server.sockets[0].getsockname()[1]
        yield f"http://{LOOPBACK}:{taken}{PATH}"


def _response(head: bytes, metrics: Metrics) -> bytes:
    method, path, *_ = [*head.split(b"\r\n", 1)[0].split(b" "), b"", b""]
    if method not in (b"GET", b"HEAD"):
        status, body = "405 Method Not Allowed", b"GET it.\n"
    elif path.split(b"?")[0] != PATH.encode():
        status, body = "404 Not Found", f"The only page is {PATH}.\n".encode()
    else:
        status, body = "200 OK", metrics.text().encode()
    head_lines = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/plain; version=0.0.4; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    top = "".join(f"{line}\r\n" for line in (*head_lines, ""))
    return top.encode() + (b"" if method == b"HEAD" else body)
