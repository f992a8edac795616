"""Merkle roots against the golden vectors and against the definition, however the set came about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.interlace import EMPTY, SortedEntries, make_entry, merkle_root
from lace.text import digest, encode
from tests.golden import load_vectors

GOLDEN = load_vectors("advertisements")
ENTRIES = [make_entry(digest(b"%d" % number)) for number in range(9000)]


def root_by_definition(entries: list[bytes]) -> bytes:
    """Hash the padded tree over record digests level by level, as 050 says it."""
    digests = [entry[:32] for entry in entries]
    empty = digest(b"lace-advertisement-empty/v1")
    nodes = [digest(b"lace-advertisement-leaf/v1" + each) for each in sorted(digests)]
    size = 1
    while size < len(nodes):
        size *= 2
    nodes += [empty] * (size - len(nodes))
    while len(nodes) > 1:
        nodes = [
            digest(b"lace-advertisement-node/v1" + left + right)
            for left, right in zip(nodes[::2], nodes[1::2], strict=True)
        ]
    return nodes[0]


@pytest.mark.req("050-146", "050-147", "050-148", "050-149")
@pytest.mark.parametrize("case", GOLDEN["merkle"])
def test_a_golden_set_has_this_root(case: dict[str, Any]) -> None:
    entries = [make_entry(bytes.fromhex(each)) for each in case["digests_hex"]]
    assert encode(merkle_root(entries)) == case["root"]
    assert encode(SortedEntries(entries).root()) == case["root"]


def test_the_root_of_nothing_is_empty_and_that_of_one_is_its_leaf() -> None:
    assert merkle_root([]) == EMPTY == digest(b"lace-advertisement-empty/v1")
    assert merkle_root(ENTRIES[:1]) == digest(b"lace-advertisement-leaf/v1" + ENTRIES[0][:32])


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 4096, 4097, 5000])
def test_roots_agree_with_the_definition(count: int) -> None:
    assert SortedEntries(ENTRIES[:count]).root() == root_by_definition(ENTRIES[:count])


@settings(max_examples=25)
@given(st.data(), st.sampled_from([0, 1, 5, 40, 4090, 4100]))
def test_a_kept_root_is_that_of_the_set(data: st.DataObject, start: int) -> None:
    held = set(ENTRIES[:start])
    kept = SortedEntries(held)
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            assert kept.root() == root_by_definition(list(held))
        fresh = [each for each in ENTRIES[start:] if each not in held]
        added = fresh[: data.draw(st.sampled_from([0, 1, 2, 12, 40]))]
        wanted = data.draw(st.sampled_from([0, 1, 2, 7, 50]))
        removed = sorted(held)[:: max(1, len(held) // max(1, wanted))][:wanted]
        kept.change(added, removed)
        held = (held - set(removed)) | set(added)
        assert len(kept) == len(held)
    assert kept.root() == root_by_definition(list(held))


def test_entries_before_the_first_change_are_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ordered = sorted(ENTRIES[:8001])
    kept = SortedEntries(ordered[:-1])
    kept.root()
    hashed = 0

    def counting(data: bytes) -> bytes:
        nonlocal hashed
        hashed += 1
        return digest(data)

    monkeypatch.setattr("lace.interlace.merkle.digest", counting)
    kept.change([ordered[-1]], [])
    root = kept.root()
    assert hashed < 40
    assert root == root_by_definition(ordered)
