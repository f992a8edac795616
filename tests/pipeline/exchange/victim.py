"""A process that converges two lakes in small steps, to be killed: python -m … A B [MASTER]"""

from __future__ import annotations

import sys

from lace.interlace import ExchangeLimits, LocalLimits
from lace.pipeline import Lake, Session, converge, open_lake, start_session
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock
from tests.pipeline.exchange.live import party


def run(left: Lake, right: Lake, session: Session | None = None) -> bool:
    """Converge to the end, on Spark where there is one; tell whether it is one."""
    steps = {
        "limits": ExchangeLimits(max_loop_iterations=1000),
        "local": LocalLimits(request_records=16, service_records=12),
    }
    sides = [party(each, index, ALL, EXPOSE_ALL, **steps) for index, each in enumerate((left, right))]
    return converge(sides[0], sides[1], session, now=Clock().now()).complete


if __name__ == "__main__":
    places = [open_lake(each) for each in sys.argv[1:3]]
    spark = start_session(sys.argv[3]) if sys.argv[3:] else None
    print("ready", flush=True)
    run(places[0], places[1], spark)
