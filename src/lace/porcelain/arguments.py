"""Arguments of the Python API that have a wrong type, told before they do harm.

Rules of this file:
1. Only mistakes that are easily made are looked for: text for bytes, one text for many, a name for a key.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.errors import InputError
from lace.porcelain.table import Condition, parse_condition
from lace.signing import Secret


class WrongArgument(InputError):
    """A call with something that is not meant there."""

    code = "lace/argument"
    text = "{name} is {wanted}; {found} was given"


def check_data(data: object) -> None:
    """Refuse data that is not bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        wanted = "bytes, such as 'text'.encode()"
        raise WrongArgument(name="data", wanted=wanted, found=_named(data))


def check_secret(sign: object) -> None:
    """Refuse to sign with anything but a secret."""
    if sign is not None and not isinstance(sign, Secret):
        raise WrongArgument(
            name="sign", wanted="a Secret, such as a Keyring or new_secret() gives", found=_named(sign)
        )


def check_pairs(extra: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return extra headers, each a name and a value.

    >>> check_pairs([("Tag", "food")])
    [('Tag', 'food')]
    """
    pairs = list(extra)
    for each in pairs:
        if not (isinstance(each, tuple | list) and len(each) == 2 and all(isinstance(e, str) for e in each)):
            raise WrongArgument(name="extra", wanted="pairs of name and value, both text", found=repr(each))
    return pairs


def read_conditions(where: str | Iterable[str | Condition]) -> list[Condition]:
    """Return conditions of text; one text is one condition, and not one a character.

    >>> [condition.field for condition in read_conditions("Group=u")]
    ['Group']
    """
    given = (where,) if isinstance(where, str) else where
    return [parse_condition(each) if isinstance(each, str) else each for each in given]


def check_limit(limit: int | None) -> int | None:
    """Refuse a number of rows below 0."""
    if limit is not None and limit < 0:
        raise WrongArgument(name="limit", wanted="None, or a number from 0 on", found=str(limit))
    return limit


def _named(given: object) -> str:
    return f"a value of type {type(given).__name__}"
