"""Hypothesis strategies that tests of every floor share: text, headers, records, facts, cuts, damage.

Rules of this file:
1. What a strategy for a valid thing draws is valid; `damaged` says what was done to it.
2. Secrets are fixed, so that signing the same Plex twice gives the same Seal.
"""

from __future__ import annotations

from unicodedata import normalize

from hypothesis import strategies as st

from lace.facts import RECORD_PREDICATES, Fact
from lace.record import FORBIDDEN, MARK, Blob, Plex, Record, Seal, make_blob, make_plex, make_seal
from lace.signing import Secret
from lace.text import RecordId, Tai, digest, encode, write_tai

SECRETS = tuple(Secret(digest(b"a fixed secret %d" % n)) for n in range(3))
AUX = digest(b"a fixed aux")

# Characters that text goes wrong with: astral ones, marks that compose and marks that do not, Hangul
# letters, C1 controls (two bytes each: allowed), blanks, quotes, backslashes, U+FEFF, the marker itself.
AWKWARD = (
    "aZ09 :/.+-_~'\"\\,()#é\u00df\u0301\u0338\u0327\u0345\u0361\u1100\u1161\u11a8\uac00\u0085\u00a0\u2028"
    "\u3000\ufeff\ufffd\U0001f5a7\U0001d15e\U00020000\U0010ffff名前☕"
)
CONTROLS = [*map(chr, range(0x20)), "\x7f"]
PATH_BYTES = 255


def texts(min_size: int = 0, max_size: int = 12, without: str = "") -> st.SearchStrategy[str]:
    """Draw composed text without control characters, often awkward."""
    characters = st.characters(exclude_categories=["Cs"], exclude_characters=[*CONTROLS, *without])
    awkward = st.sampled_from([c for c in AWKWARD if c not in without])
    drawn = st.text(awkward | characters, min_size=min_size, max_size=max_size)
    # Composing can bring back what was left out: U+037E, the Greek question mark, becomes a semicolon.
    return drawn.map(lambda text: normalize("NFC", text)).filter(lambda text: not set(text) & set(without))


def _is_segment(text: str) -> bool:
    return text not in ("", ".", "..")


def paths() -> st.SearchStrategy[str]:
    """Draw what can be a Group, App or Name, sometimes of 255 bytes."""
    segment = (texts(1, 6, without="/") | st.just("...") | st.just(".x")).filter(_is_segment)
    short = st.lists(segment, min_size=1, max_size=3).map("/".join)
    plain = st.sampled_from(["u", "u/v/w", "links/1", "groupe/café", "x" * PATH_BYTES, "é" * 127 + "x"])
    return plain | short.filter(lambda path: not path.startswith(" ") and len(path.encode()) <= PATH_BYTES)


def header_names() -> st.SearchStrategy[str]:
    """Draw the name of an extra header; one called 🖧 would read as a markline."""
    drawn = texts(1, 6, without=": ").filter(
        lambda name: name not in FORBIDDEN and name not in ("", "\U0001f5a7")
    )
    return st.sampled_from(["Tag", "Note", "+Link", "+", "type", "Überschrift"]) | drawn


def header_values() -> st.SearchStrategy[str]:
    """Draw a header value: not empty, no space first, one last now and then."""
    drawn = texts(1, 12).filter(lambda value: value != "" and not value.startswith(" "))
    return st.sampled_from(["x", "trailing ", "12:30: late", "it's \\ here"]) | drawn | links()


def record_ids(suffix: str = ".H3") -> st.SearchStrategy[RecordId]:
    """Draw the id of some record of any type; it need not be the hash of anything."""
    return st.builds(
        lambda letter, payload: RecordId(f"{letter}.{encode(payload)}{suffix}"),
        st.sampled_from("BPS"),
        st.binary(min_size=32, max_size=32),
    )


def links() -> st.SearchStrategy[str]:
    """Draw the value of a record link, also to records of unknown formats."""
    target = record_ids() | record_ids(".H9x") | record_ids(".Blake4")
    data = st.sampled_from(["", "evidence ", "two words ", "a  "])
    return st.builds(lambda data, target: data + target, data, target)


def tais() -> st.SearchStrategy[Tai]:
    """Draw a TAI time."""
    return st.builds(write_tai, st.integers(0, 9_999_999_999), st.integers(0, 999_999_999))


def headers(max_size: int = 5) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Draw extra headers; names and values repeat."""
    return st.lists(st.tuples(header_names(), header_values()), max_size=max_size)


def data(max_size: int = 40) -> st.SearchStrategy[bytes]:
    """Draw a Blob's data, sometimes such as looks like the start of a record."""
    lookalike = st.sampled_from([MARK, b"\n" + MARK, b"\n\n", b"Data-Length: 3\n\n", b"\nTAI: x\n"])
    return st.binary(max_size=max_size) | lookalike


def blobs() -> st.SearchStrategy[Blob]:
    """Draw a Blob."""
    return data().map(make_blob)


def plexes() -> st.SearchStrategy[Plex]:
    """Draw a Plex."""
    return st.builds(make_plex, paths(), paths(), paths(), tais(), data(), headers())


def seals() -> st.SearchStrategy[Seal]:
    """Draw a Seal by one of the fixed secrets."""
    return st.builds(lambda plex, secret: make_seal(plex, secret, AUX), plexes(), st.sampled_from(SECRETS))


def records() -> st.SearchStrategy[Record]:
    """Draw a record of any type."""
    return st.one_of(blobs(), plexes(), seals())


def record_lists(min_size: int = 0, max_size: int = 6) -> st.SearchStrategy[list[Record]]:
    """Draw records that all differ."""
    return st.lists(records(), min_size=min_size, max_size=max_size, unique_by=lambda record: record.id)


def facts() -> st.SearchStrategy[Fact]:
    """Draw a fact of any predicate, record predicates among them."""
    value = texts(0, 8)
    of_records = st.sampled_from(RECORD_PREDICATES).flatmap(
        lambda predicate: st.tuples(st.just(predicate.name), *[value] * predicate.arity)
    )
    others = st.builds(
        lambda name, values: (name, *values),
        st.sampled_from(["Edge", "edge-2", "T~"]),
        st.lists(value, max_size=4),
    )
    return of_records | others


def cuts(size: int) -> st.SearchStrategy[list[int]]:
    """Draw where to cut `size` bytes into pieces."""
    return st.lists(st.integers(0, size), max_size=8).map(sorted)


def pieces(whole: bytes, at: list[int]) -> list[bytes]:
    """Cut bytes at these places.

    >>> pieces(b"abcd", [1, 1, 3])
    [b'a', b'', b'bc', b'd']
    """
    return [whole[start:stop] for start, stop in zip([0, *at], [*at, len(whole)], strict=True)]


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Draw what is left of bytes after one or two accidents."""
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(whole)))
        until = min(len(whole), at + draw(st.sampled_from([1, 1, 2, 30, 200])))
        match draw(st.sampled_from(["flip", "insert", "delete", "truncate", "double", "length", "splice"])):
            case "flip":
                whole = (
                    whole[:at]
                    + bytes(b ^ draw(st.integers(1, 255)) for b in whole[at : at + 1])
                    + whole[at + 1 :]
                )
            case "insert":
                whole = (
                    whole[:at]
                    + draw(st.sampled_from([b"\n", b"\n\n", b"x", MARK, b"\xff", b" "]))
                    + whole[at:]
                )
            case "delete":
                whole = whole[:at] + whole[until:]
            case "truncate":
                whole = whole[:at]
            case "double":
                whole = whole[:until] + whole[at:]
            case "length":
                found = whole.find(b"Data-Length: ", at)
                digits = draw(st.sampled_from([b"0", b"1", b"9", b"77", b"4096", b"9" * 18, b"-1", b"07"]))
                if found >= 0:
                    line_end = whole.find(b"\n", found)
                    whole = whole[: found + 13] + digits + whole[line_end:]
            case "splice":
                whole = whole[:at] + MARK + draw(record_ids()).encode() + b"\n" + whole[at:]
    return whole
