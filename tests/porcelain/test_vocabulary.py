"""The words of generated records can stand in records."""

from __future__ import annotations

import pytest

from lace.porcelain.vocabulary import APPS, GROUPS, LINKS, SHELVES, TAGS, TONGUES, Tongue, member, numbered
from lace.record import is_path
from lace.text import decode_line


@pytest.mark.parametrize("tongue", sorted(set(TONGUES)), ids=lambda tongue: tongue.tag)
def test_a_tongue_has_32_words_of_composed_text(tongue: Tongue) -> None:
    assert len(set(tongue.words)) == 32
    assert decode_line(" ".join(tongue.words).encode())
    assert abs(len(" ".join(tongue.words).encode()) / 32 - tongue.word_bytes) <= 1


def test_bits_choose_from_every_list() -> None:
    assert [len(names) for names in (TONGUES, TAGS, SHELVES, LINKS)] == [16, 16, 8, 8]


def test_places_are_paths_and_names_of_people_and_places_are_distinct() -> None:
    groups = [numbered(GROUPS, n) for n in range(100)]
    apps = [numbered(APPS, n) for n in range(100)]
    assert all(map(is_path, [*groups, *apps, *SHELVES]))
    assert len(set(groups)) == len(set(apps)) == len({member(n) for n in range(100)}) == 100
