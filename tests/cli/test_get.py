"""lace get"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lace.porcelain import Lace
from lace.record import make_plex, parse_record
from tests.cli.conftest import Run
from tests.porcelain.streams.test_export import spoil

PLEX = make_plex("u", "notes", "first", "1640995200:000000000", b"hello\n", [("Tag", "a"), ("Tag", "b")])


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    with Lace.open(home) as opened:
        opened.put_records([PLEX])
        opened.put(b"\x00\xff")
    return lace


@pytest.mark.parametrize("reference", [PLEX.id, PLEX.id[:10], PLEX.id[2:10], "//u//notes//first"])
def test_the_data_is_written_as_it_is(stocked: Run, reference: str) -> None:
    done = stocked("get", reference)
    assert (done.code, done.out, done.err) == (0, "hello\n", "")


def test_the_newest_of_a_coordinate_is_meant(stocked: Run, home: Path) -> None:
    (home / "new").write_text("newer\n")
    stocked("put", "--group", "u", "--app", "notes", "--name", "first", home / "new")
    assert stocked("get", "//u//notes//first").out == "newer\n"


def test_raw_is_the_stored_form(stocked: Run) -> None:
    assert parse_record(stocked("get", PLEX.id, "--raw").out.encode()) == PLEX


def test_raw_as_json_goes_to_a_file_or_is_refused(stocked: Run, home: Path) -> None:
    for more in ((), ("--out", "-")):
        done = stocked("get", PLEX.id, "--raw", "--json", *more)
        assert (done.code, done.out, "--raw and --json" in done.err) == (2, "", True)
    assert stocked("get", PLEX.id, "--raw", "--json", "--out", "a").code == 0
    assert parse_record((home / "a").read_bytes()) == PLEX


def test_headers_are_the_fields(stocked: Run) -> None:
    lines = stocked("get", PLEX.id, "--headers").lines
    assert lines[0] == "Type: P"
    assert lines[-2:] == ["Tag: a", "Tag: b"]


def test_json_holds_fields_and_data(stocked: Run, home: Path) -> None:
    [value] = stocked("get", PLEX.id, "--json").values
    assert (value["id"], value["text"]) == (PLEX.id, "hello\n")
    assert ["Tag", "b"] in value["fields"]
    (home / "binary").write_bytes(b"\x00\xff")
    blob = stocked("put", home / "binary").out.strip()
    assert stocked("get", blob, "--json").values[0]["base64"] == "AP8="
    assert "text" not in stocked("get", PLEX.id, "--json", "--headers").values[0]


def test_a_file_is_written_and_not_overwritten(stocked: Run, home: Path) -> None:
    assert stocked("get", PLEX.id, "--out", "a").code == 0
    assert (home / "a").read_bytes() == b"hello\n"
    assert "[file/exists]" in stocked("get", PLEX.id, "--out", "a").err
    assert stocked("get", PLEX.id, "--out", "a", "--force", "--raw").code == 0
    assert (home / "a").read_bytes() == PLEX.raw
    value = json.loads(stocked("get", PLEX.id, "--out", "b", "--json").out)
    assert "text" not in value
    assert (home / "b").read_bytes() == b"hello\n"


@pytest.mark.parametrize(
    ("reference", "exit_code", "code"),
    [
        ("B." + "0" * 43 + ".H3", 1, "store/no-record"),
        ("P.zzzz", 1, "reference/no-id"),
        ("//u//notes//nothing", 1, "reference/nothing-there"),
        ("//u", 3, "reference/coordinate"),
        ("x", 3, "reference/shape"),
    ],
)
def test_what_is_not_there_is_no_and_what_is_no_name_is_wrong_input(
    stocked: Run, reference: str, exit_code: int, code: str
) -> None:
    done = stocked("get", reference)
    assert (done.code, done.out) == (exit_code, "")
    assert f"[{code}]" in done.err


def test_an_ambiguous_name_lists_what_it_could_be(lace: Run) -> None:
    ids = [lace("put", "-", stdin=data).out.strip() for data in (b"382", b"1503")]
    done = lace("get", "B.Lz2x")
    assert done.code == 3
    assert all(each in done.err for each in ids)


def test_a_rotten_record_is_reported_and_not_written(stocked: Run, home: Path) -> None:
    spoil(home, PLEX)
    done = stocked("get", PLEX.id)
    assert (done.code, done.out) == (7, "")
    assert done.err.count("\n") == 1
    assert "[store/rotten]" in done.err


def test_a_dash_is_stdout_and_no_file(stocked: Run, home: Path) -> None:
    reference = stocked("ls", "-q").lines[0]
    for words in ([], ["--json"], ["--raw"]):
        assert stocked("get", reference, "-o", "-", *words) == stocked("get", reference, *words)
    assert not (home / "-").exists()
