"""What a peer may not see changes no row that is advertised to it."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from random import Random

import pytest

from lace.pipeline import converge
from lace.record import Record
from tests.drive.test_noninterference import NOSY, plex
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock
from tests.interlace.scenarios import EXPOSE_U, GROUP_U
from tests.pipeline.exchange.live import ids, party
from tests.pipeline.lakes import lake_of

TABLES = ("advertisements", "partitions", "summaries")


def advertised(tmp_path: Path, seed: int) -> list[object]:
    """Let two lakes that differ outside the view meet one peer; return what each advertised and gave."""
    random = Random(seed)
    hidden = [[plex(random, "X", []) for _ in range(random.choice([0, 1, 5, 9]))] for _ in range(2)]
    shown = [plex(random, "u", [*hidden[0], *hidden[1]]) for _ in range(random.choice([0, 2, 8]))]
    theirs = [plex(random, "u", shown) for _ in range(random.choice([0, 3, 8]))]
    policies = random.choice(NOSY), random.choice([ALL, GROUP_U])
    found: list[object] = []
    for number, more in enumerate(hidden):
        mine: list[Record] = [*shown, *more]
        peer = lake_of(tmp_path / f"{seed} {number} peer", theirs)
        lake = lake_of(tmp_path / f"{seed} {number}", mine)
        converge(
            party(peer, 0, policies[0], EXPOSE_ALL), party(lake, 1, policies[1], EXPOSE_U), now=Clock().now()
        )
        rows = [lake.snapshot().dataset(table).to_table().to_pylist() for table in TABLES]
        for head in rows[2]:
            del head["basis"]  # names files, and stays at home
        found.append((sorted(map(repr, chain(*rows))), ids(peer)))
    return found


@pytest.mark.req("050-214")
def test_lakes_that_differ_outside_the_view_advertise_the_same(tmp_path: Path) -> None:
    seen = set()
    for seed in range(5):
        left, right = advertised(tmp_path, seed)
        assert left == right, seed
        seen.add(repr(left))
    assert len(seen) > 2  # not blind
