"""Generated sets: the same bytes everywhere, valid, of the promised shape, and alike as much as asked."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import islice
from statistics import mean

import pytest

from lace.porcelain.generate import BATCH, BadShape, Shape, generate, generate_pair
from lace.record import Blob, Plex, Record, Seal, parse_record
from lace.text import digest

# The one number that says "same bytes on every machine": a change of it changes every benchmark's data.
FIRST_THOUSAND = "00526611f08031363b95360a7e01b961e94b712ce037d166e4e9e741c8c35fab"
PLAIN = Shape(sealed=0)


def plex_of(record: Record) -> Plex:
    assert not isinstance(record, Blob)
    return record.plex if isinstance(record, Seal) else record


def plexes(records: list[Record]) -> list[Plex]:
    return [plex_of(record) for record in records if record.type != "B"]


def fingerprint(records: list[Record]) -> str:
    return digest(b"".join(record.raw for record in records)).hex()


@pytest.fixture(scope="module")
def thousand() -> list[Record]:
    return list(generate(20, BATCH))


def test_a_seed_names_the_same_bytes_everywhere(thousand: list[Record]) -> None:
    assert fingerprint(thousand) == FIRST_THOUSAND


@pytest.mark.net
@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_another_interpreter_with_other_hashes_of_text_makes_the_same_bytes(hash_seed: str) -> None:
    program = (
        "from lace.porcelain.generate import generate\nfrom lace.text import digest\n"
        "print(digest(b''.join(record.raw for record in generate(20, 1000))).hex())"
    )
    world = {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", program], env=world, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == FIRST_THOUSAND


def test_every_record_parses_from_its_bytes_and_its_signature_holds(thousand: list[Record]) -> None:
    assert [parse_record(record.raw).id for record in thousand] == [record.id for record in thousand]


def test_no_record_comes_twice(thousand: list[Record]) -> None:
    assert len(set(thousand)) == BATCH
    assert len(set(generate(3, 2 * BATCH, shape=Shape(blobs=900, sealed=0, linked=0)))) == 2 * BATCH


def test_another_seed_makes_other_records(thousand: list[Record]) -> None:
    assert set(thousand).isdisjoint(generate(21, 200))


def test_shares_are_exact_in_each_thousand() -> None:
    shape = Shape(blobs=111, sealed=37, linked=203)
    records = list(generate(5, 3 * BATCH, shape=shape))
    for first in range(0, 3 * BATCH, BATCH):
        batch = records[first : first + BATCH]
        assert Counter(record.type for record in batch) == {"B": 111, "S": 37, "P": 852}
        assert sum(bool(plex.links()) for plex in plexes(batch)) == 203


def test_an_unsealed_plex_has_about_270_bytes() -> None:
    sizes = [record.size for record in generate(8, 3 * BATCH, shape=PLAIN) if record.type == "P"]
    assert 262 <= mean(sizes) <= 278


def test_times_grow_with_every_record(thousand: list[Record]) -> None:
    times = [plex.tai for plex in plexes(thousand)]
    assert times == sorted(set(times))


def test_links_name_earlier_records_of_the_set_near_and_far() -> None:
    seen: set[str] = set()
    far = 0
    ids = [record.id for record in generate(6, 3 * BATCH, shape=PLAIN)]
    anchors = set(ids[::BATCH])
    for record in generate(6, 3 * BATCH, shape=PLAIN):
        links = plex_of(record).links() if record.type != "B" else []
        assert {link.target for link in links} <= seen
        far += any(link.target in anchors for link in links)
        seen.add(record.id)
    assert far > 20


def test_a_set_has_the_variety_of_a_real_one(thousand: list[Record]) -> None:
    found = plexes(thousand)
    assert len({plex.group for plex in found}) == 16
    assert len({plex.app for plex in found}) == 16
    assert Counter(plex.group for plex in found).most_common(1)[0][1] > 2 * len(found) / 16
    assert {record.signer for record in thousand if isinstance(record, Seal)}.__len__() == 5
    assert {len({v for n, v in plex.extra if n == "Lang"}) for plex in found} == {0, 1}
    assert {value for plex in found for name, value in plex.extra if name == "Lang"} >= {
        "el",
        "hi",
        "ar",
        "zh",
    }
    assert max(sum(name == "Tag" for name, _ in plex.extra) for plex in found) == 3
    assert {link.data for plex in found for link in plex.links()} >= {"evidence", "see", "reply", ""}
    assert all(plex.blob.data.decode() for plex in found)


def test_large_data_comes_when_asked_for() -> None:
    shape = Shape(large=50, large_bytes=1 << 15)
    lengths = [plex.blob.length for plex in plexes(list(generate(4, BATCH, shape=shape)))]
    assert 1 << 13 < max(lengths) <= 1 << 15
    assert sum(length > 200 for length in lengths) <= 50
    assert max(plex.blob.length for plex in plexes(list(generate(4, BATCH)))) < 200


@pytest.mark.parametrize(("start", "count"), [(0, 5), (999, 2), (1500, 700), (2000, 0)])
def test_any_part_of_a_set_can_be_made_alone(start: int, count: int) -> None:
    whole = list(generate(9, 2500, shape=PLAIN))
    assert list(generate(9, count, shape=PLAIN, start=start)) == whole[start : start + count]


def test_a_huge_set_is_a_stream() -> None:
    first = islice(generate(2, 10**9, shape=PLAIN), 3)
    assert [record.id for record in first] == [record.id for record in generate(2, 3, shape=PLAIN)]


@pytest.mark.parametrize(
    ("count", "overlap", "common"),
    [
        (1000, 0.8, 800),
        (999, 0.8, 799),
        (1200, 0.01, 12),
        (7, 0.5, 4),
        (300, 0.0, 0),
        (300, 1.0, 300),
        (0, 0.8, 0),
    ],
)
def test_a_pair_shares_exactly_the_part_that_was_asked_for(count: int, overlap: float, common: int) -> None:
    left, right = (list(side) for side in generate_pair(7, count, overlap=overlap, shape=PLAIN))
    assert (len(set(left)), len(set(right))) == (count, count)
    assert len(set(left) & set(right)) == common


def test_a_record_of_both_sides_links_only_to_records_of_both_sides() -> None:
    left, right = (
        list(side) for side in generate_pair(7, 2500, overlap=0.3, shape=Shape(sealed=0, linked=500))
    )
    both = set(left) & set(right)
    ids = {record.id for record in both}
    targets = {link.target for plex in plexes(list(both)) for link in plex.links()}
    assert len(targets) > 100
    assert targets <= ids


@pytest.mark.parametrize(
    "shape",
    [
        {"blobs": -1},
        {"blobs": 900, "sealed": 100},
        {"blobs": 950, "linked": 50, "sealed": 0},
        {"large": 1001},
        {"signers": 0},
        {"data_bytes": 0},
        {"data_bytes": 100, "large_bytes": 99},
    ],
)
def test_a_shape_that_no_set_can_have_is_refused(shape: dict[str, int]) -> None:
    with pytest.raises(BadShape):
        Shape(**shape)


def test_counts_and_overlaps_that_make_no_sense_are_refused() -> None:
    for make in (
        lambda: generate(1, -1),
        lambda: generate(1, 1, start=-1),
        lambda: generate_pair(1, 10, overlap=1.01),
        lambda: generate_pair(1, -10),
    ):
        with pytest.raises(BadShape):
            make()
