"""A direction of a stream: the golden vectors, 060's own examples, and every way to be no stream."""

from __future__ import annotations

from typing import Any

import pytest

from lace.iltp import (
    PREFACE,
    Broken,
    Closed,
    FactBlock,
    PhaseEnd,
    Preface,
    Reader,
    Resource,
    StreamLimits,
    make_fact_block,
    make_record,
    write,
)
from lace.record import make_blob
from tests.golden import load_vectors
from tests.iltp.samples import (
    HELLO_WORLD,
    LACEGRAM_TEXT,
    RULES,
    SMALL,
    fault,
    plain,
    read,
    read_after_preface,
    rewrite,
    told,
)

GOLDEN = load_vectors("iltp")
TRACES = load_vectors("traces")["cases"]
SPLITS = (1, 2, 3, 5, 7, 16, 10_000)


@pytest.mark.req("060-011", "060-044", "060-049")
@pytest.mark.parametrize("case", GOLDEN["accept"], ids=lambda case: case["name"])
def test_a_golden_stream_has_these_items_however_it_is_cut(case: dict[str, Any]) -> None:
    stream = bytes.fromhex(case["hex"])
    whole = read(stream)
    assert plain(whole) == case["items"]
    assert isinstance(whole[-1], Closed)
    for size in SPLITS:
        assert told(read(stream, size=size)) == told(whole)


@pytest.mark.parametrize("case", GOLDEN["reject"], ids=lambda case: case["name"])
def test_a_golden_stream_is_refused_alike_however_it_is_cut(case: dict[str, Any]) -> None:
    stream = bytes.fromhex(case["hex"])
    whole = read(stream)
    assert isinstance(whole[-1], Broken)
    for size in SPLITS:
        assert told(read(stream, size=size)) == told(whole)


@pytest.mark.req("060-011")
@pytest.mark.parametrize("case", TRACES, ids=lambda case: case["name"])
def test_a_recorded_exchange_is_read_and_written_back_byte_by_byte(case: dict[str, Any]) -> None:
    for side in case["sides"]:
        stream = bytes.fromhex(side["sends_hex"])
        items = read(stream)
        assert isinstance(items[-1], Closed)
        assert rewrite(items) == stream
        assert told(read(stream, size=11)) == told(items)


# 060's example, line by line, with ids in place of its symbols.
_TRACE = r"""
A 🪢: iltp/1\n
B 🪢: iltp/1\n
A 🧩: R.a lacegram\nSelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P).\n\nExchangeOperand('0','R.a','Opq_0','selector')\n\n
B 🧩: R.b lacegram\nSelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P).\n\nExchangeOperand('1','R.b','Opq_1','selector')\n\n
A HelloExchangePlan('E.final')\nHelloTAI('1640995200:000000000')\nHelloTickInterval('10000000000')\nHelloRecordFormat('H3')\nHelloAdvertisedField('Type')\n\n
B HelloExchangePlan('E.final')\nHelloTAI('1640995200:000000000')\nHelloTickInterval('10000000000')\nHelloRecordFormat('H3')\nHelloAdvertisedField('Type')\n\n
A Advertised('B.a.H3','Opq_0')\nAdvertisedField('B.a.H3','Opq_0','Type','0','B')\n\n
B Advertised('B.b.H3','Opq_1')\nAdvertisedField('B.b.H3','Opq_1','Type','0','B')\n\n
A MayRequest('B.b.H3')\n\n
B MayRequest('B.a.H3')\n\n
A 🖧: B.a.H3\nData-Length: 11\n\nhello world\n\n
B 🖧: B.b.H3\nData-Length: 5\n\ndata!\n\n
"""  # noqa: E501


@pytest.mark.parametrize(
    ("side", "mine", "theirs"),
    [("A", HELLO_WORLD, make_blob(b"data!")), ("B", make_blob(b"data!"), HELLO_WORLD)],
)
def test_the_example_of_060_has_its_items_in_its_order(side: str, mine: Any, theirs: Any) -> None:
    a, b = (mine, theirs) if side == "A" else (theirs, mine)
    names = {"R.a": RULES.id, "R.b": RULES.id, "B.a.H3": a.id, "B.b.H3": b.id}
    sent = "".join(line[2:] for line in _TRACE.splitlines() if line.startswith(side)).replace("\\n", "\n")
    for symbol, name in names.items():
        sent = sent.replace(symbol, name)
    index = "0" if side == "A" else "1"
    items = read(sent.encode(), size=3)
    assert items == [
        Preface(),
        Resource(RULES.id, "lacegram", LACEGRAM_TEXT),
        make_fact_block([("ExchangeOperand", index, RULES.id, f"Opq_{index}", "selector")]),
        make_fact_block(
            [
                ("HelloExchangePlan", "E.final"),
                ("HelloTAI", "1640995200:000000000"),
                ("HelloTickInterval", "10000000000"),
                ("HelloRecordFormat", "H3"),
                ("HelloAdvertisedField", "Type"),
            ]
        ),
        make_fact_block(
            [
                ("Advertised", mine.id, f"Opq_{index}"),
                ("AdvertisedField", mine.id, f"Opq_{index}", "Type", "0", "B"),
            ]
        ),
        make_fact_block([("MayRequest", theirs.id)]),
        make_record(mine),
        PhaseEnd(),
        PhaseEnd(),
        Closed(),
    ]
    assert rewrite(items) == sent.encode()


@pytest.mark.req("060-012", "060-013", "060-014", "060-016")
@pytest.mark.parametrize(
    "start",
    [
        b"A()\n\n", b"\n", b"# comment\n" + PREFACE, b" " + PREFACE, b"\0" + PREFACE,
        b"\xef\xbb\xbf" + PREFACE,
        PREFACE[:-1] + b"\r\n", PREFACE[:-1] + b" \n", PREFACE[:-2] + b"2\n", PREFACE[:-1] + b"0\n",
        PREFACE.upper(), PREFACE.replace(b": ", b":"), "🧩: iltp/1\n".encode(), HELLO_WORLD.raw,
        b"GET / HTTP/1.1\r\n",
    ],
)  # fmt: skip
def test_a_direction_begins_with_the_exact_preface(start: bytes) -> None:
    results = [read(start + b"A()\n\n", size=size) for size in SPLITS]
    assert all(told(result) == told(results[0]) for result in results)
    assert plain(results[0]) == [["broken", "iltp/preface"]]


@pytest.mark.req("060-015")
def test_the_preface_is_no_fact_and_no_block() -> None:
    line = "🪢: iltp/1\n".encode()
    assert read(line) == [Preface(), Closed()]
    assert write(Preface()) == line


@pytest.mark.req("060-017")
@pytest.mark.parametrize("start", [b"\n", b"# comment\n\n"])
def test_no_blank_line_follows_the_preface(start: bytes) -> None:
    assert fault(start).code == "iltp/blank-after-preface"


@pytest.mark.req("060-043")
@pytest.mark.parametrize("before", [b"", b"A()\n", b"A()\n\n", HELLO_WORLD.raw, HELLO_WORLD.raw + b"\n"])
def test_a_preface_comes_once(before: bytes) -> None:
    error = fault(before + PREFACE)
    assert (error.code, error.offset) == ("iltp/out-of-place", len(PREFACE) + len(before))


@pytest.mark.req("060-018")
@pytest.mark.parametrize("line", [b"A()\r\n", b"A('x\r')\n", b"A\r()\n", b"A()\r\r\n", b"B()\r"])
def test_a_fact_line_has_no_cr(line: bytes) -> None:
    error = fault(b"A('x')\n" + line + b"\n\n")
    assert (error.code, error.offset) == ("iltp/cr", len(PREFACE) + 7)


@pytest.mark.req("060-018")
@pytest.mark.parametrize(
    "line",
    [
        b"A", b"A(", b"A()B()", b"A() ", b"A ()", b"A('x',)", b"A('x', 'y')", b"A(\"x\")", b"A(x)",
        b"A('x').",
        b"A\0()", b"A()\0", b"A('\\n')", b"A('x\\')", b"A('a'b')", b"A(') # x", b"A() # inline",
        b"A(X) :- B(X).",
        b"\xc3\xa9()", b"A('\xff')", b"A('\xed\xa0\x80')", b"A('\xc0\x80')", "A('cafe\u0301')".encode(),
    ],
)  # fmt: skip
def test_a_fact_line_is_one_fact_in_its_one_spelling(line: bytes) -> None:
    before = b"A('x')\nB('it\\'s')\n# comment\n"
    error = fault(before + line + b"\nC()\n\n")
    assert error.offset == len(PREFACE) + len(before)
    assert error.code == ("iltp/leading-bytes" if line[0] > 0x7F else "iltp/fact-line")


@pytest.mark.req("060-019", "060-051")
@pytest.mark.parametrize(
    "lead", [b"_", b" ", b"\t", b"0", b"9", b"\r", b"\0", b"\xef\xbb\xbf", b"'", b"\x80", b"\xff", b"+"]
)
@pytest.mark.parametrize("before", [b"", b"A()\n", b"A()\n\n", HELLO_WORLD.raw, HELLO_WORLD.raw + b"\n"])
def test_nothing_else_begins_an_item(lead: bytes, before: bytes) -> None:
    error = fault(before + lead + b"A('x')\n\n")
    assert (error.code, error.offset) == ("iltp/leading-bytes", len(PREFACE) + len(before))
    assert error.fields["found"] == lead[:1]


@pytest.mark.req("060-050")
@pytest.mark.parametrize("marker", ["🪢: ", "🧩: ", "🖧: ", "⋯🖧:"])
def test_five_of_six_marker_bytes_are_no_marker(marker: str) -> None:
    raw = marker.encode()
    for at in range(1, len(raw)):
        other = raw[:at] + b"?" + raw[at + 1 :]
        error = fault(b"A()\n\n" + other + b"x\n\n")
        assert (error.code, error.fields["found"]) == ("iltp/leading-bytes", other[: at + 1])
        cut = read_after_preface(b"A()\n\n" + raw[:at])[-1]
        assert isinstance(cut, Broken)
        assert (cut.code, cut.error.fields["place"]) == ("iltp/cut", "inside a marker")


@pytest.mark.req("060-106")
def test_a_fact_line_has_1024_bytes() -> None:
    line = b"A('" + b"x" * 1019 + b"')"
    assert read_after_preface(line + b"\n\n") == [FactBlock(line + b"\n"), Closed()]
    for longer in (
        b"A('" + b"x" * 1020 + b"')\n\n",
        b"A('" + b"x" * 1022,
        b"A" * 1025,
        b"B()\n" + line + b" \n",
    ):
        error = fault(longer)
        assert (error.code, error.fields["limit"]) == ("iltp/line-length", 1024)


@pytest.mark.req("060-106")
def test_a_long_line_among_many_is_found() -> None:
    lines = b"A('x')\n" * 500
    error = fault(lines + b"B('" + b"x" * 1020 + b"')\n" + lines + b"\n")
    assert (error.code, error.offset) == ("iltp/line-length", len(PREFACE) + len(lines))
    error = fault(lines + b"B('\xff')\n" + lines + b"\n")
    assert (error.code, error.offset) == ("iltp/fact-line", len(PREFACE) + len(lines))


@pytest.mark.req("060-112")
@pytest.mark.parametrize("most", range(12, 16))
def test_a_block_is_refused_with_the_line_that_is_too_much(most: int) -> None:
    limits = StreamLimits(block_bytes=most)
    assert read(PREFACE + b"A()\nB()\nC()\n\n", Reader(limits))[1] == FactBlock(b"A()\nB()\nC()\n")
    stream = PREFACE + b"A()\nB()\nC()\n# no line of it\nD()\n\n"
    for size in SPLITS:
        last = read(stream, Reader(limits), size)[-1]
        assert isinstance(last, Broken)
        assert (last.code, last.offset) == ("iltp/block-size", stream.index(b"D"))


def test_the_first_two_blocks_may_have_a_limit_of_their_own() -> None:
    limits = StreamLimits(opening_bytes=8)
    fine = PREFACE + b"A()\nB()\n\n\nA()\n\n" + b"A()\n" * 9 + b"\n"
    assert [item.size for item in read(fine, Reader(limits)) if isinstance(item, FactBlock)] == [8, 4, 36]
    for before in (b"", b"A()\n\n"):
        stream = PREFACE + before + b"A()\nB()\nC()\n\n"
        for size in SPLITS:
            last = read(stream, Reader(limits), size)[-1]
            assert isinstance(last, Broken)
            assert (last.code, last.offset) == ("iltp/block-size", stream.index(b"C"))


def test_a_block_has_so_many_facts_however_short_they_are() -> None:
    limits = StreamLimits(block_facts=3)
    assert read(PREFACE + b"A()\nB()\nC()\n\nA()\n\n", Reader(limits))[1:3] == [
        FactBlock(b"A()\nB()\nC()\n"),
        FactBlock(b"A()\n"),
    ]
    stream = PREFACE + b"A()\nB()\n# no fact\nC()\nD()\n\n"
    for size in SPLITS:
        last = read(stream, Reader(limits), size)[-1]
        assert isinstance(last, Broken)
        assert (last.code, last.offset) == ("iltp/block-facts", stream.index(b"D"))
    error = read(PREFACE + b"A()\nB(\nC()\nD()\n\n", Reader(limits))[-1]
    assert isinstance(error, Broken)
    assert error.code == "iltp/fact-line", "the first line that is wrong is told"


def test_a_fact_block_without_end_is_refused_at_its_limit_and_nothing_is_held() -> None:
    reader = Reader(SMALL)
    reader.feed(PREFACE)
    fed = 0
    items: list[Any] = []
    while not items:
        items = reader.feed(b"A()\n")
        fed += 4
        assert reader.held <= SMALL.block_bytes + 4
    assert (items[0].code, fed) == ("iltp/block-size", 104)
    assert reader.held == 0


@pytest.mark.req("060-048", "060-057", "060-058", "060-062", "060-065")
@pytest.mark.parametrize("comment", [b"#\n", b"# MayRequest('x')\n", b"#A()\n", b"#" + HELLO_WORLD.raw[:55]])
def test_a_comment_may_stand_before_anything_and_vanishes(comment: bytes) -> None:
    resource, record = write(RULES), HELLO_WORLD.raw
    parts = [resource, b"A()\n", b"B('x')\n", b"\n", record, resource, record, b"\n", b"\n", b"C()\n", b"\n"]
    commented = b"# MayRequest('x')\n" + comment.join(parts) + b"# \xe2\x98\x95\0\n"
    assert read_after_preface(commented) == read_after_preface(b"".join(parts))


@pytest.mark.req("060-061")
def test_comments_are_no_part_of_a_blocks_bytes() -> None:
    block = read_after_preface(b"# one\nA()\n# two\nB()\n# three\n\n")[0]
    assert block == FactBlock(b"A()\nB()\n")
    assert isinstance(block, FactBlock)
    assert block.size == 8


@pytest.mark.req("060-059")
def test_a_hash_inside_a_line_is_no_comment() -> None:
    assert read_after_preface(b"A('# x')\n\n") == [FactBlock(b"A('# x')\n"), Closed()]
    assert fault(b"A() # x\n\n").code == "iltp/fact-line"
    assert fault(b" # x\n").code == "iltp/leading-bytes"


@pytest.mark.req("060-060", "060-107")
def test_a_comment_has_128_bytes_with_its_lf() -> None:
    assert read_after_preface(b"#" + b"c" * 126 + b"\nA()\n\n") == [FactBlock(b"A()\n"), Closed()]
    for comment in (b"#" + b"c" * 127 + b"\n", b"#" + b"c" * 127, b"#" + b"\xff" * 200):
        error = fault(comment)
        assert (error.code, error.fields["limit"]) == ("iltp/line-length", 128)


@pytest.mark.req("060-064", "060-065")
@pytest.mark.parametrize("before", [b"", b"A()\n", b"A()\n\n", HELLO_WORLD.raw, write(RULES)])
def test_two_comments_in_a_row_are_refused(before: bytes) -> None:
    error = fault(before + b"# one\n#")
    assert (error.code, error.offset) == ("iltp/consecutive-comments", len(PREFACE) + len(before) + 6)


@pytest.mark.req("060-065")
def test_a_comment_is_utf8_without_cr() -> None:
    assert fault(b"# one\r\nA()\n\n").code == "iltp/cr"
    assert fault(b"# \xff\nA()\n\n").code == "iltp/comment"
    # PROFILE section 10 asks for UTF-8, not for normal form C.
    assert read_after_preface("# cafe\u0301\nA()\n\n".encode())[0] == FactBlock(b"A()\n")


@pytest.mark.req("060-066", "060-067")
def test_the_comment_example_of_060_is_two_blocks() -> None:
    stream = b"""# Round 1: Alice advertises
Advertised('P.a.H3','V.alice.H3')
AdvertisedField('P.a.H3','V.alice.H3','Group','0','u')

# Bob requests the new record
MayRequest('P.a.H3')

"""
    assert read_after_preface(stream) == [
        make_fact_block(
            [
                ("Advertised", "P.a.H3", "V.alice.H3"),
                ("AdvertisedField", "P.a.H3", "V.alice.H3", "Group", "0", "u"),
            ]
        ),
        make_fact_block([("MayRequest", "P.a.H3")]),
        Closed(),
    ]


@pytest.mark.req("060-067", "060-069")
def test_further_blank_lines_are_empty_blocks_also_with_a_comment() -> None:
    items = read_after_preface(b"A()\n\n\n# nothing\n\n\nB()\n# last\n\n")
    assert items == [FactBlock(b"A()\n"), PhaseEnd(), PhaseEnd(), PhaseEnd(), FactBlock(b"B()\n"), Closed()]


def test_facts_and_records_do_not_mix() -> None:
    error = fault(b"A()\n" + HELLO_WORLD.raw + b"\n")
    assert (error.code, error.offset) == ("iltp/out-of-place", len(PREFACE) + 4)
    error = fault(HELLO_WORLD.raw + b"A()\n\n")
    assert (error.code, error.offset) == ("iltp/out-of-place", len(PREFACE) + HELLO_WORLD.size)


def test_a_stream_may_end_behind_a_blank_line_and_nowhere_else() -> None:
    setup = write(RULES) + b"# hm\nExchangeOperand('0','x','y','selector')\n\n"
    stream = PREFACE + setup + b"B('x')\n\n\n" + HELLO_WORLD.raw + HELLO_WORLD.raw + b"\n\n# bye\n"
    clean = {len(PREFACE), len(PREFACE + setup), len(stream)}
    clean |= {stream.index(b"B('x')\n\n") + 8, stream.index(b"B('x')\n\n") + 9}
    clean |= {len(stream) - len(b"# bye\n"), len(stream) - len(b"\n# bye\n")}
    for size in range(len(stream) + 1):
        items = read(stream[:size])
        assert isinstance(items[-1], Closed if size in clean else Broken), size
        assert items[-1].offset == size
        if isinstance(items[-1], Broken):
            assert items[-1].code == "iltp/cut"
        # What came before the end stands.
        assert items[:-1] == read(stream)[: len(items) - 1]


@pytest.mark.parametrize(
    ("stream", "place"),
    [
        (b"A('x", "inside a fact line"),
        (b"A()\n", "inside a fact block"),
        (b"# x", "inside a comment"),
        (write(RULES)[:-1], "inside a resource"),
        (write(RULES), "behind a resource, before its block"),
        (HELLO_WORLD.raw[:-1], "inside a record"),
        (HELLO_WORLD.raw, "inside a record batch"),
    ],
)
def test_a_cut_says_where(stream: bytes, place: str) -> None:
    error = fault(stream)
    assert (error.code, error.fields["place"]) == ("iltp/cut", place)
    assert error.offset == len(PREFACE) + len(stream)
    assert read(b"")[-1].code == read(PREFACE[:5])[-1].code == "iltp/cut"  # type: ignore[union-attr]


def test_items_before_a_fault_are_given_and_nothing_after_it() -> None:
    reader = Reader()
    items = reader.feed(PREFACE + b"A()\n\n" + HELLO_WORLD.raw + b"\n?B()\n\n")
    assert plain(items)[-3:] == [
        ["record", HELLO_WORLD.id, HELLO_WORLD.size],
        ["blank"],
        ["broken", "iltp/leading-bytes"],
    ]
    assert reader.feed(b"C()\n\n") == reader.close() == []


def test_a_closed_reader_takes_nothing() -> None:
    reader = Reader()
    reader.feed(PREFACE)
    assert reader.close() == [Closed()]
    assert reader.feed(b"A()\n\n") == reader.close() == []


def test_bytes_may_come_in_any_buffer() -> None:
    stream = PREFACE + b"A()\n\n" + HELLO_WORLD.raw + b"\n"
    for kind in (bytes, bytearray, memoryview):
        assert Reader().feed(kind(stream)) == Reader().feed(stream)
