"""Signing and verifying: the golden vectors, a second implementation in school arithmetic, and threads."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.errors import TextError
from lace.signing import Secret, SigningFault, WrongSize, ZeroAux, parse_secret, sign, verify
from lace.text import decode, derive, encode, id_payload, parse_verifier
from tests.golden import load_vectors
from tests.signing import affine

GOLDEN = load_vectors("ids_signatures")
SECRET = Secret(bytes(range(32)))
OTHER = Secret(bytes(range(1, 33)))
AUX = bytes(range(32, 64))
MESSAGE = bytes(range(64, 96))

digests = st.binary(min_size=32, max_size=32)


def affine_verify(msg32: bytes, verifier: bytes, signature: bytes) -> bool:
    """Verify as PROFILE section 3 says it, with school arithmetic."""
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    point = affine.lift_even(int.from_bytes(verifier, "big"))
    if r >= affine.P or s >= affine.N or point is None:
        return False
    e = int.from_bytes(derive("lace-🖧/challenge", signature[:32] + verifier + msg32), "big") % affine.N
    found = affine.add(affine.multiply(s, affine.G), affine.negate(affine.multiply(e, point)))
    return found is not None and found[1] % 2 == 0 and found[0] == r


def golden_verify(case: dict[str, str]) -> bool:
    try:
        signature = decode(case["signature"])
    except TextError:
        return False
    if len(signature) != 64:
        return False
    return verify(bytes.fromhex(case["msg32_hex"]), id_payload(parse_verifier(case["verifier"])), signature)


@pytest.mark.parametrize("case", GOLDEN["sign"], ids=lambda case: case["secret"][:8])
def test_golden_signatures_are_made_to_the_byte(case: dict[str, str]) -> None:
    secret, msg32 = parse_secret(case["secret"]), bytes.fromhex(case["msg32_hex"])
    signature = sign(msg32, secret, bytes.fromhex(case["aux_hex"]))
    assert signature.hex() == case["signature_hex"]
    assert encode(signature) == case["signature"]
    assert verify(msg32, secret.verifier_bytes, signature)
    assert affine_verify(msg32, secret.verifier_bytes, signature)


@pytest.mark.parametrize("case", GOLDEN["verify"], ids=lambda case: case["why"])
def test_golden_signatures_are_judged(case: dict[str, Any]) -> None:
    assert golden_verify(case) is case["valid"]


@given(digests, digests, digests.filter(any))
@settings(max_examples=30)
def test_what_is_signed_verifies_and_only_as_signed(payload: bytes, msg32: bytes, aux: bytes) -> None:
    secret = Secret(payload)
    signature = sign(msg32, secret, aux)
    assert sign(msg32, secret, aux) == signature
    assert verify(msg32, secret.verifier_bytes, signature)
    assert affine_verify(msg32, secret.verifier_bytes, signature)
    assert not verify(bytes(b ^ 1 for b in msg32), secret.verifier_bytes, signature)
    assert not verify(msg32, SECRET.verifier_bytes, signature) or secret == SECRET


@given(st.integers(0, 511))
def test_one_changed_bit_of_a_signature_is_enough(bit: int) -> None:
    signature = sign(MESSAGE, SECRET, AUX)
    changed = (int.from_bytes(signature, "big") ^ 1 << bit).to_bytes(64, "big")
    assert not verify(MESSAGE, SECRET.verifier_bytes, changed)


@given(st.integers(0, 255))
def test_one_changed_bit_of_digest_or_verifier_is_enough(bit: int) -> None:
    signature = sign(MESSAGE, SECRET, AUX)
    flip = 1 << bit
    message = (int.from_bytes(MESSAGE, "big") ^ flip).to_bytes(32, "big")
    verifier = (int.from_bytes(SECRET.verifier_bytes, "big") ^ flip).to_bytes(32, "big")
    assert not verify(message, SECRET.verifier_bytes, signature)
    assert not verify(MESSAGE, verifier, signature)


EDGES = [0, 1, affine.N - 1, affine.N, affine.N + 2, affine.P - 1, affine.P, 2**256 - 1]
numbers = st.sampled_from(EDGES) | st.integers(0, 2**256 - 1)


@given(digests, numbers, numbers, numbers)
@settings(max_examples=40)
def test_any_bytes_are_judged_like_school_arithmetic_does(msg32: bytes, x: int, r: int, s: int) -> None:
    verifier, signature = x.to_bytes(32, "big"), r.to_bytes(32, "big") + s.to_bytes(32, "big")
    assert verify(msg32, verifier, signature) == affine_verify(msg32, verifier, signature)


def test_a_signature_with_s_of_zero_is_judged_by_its_point() -> None:
    # R = -e*P has the right x only by chance, so what is left to show is that nothing breaks.
    for r in (bytes(32), SECRET.verifier_bytes):
        assert not verify(MESSAGE, SECRET.verifier_bytes, r + bytes(32))


def test_a_verifier_at_the_group_order_can_be_asked_for() -> None:
    for x in (affine.N, affine.N + 2):
        assert not verify(MESSAGE, x.to_bytes(32, "big"), sign(MESSAGE, SECRET, AUX))


@pytest.mark.parametrize("size", [0, 31, 33, 63, 65])
def test_other_lengths_are_refused_before_the_library_reads_them(size: int) -> None:
    signature = sign(MESSAGE, SECRET, AUX)
    with pytest.raises(WrongSize, match=f"the message digest must have 32 bytes, {size} were given"):
        verify(bytes(size), SECRET.verifier_bytes, signature)
    with pytest.raises(WrongSize, match="the verifier must have 32 bytes"):
        verify(MESSAGE, bytes(size), signature)
    with pytest.raises(WrongSize, match="the signature must have 64 bytes"):
        verify(MESSAGE, SECRET.verifier_bytes, bytes(size))
    with pytest.raises(WrongSize, match="the message digest must have 32 bytes"):
        sign(bytes(size), SECRET, AUX)
    with pytest.raises(WrongSize, match="the aux must have 32 bytes"):
        sign(MESSAGE, SECRET, b"x" * size)


def test_the_aux_must_not_be_zero() -> None:
    with pytest.raises(ZeroAux, match="32 fresh random bytes"):
        sign(MESSAGE, SECRET, bytes(32))


def test_another_aux_gives_another_signature_that_verifies_too() -> None:
    other = sign(MESSAGE, SECRET, AUX[::-1])
    assert other != sign(MESSAGE, SECRET, AUX)
    assert verify(MESSAGE, SECRET.verifier_bytes, other)


@pytest.mark.parametrize("slot", ["_scalar", "verifier_bytes"])
def test_a_signature_that_went_wrong_is_withheld(slot: str) -> None:
    # A bit that falls over in memory: scalar and verifier no longer belong together.
    faulty = Secret(bytes(range(32)))
    object.__setattr__(faulty, slot, getattr(OTHER, slot))
    with pytest.raises(SigningFault) as caught:
        sign(MESSAGE, faulty, AUX)
    assert set(caught.value.fields) == {"verifier"}


@pytest.fixture
def eager_switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_switching")
def test_four_threads_judge_like_one() -> None:
    dice = random.Random(20)
    cases = []
    for _ in range(150):
        secret, msg32 = Secret(dice.randbytes(32)), dice.randbytes(32)
        good = sign(msg32, secret, dice.randbytes(32))
        forged = good[:32] + (int.from_bytes(good[32:], "big") ^ 1 << dice.randrange(250)).to_bytes(32, "big")
        # Forged and good ones of the same key stand side by side, so that a mix-up would show.
        cases += [(msg32, secret.verifier_bytes, good), (msg32, secret.verifier_bytes, forged)]
    alone = [verify(*case) for case in cases]
    assert alone == [True, False] * 150

    start = Barrier(4)
    disagreements: list[int] = []

    def judge(shift: int) -> None:
        order = [(i + shift) % len(cases) for i in range(len(cases))]
        start.wait()
        for _ in range(10):
            disagreements.extend(i for i in order if verify(*cases[i]) != alone[i])

    threads = [Thread(target=judge, args=(75 * k + k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert disagreements == []


@pytest.mark.usefixtures("eager_switching")
def test_threads_sign_what_one_would_sign() -> None:
    jobs = [(bytes([i]) * 32, Secret(bytes([i + 1]) * 32), bytes([i + 2]) * 32) for i in range(50)]
    alone = [sign(*job) for job in jobs]
    start = Barrier(4)
    made: list[list[bytes]] = [[] for _ in range(4)]

    def work(into: list[bytes]) -> None:
        start.wait()
        into.extend(sign(*job) for job in jobs)

    threads = [Thread(target=work, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [alone] * 4
