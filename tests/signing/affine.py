"""secp256k1 with school arithmetic: slow, obvious, and nothing in common with what it judges."""

from __future__ import annotations

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
G = (
    0x79BE667E_F9DCBBAC_55A06295_CE870B07_029BFCDB_2DCE28D9_59F2815B_16F81798,
    0x483ADA77_26A3C465_5DA4FBFC_0E1108A8_FD17B448_A6855419_9C47D08F_FB10D4B8,
)

Point = tuple[int, int] | None
"""None is the point at infinity."""


def add(one: Point, other: Point) -> Point:
    if one is None:
        return other
    if other is None:
        return one
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    if one == other:
        slope = 3 * x1 * x1 * pow(2 * y1, -1, P) % P
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P) % P
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def negate(point: Point) -> Point:
    return None if point is None else (point[0], -point[1] % P)


def multiply(scalar: int, point: Point) -> Point:
    result: Point = None
    for bit in f"{scalar % N:b}":
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def lift_even(x: int) -> Point:
    """Return the point with this x and an even y, or None where there is none."""
    square = (x**3 + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if x >= P or y * y % P != square:
        return None
    return x, y if y % 2 == 0 else P - y


def write(point: Point) -> bytes | None:
    """Write a point as 02 or 03 and its x."""
    return None if point is None else bytes([2 + point[1] % 2]) + point[0].to_bytes(32, "big")
