"""Every road through the curve library, judged by school arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lace.signing import ScalarOutOfRange
from lace.signing.curve import ORDER, even_scalar, multiply_add, reduce, scalar_bytes, subtract
from tests.signing import affine

# The x coordinates at and above the group order that are on the curve: recovery knows them by r = x - n.
HIGH = [x for x in range(affine.N, affine.N + 40) if affine.lift_even(x)]
OFF_CURVE = [x for x in (0, 5, affine.N + 1, affine.P - 1) if affine.lift_even(x) is None]

scalars = st.one_of(
    st.integers(0, affine.N - 1),
    st.sampled_from([0, 1, 2, 3, affine.N - 1, affine.N - 2, (affine.N - 1) // 2, affine.N >> 128]),
)
secrets = scalars.filter(bool)


def expected(s: int, e: int, x: int) -> bytes | None:
    point = affine.lift_even(x)
    if point is None:
        return None
    minus = affine.negate(affine.multiply(e, point))
    return affine.write(affine.add(affine.multiply(s, affine.G), minus))


def as_bytes(number: int) -> bytes:
    return number.to_bytes(32, "big")


def x_of(d: int) -> int:
    point = affine.multiply(d, affine.G)
    assert point is not None
    return point[0]


def test_the_order_is_that_of_the_curve() -> None:
    assert ORDER == affine.N
    assert affine.multiply(affine.N - 1, affine.G) == affine.negate(affine.G)


@given(scalars, scalars, secrets)
@settings(max_examples=40)
@example(0, 0, 1)
@example(0, 1, 1)
@example(1, 0, 1)
@example(1, 1, 1)
def test_s_times_g_minus_e_times_p_is_what_school_arithmetic_says(s: int, e: int, d: int) -> None:
    x = x_of(d)
    assert subtract(s, e, as_bytes(x)) == expected(s, e, x)


def test_the_samples_hold_the_group_order_itself_and_others_above_it() -> None:
    assert HIGH[0] == affine.N
    assert len(HIGH) > 10
    assert len(OFF_CURVE) >= 3


@pytest.mark.parametrize("x", HIGH[:8], ids=lambda x: f"n+{x - affine.N}")
@pytest.mark.parametrize(("s", "e"), [(0, 0), (0, 1), (1, 0), (7, 11), (affine.N - 1, affine.N - 2)])
def test_a_point_whose_x_is_not_below_the_order_counts(x: int, s: int, e: int) -> None:
    assert subtract(s, e, as_bytes(x)) == expected(s, e, x)


@pytest.mark.parametrize("x", [x_of(3), HIGH[0], HIGH[1]])
def test_both_factors_count_modulo_the_order(x: int) -> None:
    for e in (affine.N, affine.N + 1, 2**256 - 1):
        assert subtract(5, e, as_bytes(x)) == expected(5, e % affine.N, x)
    for s in (affine.N, affine.N + 1, 2**256 - 1):
        assert subtract(s, 0, as_bytes(x)) == expected(s % affine.N, 0, x)


@pytest.mark.parametrize("x", [*OFF_CURVE, affine.P, affine.P + x_of(1) % 2**32, 2**256 - 1])
@pytest.mark.parametrize(("s", "e"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_an_x_that_is_on_no_point_gives_nothing(x: int, s: int, e: int) -> None:
    assert subtract(s, e, as_bytes(x)) is None


@given(secrets, secrets)
@settings(max_examples=20)
def test_infinity_is_no_point(d: int, e: int) -> None:
    even, x = even_scalar(as_bytes(d), "test")
    assert subtract(e * int.from_bytes(even, "big") % affine.N, e, x) is None


@given(secrets)
@settings(max_examples=30)
@example(1)
@example(affine.N - 1)
def test_the_even_scalar_is_d_or_its_negative_and_has_an_even_y(d: int) -> None:
    even, x = even_scalar(as_bytes(d), "test")
    assert int.from_bytes(even, "big") in (d, affine.N - d)
    assert affine.write(affine.multiply(int.from_bytes(even, "big"), affine.G)) == b"\x02" + x


@pytest.mark.parametrize("d", [0, affine.N, affine.N + 1, 2**256 - 1])
def test_a_scalar_must_lie_between_zero_and_the_order(d: int) -> None:
    with pytest.raises(ScalarOutOfRange, match="the nonce scalar is zero or not below") as caught:
        even_scalar(as_bytes(d), "nonce")
    assert caught.value.fields == {"what": "nonce"}


@given(secrets, scalars, secrets)
@example(1, 0, 5)
@example(affine.N - 35, 7, 5)
def test_multiplying_and_adding_is_that_of_integers(k: int, e: int, d: int) -> None:
    assert multiply_add(as_bytes(k), as_bytes(e), as_bytes(d)) == as_bytes((k + e * d) % affine.N)


@given(st.integers(0, 2**256 - 1))
@example(0)
@example(affine.N - 1)
@example(affine.N)
@example(2**256 - 1)
def test_reducing_is_the_remainder(number: int) -> None:
    assert reduce(as_bytes(number)) == scalar_bytes(number) == as_bytes(number % affine.N)
