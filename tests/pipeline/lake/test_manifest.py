"""A manifest is read as it was written, or not at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.pipeline import BadManifest, DataFile, NewerLake
from lace.pipeline.lake.manifest import (
    Manifest,
    check_format,
    manifest_path,
    manifest_version,
    parse_manifest,
    write_manifest,
)
from lace.pipeline.tables import TABLES
from tests.strategies import texts

counts = st.dictionaries(texts(), st.integers(0, 2**62), max_size=3)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    files = {}
    for table in TABLES:
        names = draw(st.lists(st.text("0123456789abcdef", min_size=1), max_size=2, unique=True))
        files[table] = tuple(
            DataFile(table, f"data/{table}/{name}.parquet", 1, 2, draw(texts()), draw(texts()))
            for name in names
        )
    return Manifest(
        draw(st.integers(0, 10**19)),
        draw(texts()),
        draw(texts()),
        draw(texts()),
        draw(st.floats(0, 1e10)),
        draw(counts),
        draw(counts),
        draw(counts),
        files,
    )


SAMPLE = Manifest(
    7, "ingest", "b", "a", 1.5, {"records": 1}, {"s": 3}, {"b": 7},
    {t: (DataFile(t, f"data/{t}/00.parquet", 3, 400, "0", "z"),) for t in TABLES},
)  # fmt: skip


@given(manifests())
def test_a_manifest_is_read_as_it_was_written(manifest: Manifest) -> None:
    assert parse_manifest(write_manifest(manifest), manifest.version, "here") == manifest


def test_a_manifest_is_plain_json_that_names_every_file() -> None:
    content = json.loads(write_manifest(SAMPLE))
    assert content["format"] == "lace-lake/1"
    assert {table: [file["path"] for file in files] for table, files in content["files"].items()} == {
        table: [f"data/{table}/00.parquet"] for table in TABLES
    }


@given(st.data())
def test_a_damaged_manifest_is_never_read_as_another(data: st.DataObject) -> None:
    whole = write_manifest(SAMPLE)
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    try:
        read = parse_manifest(damaged, 7, "here")
    except (BadManifest, NewerLake):
        return
    assert read == SAMPLE


@given(st.integers(0, len(write_manifest(SAMPLE)) - 2))
def test_a_cut_manifest_is_refused(at: int) -> None:
    with pytest.raises(BadManifest, match="version 7 of here is damaged"):
        parse_manifest(write_manifest(SAMPLE)[:at], 7, "here")


@pytest.mark.parametrize("data", [b"[]", b"null", b'{"format": "lace-lake/1"}', b"[" * 100_000])
def test_json_that_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(BadManifest):
        parse_manifest(data, 7, "here")


def test_the_manifest_of_another_version_is_refused() -> None:
    with pytest.raises(BadManifest, match="it is the manifest of version 7"):
        parse_manifest(write_manifest(SAMPLE), 8, "here")


def test_a_path_that_leaves_its_table_is_refused() -> None:
    for path in ("data/records/../../x", "/etc/passwd", "data/fields/x.parquet"):
        files = {**SAMPLE.files, "records": (DataFile("records", path, 1, 1, "", ""),)}
        evil = Manifest(7, "ingest", "b", "a", 1.5, {}, {}, {}, files)
        with pytest.raises(BadManifest, match="does not say"):
            parse_manifest(write_manifest(evil), 7, "here")


def test_a_newer_manifest_asks_for_newer_software() -> None:
    content = json.loads(write_manifest(SAMPLE)) | {"format": "lace-lake/2"}
    with pytest.raises(NewerLake, match="Update the software"):
        parse_manifest(json.dumps(content).encode(), 7, "here")
    with pytest.raises(NewerLake):
        check_format("lace-lake/99", "here")


def test_names_of_manifests_sort_as_their_versions() -> None:
    versions = [0, 7, 10, 99, 10**19]
    assert [manifest_version(path) for path in sorted(map(manifest_path, versions))] == versions
    for other in ("commits/7.json", "commits/.00000000000000000007.json.ab.new", "commits/x.json", "a.txt"):
        assert manifest_version(other) is None
