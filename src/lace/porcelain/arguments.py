"""Arguments of the Python API that have a wrong type, told before they do harm.

Rules of this file:
1. Only mistakes that are easily made are looked for: text for bytes, one text for many, a name for a key.
2. An option that nobody knows is refused: whoever gave it believes that it is in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from io import TextIOBase
from pathlib import PurePath
from typing import Final, NamedTuple

from lace.errors import InputError, TextError
from lace.porcelain.table import Condition, TableView, parse_condition
from lace.porcelain.times import parse_time
from lace.record import Blob, Plex, Record, Seal
from lace.signing import Secret
from lace.text import Tai, Verifier, parse_verifier

MEANT: Final = {"require_peer": "expected", "peer": "expected", "secret": "sign", "key": "sign"}
"""Options under the names that they have elsewhere."""
SECRET: Final = "a Secret, such as a Keyring or new_secret() gives"
REFERENCE: Final = "text: an id, the beginning of one, or //group//app//name"
CONDITIONS: Final = "a condition such as 'Group=u', or a list of them"


MOST_ROWS: Final = 1 << 62
"""Nobody has so many: a limit beyond it lets all of them through, and one more still fits a machine word."""
SECONDS: Final = frozenset({"look_seconds", "timeout"})
"""Options that are times."""


class WrongArgument(InputError):
    """A call with something that is not meant there."""

    code = "lace/argument"
    text = "{name} is {wanted}; {found} was given"


class UnknownOption(WrongArgument):
    """A keyword that a call does not know; nothing was done."""

    code = "lace/option"
    text = "there is no option {name}{hint}; there are {known}"


class Kind(NamedTuple):
    """What an option may be."""

    types: type | tuple[type, ...]
    wanted: str
    optional: bool = True
    """Whether it may be None."""


def check_options(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are no options, and say which may have been meant."""
    from difflib import get_close_matches

    names = sorted(known)
    for name in given:
        if name not in names:
            meant = MEANT.get(name, "")
            near = [meant] if meant in names else get_close_matches(name, names, 1)
            hint = "".join(f" (did you mean {each}?)" for each in near)
            raise UnknownOption(name=name, hint=hint, known=", ".join(names))


def check_kinds(given: Mapping[str, object], kinds: Mapping[str, Kind]) -> None:
    """Refuse options that have another type than they must."""
    for name, value in given.items():
        kind = kinds.get(name)
        if kind is not None and not isinstance(value, kind.types) and not (value is None and kind.optional):
            raise WrongArgument(name=name, wanted=kind.wanted, found=_named(value))
        if name in SECONDS and value is not None:
            _check_seconds(name, value)


def _check_seconds(name: str, value: object) -> None:
    # A clock compares with whatever it is given: what is no number would never be over.
    if isinstance(value, bool) or not (isinstance(value, int | float) and 0 < value < float("inf")):
        raise WrongArgument(name=name, wanted="a number of seconds, more than 0", found=repr(value)[:40])


def check_text(name: str, given: object, wanted: str = "text") -> None:
    """Refuse what is not text."""
    if not isinstance(given, str):
        raise WrongArgument(name=name, wanted=wanted, found=_named(given))


def check_part(name: str, given: object) -> None:
    """Refuse what is not text, and an empty one: it is a part of everything."""
    if given is not None:
        wanted = "text that is not empty, or None for all of them"
        check_text(name, given, wanted)
        if not given:
            raise WrongArgument(name=name, wanted=wanted, found=repr(given))


def check_reference(given: object) -> None:
    """Refuse what names no record: one that was made, or a list of names."""
    if isinstance(given, list | tuple | set | frozenset):
        found = f"a {type(given).__name__}, whose items go in one by one, as with *ids,"
        raise WrongArgument(name="reference", wanted=REFERENCE, found=found)
    check_text("reference", given, REFERENCE)


def check_many(name: str, given: object, wanted: str) -> None:
    """Refuse one text where many things are wanted: it would be taken letter by letter."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise WrongArgument(name=name, wanted=wanted, found=_named(given))


def check_records(given: Iterable[Record]) -> list[Record]:
    """Return records that a caller gave, and refuse what is none, such as the bytes or the id of one."""
    check_many("records", given, "a list of records")
    records = list(given)
    for each in records:
        if not isinstance(each, Blob | Plex | Seal):
            wanted = "a list of records, such as make(…) or parse_record(raw) gives"
            raise WrongArgument(name="records", wanted=wanted, found=f"one with {_named(each)}")
    return records


def check_offers(name: str, given: object, method: str, wanted: str) -> None:
    """Refuse what does not offer the method that is needed of it."""
    if not callable(getattr(given, method, None)):
        raise WrongArgument(name=name, wanted=wanted, found=_named(given))


def check_store(store: object) -> None:
    """Refuse what is no store, such as the path of one."""
    if store is not None:
        wanted = "an open store, such as lace.store; Lace.open(path) opens one, Lace.init(path) makes one"
        check_offers("store", store, "fact_columns", wanted)


def check_sources(sources: Iterable[object]) -> None:
    """Refuse what cannot be read from: bytes are no stream of them."""
    for each in sources:
        if not isinstance(each, str | PurePath):
            check_offers("source", each, "read", "a path, or an open stream such as io.BytesIO(data)")
            _check_binary("source", each)


def check_target(target: object) -> None:
    """Refuse what cannot be written to."""
    if not isinstance(target, str | PurePath):
        check_offers("target", target, "write", "a path, or an open stream such as io.BytesIO()")
        _check_binary("target", target)


def _check_binary(name: str, stream: object) -> None:
    # The text of a file is not its bytes: line ends and whatever is no UTF-8 become something else.
    if isinstance(stream, TextIOBase):
        wanted = "a stream of bytes, such as open(path, 'rb') or open(path, 'wb')"
        raise WrongArgument(name=name, wanted=wanted, found="one of text")


def check_view(view: object) -> None:
    """Refuse what is no view, such as its columns."""
    if view is not None and not isinstance(view, TableView):
        wanted = "a TableView, such as lace.view('Name,TAI', where='Group=u') gives"
        raise WrongArgument(name="view", wanted=wanted, found=_named(view))


def check_choice(name: str, given: object, known: Iterable[str]) -> None:
    """Refuse what is none of these words."""
    words = list(known)
    if given not in words:
        raise WrongArgument(name=name, wanted=" or ".join(map(repr, words)), found=repr(given)[:40])


def read_link(link: str | tuple[str, str]) -> tuple[str, str]:
    """Return the data and the target of a link.

    >>> read_link("//u//notes//first"), read_link(("reply", "//u//notes//first"))
    (('', '//u//notes//first'), ('reply', '//u//notes//first'))
    """
    pair = ("", link) if isinstance(link, str) else link
    if isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(each, str) for each in pair):
        return pair[0], pair[1]
    wanted = f"a target or a pair (data, target), and a target is {REFERENCE}"
    raise WrongArgument(name="link", wanted=wanted, found=_named(link))


def check_data(data: object) -> None:
    """Refuse data that is not bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        wanted = "bytes, such as 'text'.encode()"
        raise WrongArgument(name="data", wanted=wanted, found=_named(data))


def check_secret(sign: object) -> None:
    """Refuse to sign with anything but a secret."""
    if sign is not None and not isinstance(sign, Secret):
        raise WrongArgument(name="sign", wanted=SECRET, found=_named(sign))


def check_verifier(name: str, given: object) -> None:
    """Refuse what is no verifier: a name, or the secret itself."""
    found = repr(given)[:60] if isinstance(given, str) else _named(given)
    try:
        parse_verifier(str(given))
    except TextError:
        wanted = "a verifier V.….H3, such as secret.verifier"
        raise WrongArgument(name=name, wanted=wanted, found=found) from None


def read_verifier(name: str, given: object) -> Verifier | None:
    """Return the verifier that a caller gave; None is somebody who proves nothing."""
    if given is None:
        return None
    if isinstance(given, str):
        with suppress(TextError):
            return parse_verifier(given)
    wanted = "a verifier V.….H3, such as secret.verifier, or None for somebody who proves nothing"
    raise WrongArgument(name=name, wanted=wanted, found=repr(given)[:60])


def check_pairs(extra: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return extra headers, each a name and a value.

    >>> check_pairs([("Tag", "food")])
    [('Tag', 'food')]
    """
    check_many("extra", extra, "pairs of name and value, both text")
    pairs = list(extra)
    for each in pairs:
        if not (isinstance(each, tuple | list) and len(each) == 2 and all(isinstance(e, str) for e in each)):
            raise WrongArgument(name="extra", wanted="pairs of name and value, both text", found=repr(each))
    return pairs


def read_conditions(where: str | Iterable[str | Condition], now: Tai) -> list[Condition]:
    """Return conditions of text; one text is one condition, and not one a character.

    >>> [condition.value for condition in read_conditions("TAI>=2022-01-01", Tai("1700000000:000000000"))]
    ['1640995237:000000000']
    """
    given = (where,) if isinstance(where, str) else where
    check_many("where", given, CONDITIONS)
    if isinstance(given, Mapping):  # of which the names alone would be conditions: that they are there
        raise WrongArgument(name="where", wanted=CONDITIONS, found=_named(given))
    return [_timed(_read_condition(each), now) for each in given]


def _read_condition(given: object) -> Condition:
    if isinstance(given, str):
        return parse_condition(given)
    if not isinstance(given, Condition):
        raise WrongArgument(name="where", wanted=CONDITIONS, found=f"one with {_named(given)}")
    return given


def _timed(condition: Condition, now: Tai) -> Condition:
    # Tables show a TAI as a time in UTC: compared as text, whatever people type would be after it or before.
    if condition.field != "TAI" or condition.sign in ("~", "?"):
        return condition
    return replace(condition, value=parse_time(condition.value, now))


def check_limit(limit: int | None, name: str = "limit") -> int | None:
    """Return a number of rows that can be counted with, and refuse what is none, or below 0."""
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise WrongArgument(name=name, wanted="None, or a number from 0 on", found=repr(limit)[:40])
    return min(limit, MOST_ROWS)


def _named(given: object) -> str:
    if isinstance(given, Blob | Plex | Seal):
        return "a record, and not its .id,"
    return f"a value of type {type(given).__name__}"
