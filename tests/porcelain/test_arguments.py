"""Arguments that are easily mistaken."""

from __future__ import annotations

from typing import Any

import pytest

from lace.porcelain import Lace, WrongArgument


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": "text"}, "data is bytes, such as 'text'.encode(); a value of type str was given"),
        ({"data": None}, "data is bytes"),
        ({"sign": "alice"}, "sign is a Secret"),
        ({"extra": {"Tag": "food"}}, "extra is pairs of name and value, both text; 'Tag' was given"),
        ({"extra": [("Tag", 1)]}, "extra is pairs"),
    ],
)
def test_a_mistaken_argument_is_told_and_nothing_is_stored(given: dict[str, Any], words: str) -> None:
    with Lace() as lace:
        with pytest.raises(WrongArgument) as told:
            lace.put(**{"data": b"one", "group": "u", "app": "notes", "name": "first", **given})
        assert str(told.value).startswith(words)
        assert lace.stat().records == {"B": 0, "P": 0, "S": 0}


def test_one_text_is_one_condition() -> None:
    with Lace() as lace:
        note = lace.put(b"one", group="u", app="notes", name="first")
        lace.put(b"two", group="v", app="notes", name="first")
        assert [row.id for row in lace.ls(where="Group=u")] == [note.id]
        assert len(list(lace.ls(where="Group"))) == 2


def test_a_limit_below_nothing_is_told() -> None:
    with Lace() as lace, pytest.raises(WrongArgument) as told:
        lace.ls(limit=-1)
    assert str(told.value) == "limit is None, or a number from 0 on; -1 was given"
