"""Secrets: derived as the profile says, and shown to nobody who did not ask."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.errors import InputError
from lace.signing import Secret, SecretStays, SigningFault, WrongSize, parse_secret, sign
from lace.signing.keys import scalar_of
from lace.text import encode, id_payload, parse_verifier
from tests.golden import load_vectors
from tests.signing import affine

GOLDEN = load_vectors("ids_signatures")
PAYLOAD = bytes(range(100, 132))
SECRET = Secret(PAYLOAD)


def assert_hidden(shown: str) -> None:
    """Look for the payload and the scalar in every form that they could be printed in."""
    for hidden in (PAYLOAD, scalar_of(SECRET)):
        forms = [
            encode(hidden),
            hidden.hex(),
            repr(hidden)[2:-1],
            str(list(hidden))[1:-1],
            str(int.from_bytes(hidden)),
        ]
        forms += [form[:12] for form in forms]
        assert [form for form in forms if form in shown] == []


@pytest.mark.parametrize("case", GOLDEN["keys"], ids=lambda case: case["secret"][:8])
def test_golden_secrets_have_their_scalar_and_verifier(case: dict[str, str]) -> None:
    secret = parse_secret(case["secret"])
    assert secret.verifier == case["verifier"]
    assert secret.verifier_bytes == id_payload(parse_verifier(case["verifier"]))
    assert scalar_of(secret).hex() == case["scalar_hex"]
    assert secret.reveal() == case["secret"]


@given(st.binary(min_size=32, max_size=32))
@settings(max_examples=20)
def test_a_revealed_secret_reads_back_and_its_point_has_an_even_y(payload: bytes) -> None:
    secret = Secret(payload)
    assert parse_secret(secret.reveal()) == secret
    point = affine.multiply(int.from_bytes(scalar_of(secret), "big"), affine.G)
    assert affine.write(point) == b"\x02" + secret.verifier_bytes


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_secret_has_32_bytes(size: int) -> None:
    with pytest.raises(WrongSize, match=f"the secret must have 32 bytes, {size} were given"):
        Secret(bytes(size))


SHOWS: list[Callable[[Any], str]] = [
    repr,
    str,
    ascii,
    "{}".format,
    "{!r:>200}".format,
    lambda secret: f"{secret}",
    lambda secret: "%s %r" % (secret, secret),  # noqa: UP031
    lambda secret: pprint.pformat({"key": [secret]}),
    lambda secret: json.dumps({"key": secret}, default=str),
    lambda secret: repr(Exception(secret)),
    lambda secret: str(secret.__dir__()),
]


@pytest.mark.parametrize("show", SHOWS)
def test_printing_shows_the_verifier_at_most(show: Callable[[Any], str]) -> None:
    assert_hidden(show(SECRET))


def test_the_search_for_secrets_finds_one() -> None:
    with pytest.raises(AssertionError):
        assert_hidden(f"log line with {SECRET.reveal()}")


def test_repr_names_the_public_half() -> None:
    assert repr(SECRET) == f"Secret(of {SECRET.verifier})"


def test_there_is_no_dictionary_of_attributes() -> None:
    with pytest.raises(TypeError):
        vars(SECRET)


def test_logging_shows_the_verifier_at_most(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("signing with %s, %r", SECRET, {"key": SECRET})
    assert SECRET.verifier in caplog.text
    assert_hidden(caplog.text)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_not_pickled(protocol: int) -> None:
    for thing in (SECRET, [SECRET], {"key": SECRET}):
        with pytest.raises(SecretStays, match="reveal"):
            pickle.dumps(thing, protocol)


def test_the_state_of_a_secret_is_not_given_out() -> None:
    with pytest.raises(SecretStays):
        SECRET.__getstate__()


def bad_texts() -> list[str]:
    text = SECRET.reveal()
    return [
        text[:-1],
        text[1:],
        text + "\n",
        text.replace("&", "V"),
        text[:44] + "1.H3",
        f" {text}",
        text.lower(),
    ]


@pytest.mark.parametrize("text", bad_texts())
def test_an_error_about_a_secret_does_not_repeat_it(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_secret(text)
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    shown = [str(error), repr(error), str(error.args), str(error.to_json()), str(again.fields)]
    shown += [pickle.dumps(error).decode("latin-1"), "".join(traceback.format_exception_only(error))]
    for line in shown:
        assert_hidden(line)
        assert text[2:10] not in line


def test_a_withheld_signature_does_not_show_the_key() -> None:
    faulty = Secret(PAYLOAD)
    object.__setattr__(faulty, "verifier_bytes", Secret(bytes(32)).verifier_bytes)
    with pytest.raises(SigningFault) as caught:
        sign(bytes(32), faulty, b"a" * 32)
    assert_hidden(f"{caught.value!r} {caught.value.fields} {pickle.dumps(caught.value)!r}")


@pytest.mark.parametrize("name", ["_payload", "_scalar", "verifier", "verifier_bytes", "new"])
def test_a_secret_never_changes(name: str) -> None:
    with pytest.raises(AttributeError, match="never changes"):
        setattr(SECRET, name, b"")
    with pytest.raises(AttributeError, match="never changes"):
        delattr(SECRET, name)
    assert Secret(PAYLOAD) == SECRET


def test_changing_the_given_bytes_afterwards_changes_nothing() -> None:
    given_bytes = bytearray(PAYLOAD)
    secret = Secret(given_bytes)  # type: ignore[arg-type]
    given_bytes[0] ^= 1
    assert secret == SECRET
    assert secret.reveal() == SECRET.reveal()


def test_secrets_are_equal_when_their_payloads_are() -> None:
    same, other = Secret(PAYLOAD), Secret(bytes(32))
    assert (same == SECRET, hash(same) == hash(SECRET), len({same, SECRET, other})) == (True, True, 2)
    assert other != SECRET
    assert SECRET.reveal() != SECRET
    assert PAYLOAD != SECRET


def test_a_copy_of_a_secret_is_itself() -> None:
    assert copy.copy(SECRET) is SECRET
    assert copy.deepcopy({"key": SECRET})["key"] is SECRET
