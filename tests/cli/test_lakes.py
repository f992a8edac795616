"""Verbs that read a store read a lake with the same records alike."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lace.porcelain import Lace, generate
from tests.cli.conftest import Run

pytest.importorskip("pyarrow", reason="the spark extra is not installed")

from tests.pipeline.lakes import lake_of

RECORDS = list(generate(4, 300))
PLACE = next(f"//{r.group}//{r.app}//{r.name}" for r in RECORDS if hasattr(r, "group"))


@pytest.fixture
def both(lace: Run, home: Path) -> Run:
    """A store in the current folder, and a lake `L` with the same records in two versions."""
    with Lace.open(home) as opened:
        opened.put_records(RECORDS)
    lake_of(home / "L", RECORDS[:100], RECORDS[100:])
    return lace


@pytest.mark.parametrize(
    "verb",
    [
        ("ls", "--json", "--columns", "*"),
        ("ls", "--csv", "--where", "Group=u", "--where", "Name~links/*"),
        ("ls", "--type", "seal", "--ids"),
        ("export", "--format", "jsonl"),
        ("facts", PLACE),
        ("facts", RECORDS[5].id[:9], "--json"),
        ("get", PLACE, "--headers"),
        ("get", RECORDS[9].id, "--raw"),
        ("verify",),
    ],
    ids=" ".join,
)
def test_a_verb_says_the_same_of_both(both: Run, verb: tuple[str, ...]) -> None:
    of_store, of_lake = both(*verb), both(*verb, "--lake", "L")
    assert (of_lake.code, of_lake.err) == (of_store.code, of_store.err) == (0, "")
    assert sorted(of_lake.lines) == sorted(of_store.lines)
    assert of_lake.lines


def test_policies_are_tried_on_both_alike(both: Run, home: Path) -> None:
    for name, group in (("old", "ops"), ("mine", "u")):
        assert both("policy", "new", "group", f"{name}.policy", "--set", f"town={group}").code == 0
    policy = ("--policy", "mine.policy")
    sent = both("preview", *policy, "--json").values[0]["may_send"]["records"][0]
    for verb in (
        ("preview", *policy, "--limit", "3"),
        ("why-send", sent, "--peer", "anonymous", *policy),
        ("why-not-send", sent, "--peer", "anonymous", "--policy", "old.policy", "--json"),
        ("policy", "diff", "old.policy", "mine.policy"),
    ):
        of_store, of_lake = both(*verb, "--store", "."), both(*verb, "--lake", "L")
        assert (of_lake.code, of_lake.out) == (of_store.code, of_store.out)
        assert of_lake.code == 0
    (home / "L" / "exchange.policy").write_text((home / "old.policy").read_text())
    assert both("why-not-send", sent, "--peer", "anonymous", "--lake", "L").code == 0
    refused = both("preview", *policy, "--lake", "L", "--store", ".")
    assert (refused.code, "records are in one of them" in refused.err) == (2, True)
    assert both("preview", *policy, "--master", "local").code == 2


@pytest.mark.parametrize("order", [("--newest",), ("--sort", "Data-Length", "--limit", "7")], ids=" ".join)
def test_sorted_rows_come_in_one_order(both: Run, order: tuple[str, ...]) -> None:
    verb = ("ls", "--json", "--where", "TAI", *order)
    lengths = [
        [row["Data-Length"] for row in done.values] for done in (both(*verb), both(*verb, "--lake", "L"))
    ]
    assert lengths[0] == lengths[1]


def test_an_export_of_a_lake_is_imported_whole(both: Run, home: Path) -> None:
    assert both("export", "out.records", "--lake", "L").code == 0
    assert both("init", "other").code == 0
    assert both("import", "--store", "other", "out.records").code == 0
    assert sorted(both("ls", "--ids", "--store", "other").lines) == sorted(record.id for record in RECORDS)


def test_a_lake_is_read_as_it_was(both: Run) -> None:
    ids = both("ls", "--lake", "L", "--at", "1", "--ids").lines
    assert sorted(ids) == sorted(record.id for record in RECORDS[:100])
    assert both("stat", "--lake", "L", "--at", "1", "--json").values[0]["records"]["B"] <= 100
    gone = both("ls", "--lake", "L", "--at", "9")
    assert (gone.code, "it has 0 to 2" in gone.err) == (1, True)


def test_what_is_no_lake_is_named(both: Run) -> None:
    done = both("get", PLACE, "--lake", "nowhere")
    assert done.code == 1
    assert "no lake at" in done.err


@pytest.mark.parametrize(
    "options", [("--at", "1"), ("--master", "local[1]"), ("--strategy", "loop")], ids=" ".join
)
def test_options_of_a_lake_without_one_are_refused(both: Run, home: Path, options: tuple[str, ...]) -> None:
    (home / "a.lacegram").write_text("A(P) :- Have(P).\n")
    done = both("eval", "a.lacegram", *options)
    assert (done.code, done.out) == (2, "")
    assert f"{options[0]} is about a lake" in done.err


@pytest.mark.parametrize("verb", [("ls",), ("verify",), ("facts", PLACE)])
def test_a_store_beside_a_lake_is_refused_and_neither_is_read(both: Run, verb: tuple[str, ...]) -> None:
    refused = both(*verb, "--lake", "L", "--store", ".")
    assert (refused.code, refused.out) == (2, "")
    assert "records are in one of them" in refused.err


def test_a_report_needs_a_lake_to_tell_of(both: Run, home: Path) -> None:
    (home / "a.lacegram").write_text("A(P) :- Have(P).\n")
    assert both("eval", "a.lacegram", "--report", "r.html").code == 2
    assert not (home / "r.html").exists()
    assert both("why", "A('x')", "--rules", "a.lacegram", "--report", "r.html").code == 2


def test_what_the_bridge_to_java_logs_is_no_word_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    from lace.cli.lakes import hush_bridge

    root = logging.getLogger()
    hush_bridge()
    hush_bridge()
    assert len(root.filters) == 1
    try:
        bridge = {"pathname": "/somewhere/py4j/clientserver.py", "msg": "KeyboardInterrupt", "levelno": 40}
        root.handle(logging.makeLogRecord(bridge))
        root.error("something else")
    finally:
        root.removeFilter(root.filters[0])
    assert caplog.messages == ["something else"]


def test_what_the_bridge_to_java_logs_is_kept_off_the_screen_whoever_logs_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from lace.cli.lakes import _not_of_bridge, hush_bridge

    hush_bridge()
    for name in (None, "py4j.clientserver", "py4j.java_gateway"):
        logger = logging.getLogger(name)
        logger.handle(logger.makeRecord(logger.name, 40, "/lib/py4j/clientserver.py", 1, "a stack", (), None))
        logger.handle(logger.makeRecord(logger.name, 40, "/app/mine.py", 1, "mine", (), None))
        logger.removeFilter(_not_of_bridge)
    logging.getLogger("py4j").removeFilter(_not_of_bridge)
    assert caplog.messages == ["mine"] * 3
