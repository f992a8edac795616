"""The numbers of a server, and the page that they are on."""

from __future__ import annotations

import asyncio
import re

import pytest

from lace.porcelain import Metrics, serve_metrics
from lace.porcelain.server.metrics import METRICS, REQUEST_BYTES
from lace.transports import NotServed


def test_every_line_is_one_that_prometheus_reads() -> None:
    metrics = Metrics()
    metrics.add("lace_exchanges_total", transport="tcp", cause="fixed-point")
    metrics.add("lace_exchanges_total", 2, transport="unix", cause="fixed-point")
    metrics.add("lace_evaluation_seconds_total", 0.25)
    metrics.ask("lace_exchanges_open", lambda: 3)
    text = metrics.text()
    line = re.compile(r'(# (HELP|TYPE) \w+ .+)|\w+({\w+="[^"\\]*"(,\w+="[^"\\]*")*})? [0-9.e+-]+')
    assert all(line.fullmatch(each) for each in text.splitlines())
    assert text.endswith("\n")
    for name, metric in METRICS.items():
        assert f"# TYPE {name} {metric.kind}\n" in text
        assert (metric.kind == "counter") == name.endswith("_total")
    assert 'lace_exchanges_total{transport="tcp",cause="fixed-point"} 1\n' in text
    assert "lace_evaluation_seconds_total 0.25\n" in text
    assert "lace_exchanges_open 3\n" in text
    assert metrics.value("lace_exchanges_total", cause="fixed-point") == 3
    with pytest.raises(KeyError):
        metrics.add("lace_unheard_of_total")


async def ask(url: str, request: bytes) -> bytes:
    host, port = url.split("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.net
def test_the_page_answers_what_is_asked_and_nothing_else() -> None:
    async def run() -> None:
        metrics = Metrics()
        async with serve_metrics(0, metrics) as url:
            assert url.startswith("http://127.0.0.1:")
            page = await ask(url, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            head, _, body = page.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"text/plain; version=0.0.4" in head
            assert body.decode() == metrics.text()
            for request, status in (
                (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200"),
                (b"GET / HTTP/1.1\r\n\r\n", b"404"),
                (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
                (b"\r\n\r\n", b"405"),
            ):
                assert (await ask(url, request)).split(b" ")[1] == status
            assert await ask(url, b"x" * (2 * REQUEST_BYTES)) == b"", "no answer for what is no request"
            port = int(url.split(":")[2].split("/")[0])
            with pytest.raises(NotServed, match=r"cannot be served: Address already in use$"):
                async with serve_metrics(port, metrics):
                    pass

    asyncio.run(run())
