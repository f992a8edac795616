"""A summary is what the live machine advertises, and is brought up to date, not made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from lace.pipeline import Here, Kept, Lake, erase, fsck, ingest, keep_summary, optimize
from lace.pipeline.exchange.summary import files_of, fingerprint, read_summary
from lace.pipeline.lake.work import discard
from lace.text import id_payload
from tests.pipeline.exchange.live import LIMITS, Drawn, advertised, draw_plan, ids, live_summaries, without
from tests.pipeline.lakes import lake_of


def keep(lake: Lake, drawn: Drawn, notes: list[str] | None = None) -> Kept:
    decider = Here(drawn.rules, LIMITS)
    told = [] if notes is None else notes
    return keep_summary(
        lake, lake.snapshot(), drawn.subject, decider, drawn.given(lake), note=told.append, heard="x"
    )


def check(kept: Kept, lake: Lake, drawn: Drawn) -> None:
    """Compare digests, counts and roots with the live machine's."""
    own, summaries = live_summaries(drawn, drawn.live())
    found = kept.summary.partitions
    assert {prefix: (each.records, each.root) for prefix, each in found.items()} == {
        each.prefix: (each.count, each.root) for each in summaries
    }
    table = lake.snapshot().dataset("advertisements").to_table()
    mine = table.filter(pc.starts_with(table.column("place"), kept.summary.key))
    digests = dict(zip(advertised(mine), mine.column("digest").to_pylist(), strict=True))
    assert digests == {record: entry[:32] for record in own.ids if (entry := own.tree.entry_of(record))}
    for prefix, each in found.items():
        assert each.fingerprint == fingerprint(sorted(map(id_payload, own.tree.under(prefix))))


@pytest.mark.req("050-140")
@pytest.mark.parametrize("seed", range(6))
def test_a_summary_is_what_the_live_machine_advertises(tmp_path: Path, seed: int) -> None:
    drawn = draw_plan(seed)
    lake = lake_of(tmp_path / "lake", drawn.records[:5], drawn.records[5:])
    kept = keep(lake, drawn)
    check(kept, lake, drawn)
    assert kept.hashed == kept.summary.records
    again = keep(lake, drawn)
    assert (again.found, again.hashed) == (True, 0)
    assert fsck(lake).is_sound


def wide(seed: int = 3) -> Drawn:
    """Draw a plan that selects much."""
    return next(d for d in map(draw_plan, range(seed, 99)) if len(d.live().may_send) > 6)


def test_only_what_is_new_is_hashed_and_only_changed_partitions_get_roots(tmp_path: Path) -> None:
    drawn = wide()
    few = without(drawn, 3)
    lake = lake_of(tmp_path / "lake", few.records)
    first = keep(lake, few)
    check(first, lake, few)
    (tmp_path / "more.records").write_bytes(b"".join(record.raw for record in drawn.records[:3]))
    ingest(lake, [tmp_path / "more.records"])
    second = keep(lake, drawn)
    check(second, lake, drawn)
    came = len(drawn.live().may_send - few.live().may_send)
    assert second.hashed == came < second.summary.records
    assert first.summary.basis != second.summary.basis
    erase(lake, [drawn.records[0].id])
    assert files_of(lake.snapshot(), first.summary.key) == ([], [])  # it would remember what is erased
    third = keep(lake, without(drawn, 1))
    check(third, lake, without(drawn, 1))
    assert optimize(lake).snapshot.version
    assert keep(lake, without(drawn, 1)).hashed == 0


@pytest.mark.parametrize("late", [False, True])
def test_what_is_erased_while_a_summary_is_made_is_not_remembered_by_it(tmp_path: Path, late: bool) -> None:
    drawn = wide()
    lake = lake_of(tmp_path / "lake", drawn.records)
    gone = sorted(drawn.live().may_send)[0]
    pinned, given = lake.snapshot(), drawn.given(lake)

    class Slow(Here):
        def spread(self, *asked: Any) -> Any:
            done = super().spread(*asked)
            if gone in ids(lake):
                erase(lake, [gone])
            return done

    if not late:
        erase(lake, [gone])
    kept = keep_summary(lake, pinned, drawn.subject, Slow(drawn.rules, LIMITS), given, heard="x")
    assert kept.summary.records == len(drawn.live().may_send)
    assert lake.snapshot().rows("advertisements") == 0
    discard(lake, kept.uncommitted)
    assert fsck(lake).orphans == ()
    left = replace(drawn, records=[each for each in drawn.records if each.id != gone])
    check(keep(lake, left), lake, left)


def test_a_summary_that_others_are_always_first_with_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = wide()
    lake = lake_of(tmp_path / "lake", drawn.records)
    monkeypatch.setattr("lace.pipeline.exchange.keep._commit", lambda *asked: False)
    kept = keep(lake, drawn)
    assert kept.summary.files
    assert all(lake.folder.size(file.path) for file in kept.summary.files)
    discard(lake, kept.uncommitted)
    assert fsck(lake).orphans == ()


def test_a_damaged_summary_is_found_made_anew_and_said(tmp_path: Path) -> None:
    drawn = wide()
    lake = lake_of(tmp_path / "lake", drawn.records)
    kept = keep(lake, drawn)
    for table in ("advertisements", "partitions", "summaries"):
        (file,) = lake.snapshot().of(table)
        path = Path(lake.where, file.path)
        path.write_bytes(path.read_bytes()[:-40] + bytes(40) if table != "advertisements" else b"short")
        notes: list[str] = []
        made = keep(lake, drawn, notes)
        assert made.summary.partitions == kept.summary.partitions
        assert made.hashed == kept.summary.records
        assert "damaged" in notes[0]
        check(made, lake, drawn)
        assert keep(lake, drawn).found


def test_two_plans_have_two_summaries_in_one_lake(tmp_path: Path) -> None:
    left, right = wide(), wide(9)
    lake = lake_of(tmp_path / "lake", {*left.records, *right.records})
    for drawn in (left, right, left):
        both = replace(drawn, records=[*{*left.records, *right.records}])
        check(keep(lake, both), lake, both)
    keys = {read_summary(lake.snapshot(), each.subject.key) is not None for each in (left, right)}
    assert keys == {True}
    assert lake.snapshot().rows("summaries") == 2
