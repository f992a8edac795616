"""A process that converges two lakes in small steps, to be killed: python -m … A B"""

from __future__ import annotations

import sys

from lace.interlace import ExchangeLimits, LocalLimits
from lace.pipeline import Lake, converge, open_lake
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock
from tests.pipeline.exchange.live import party


def run(left: Lake, right: Lake) -> bool:
    """Converge to the end; tell whether it is one."""
    steps = {
        "limits": ExchangeLimits(max_loop_iterations=1000),
        "local": LocalLimits(request_records=16, service_records=12),
    }
    sides = [party(each, index, ALL, EXPOSE_ALL, **steps) for index, each in enumerate((left, right))]
    return converge(sides[0], sides[1], now=Clock().now()).complete


if __name__ == "__main__":
    places = [open_lake(each) for each in sys.argv[1:]]
    print("ready", flush=True)
    run(places[0], places[1])
