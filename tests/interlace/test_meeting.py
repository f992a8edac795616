"""Two machines of one process come to one plan, or both are told why not."""

from __future__ import annotations

from lace.interlace import Cause, InterlaceMachine, Met, Moment, Parted, Phase, Settings, meet
from lace.text import Tai
from tests.interlace.pair import ALL, dice, module
from tests.interlace.scenarios import GROUP_U

NOW = Moment(Tai("1640995200:000000000"), 0.0)


def machine(index: int, text: str = ALL, formats: str = "H3") -> InterlaceMachine:
    return InterlaceMachine(
        Settings(index=index, module=module(text), dice=dice(index), formats=frozenset({formats}))
    )


def test_both_agree_on_one_plan() -> None:
    zero, one = machine(0), machine(1, GROUP_U)
    met = meet(zero, one, NOW)
    assert isinstance(met, Met)
    assert met.zero.plan.id == met.one.plan.id
    assert (met.zero.side, met.one.side) == (0, 1)
    assert met.zero.terms == met.one.terms
    assert zero.phase is one.phase is Phase.PREPARE


def test_whoever_cannot_agree_says_why_and_the_other_is_left() -> None:
    met = meet(machine(0), machine(1, formats="H9"), NOW)
    assert isinstance(met, Parted)
    assert {each.cause for each in met} <= {Cause.PROTOCOL, Cause.PEER_CLOSED}
    assert "interlace/record-format" in {each.error.code for each in met if each.error is not None}
