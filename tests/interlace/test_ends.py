"""Every error that ends an exchange has a cause."""

from __future__ import annotations

import pytest

from lace.errors import LaceError
from lace.interlace import (
    Cause,
    ExchangeLimit,
    LoopLimit,
    MalformedBlock,
    PeerLost,
    PhaseTimeout,
    PreparedPolicyRefused,
    RoundTimeout,
    TransferLimit,
    cause_of,
)
from lace.stores import NotStored


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (TransferLimit(limit="x", bound=1, seen=2, advice=""), Cause.TRANSFER_LIMIT),
        (LoopLimit(limit="x", bound=1), Cause.LOOP_LIMIT),
        (RoundTimeout(bound=1), Cause.ROUND_TIMEOUT),
        (PhaseTimeout(seconds=1, phase="hello"), Cause.PHASE_TIMEOUT),
        (PeerLost(phase="hello"), Cause.PEER_LOST),
        (NotStored(record_id="x", where="memory"), Cause.STORE),
        (PreparedPolicyRefused(reason="x"), Cause.POLICY),
        (ExchangeLimit(limit="x", bound=1, seen=2, advice=""), Cause.LIMIT),
        (MalformedBlock(reason="x"), Cause.PROTOCOL),
    ],
    ids=lambda each: each.code if isinstance(each, LaceError) else each.value,
)
def test_an_error_is_a_cause(error: LaceError, cause: Cause) -> None:
    assert cause_of(error) is cause
