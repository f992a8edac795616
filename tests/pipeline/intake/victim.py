"""A process that ingests the files of a folder one by one, until it has all or is killed.

python -m tests.pipeline.intake.victim LAKE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from lace.pipeline import start_session
from lace.pipeline.intake.run import ingest
from lace.pipeline.lake.lake import open_lake

# A process that lives for some seconds: starting counts, speed does not.
QUICK = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main(place: str, folder: str) -> None:
    session = start_session("local[2]", config=QUICK)
    lake = open_lake(place)
    session.range(1).collect()
    print("ready", flush=True)
    for path in sorted(Path(folder).iterdir()):
        ingest(lake, [path], session, split_bytes=20_000)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
