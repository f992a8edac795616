"""Settings: what no exchange can run with, and randomness that is thrown once."""

from __future__ import annotations

from typing import Any

import pytest

from lace.interlace import BadSettings, Dice, Link, Settings
from lace.text import decode
from tests.interlace.pair import ALL, dice, module


@pytest.mark.parametrize(
    "wrong",
    [
        {"index": 2},
        {"index": -1},
        {"dice": Dice(b"short")},
        {"formats": frozenset()},
        {"partition_start": 3},
        {"partition_start": -1},
    ],
)
def test_settings_that_make_no_exchange_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadSettings):
        Settings(**{"index": 0, "module": module(ALL), "dice": dice(0), **wrong})


def test_each_epoch_has_its_own_nonce_and_aux() -> None:
    thrown = dice(0)
    nonces = [thrown.nonce(epoch) for epoch in range(1, 20)]
    assert len(set(nonces)) == 19
    assert all(len(decode(nonce)) == 16 for nonce in nonces)
    auxes = [thrown.aux(epoch) for epoch in range(1, 20)]
    assert len(set(auxes)) == 19
    assert all(len(aux) == 32 and any(aux) for aux in auxes)
    assert dice(1).nonce(1) != nonces[0]


def test_the_first_epoch_can_be_given_its_own() -> None:
    given = Dice(bytes(32), first_nonce="0" * 22, first_aux=b"a" * 32)
    assert given.nonce(1) == "0" * 22
    assert given.aux(1) == b"a" * 32
    assert given.nonce(2) == Dice(bytes(32)).nonce(2)


def test_secrets_are_not_shown() -> None:
    assert "seed" not in repr(dice(0))
    assert "secret" not in repr(Settings(index=0, module=module(ALL), dice=dice(0)))


@pytest.mark.parametrize(
    ("link", "may"),
    [
        (Link(), True),
        (Link(transport="unix:/x"), True),
        (Link(transport="stdio"), True),
        (Link(transport="tcp:h:1"), False),
        (Link(transport="ws:h/interlace"), False),
        (Link(transport="wss:h/interlace", encrypted=True), True),
        (Link(transport="tcp:h:1", encrypted=True), True),
        (Link(transport="tcp:h:1", prove_in_clear=True), True),
    ],
)
def test_where_a_relay_could_not_be_seen_nobody_proves_anything(link: Link, may: bool) -> None:
    assert link.may_prove is may
