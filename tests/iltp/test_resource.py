"""Resources: only canonical text under its own id is used, and nothing is repaired."""

from __future__ import annotations

import pytest

from lace.iltp import (
    PREFACE,
    CannotWrite,
    Closed,
    FactBlock,
    Item,
    PhaseEnd,
    Preface,
    Reader,
    RecordBytes,
    Resource,
    StreamLimits,
    make_resource,
)
from lace.text import lacegram_id, plan_id
from tests.golden import load_vectors
from tests.iltp.samples import (
    HELLO_WORLD,
    LACEGRAM_TEXT,
    PLAN,
    PLAN_TEXT,
    RULES,
    SMALL,
    fault,
    read,
    read_after_preface,
    resource_bytes,
)

MARK = "🧩: ".encode()
GOOD = resource_bytes(RULES.id, LACEGRAM_TEXT)
OTHER = make_resource("lacegram", b"SelectHave(P) :- Have(P).")


@pytest.mark.req("060-020", "060-023", "060-026", "060-045")
def test_a_lacegram_comes_as_the_bytes_that_its_id_names() -> None:
    items = read_after_preface(GOOD + b"\n")
    assert items == [Resource(lacegram_id(LACEGRAM_TEXT), "lacegram", LACEGRAM_TEXT), PhaseEnd(), Closed()]
    assert items[0].offset == len(PREFACE)


@pytest.mark.req("060-024")
@pytest.mark.parametrize("plan", load_vectors("plan")["plans"], ids=lambda plan: plan["name"])
def test_an_exchange_plan_comes_as_its_transcript(plan: dict[str, str]) -> None:
    items = read_after_preface(
        resource_bytes(plan["id"], plan["transcript"].encode(), "exchange-plan") + b"\n"
    )
    assert items[0] == Resource(
        plan_id(plan["transcript"].encode()), "exchange-plan", plan["transcript"].encode()
    )


@pytest.mark.req("060-021", "060-038")
@pytest.mark.parametrize(
    "line",
    [
        b"", b"ID", b"ID ", b" lacegram", b"ID  lacegram", b" ID lacegram", b"ID lacegram ", b"ID lacegram x",
        b"ID lace\xffgram",
    ],
)  # fmt: skip
def test_a_marker_line_is_one_id_one_space_one_kind(line: bytes) -> None:
    stream = MARK + line.replace(b"ID", RULES.id.encode()) + b"\n" + LACEGRAM_TEXT + b"\n\n"
    assert fault(stream).code == "iltp/resource-marker"


@pytest.mark.req("060-021")
@pytest.mark.parametrize("line", [b"%b lacegram\r", b"%b\r lacegram", b"\r%b lacegram"])
def test_a_marker_line_has_no_cr(line: bytes) -> None:
    assert fault(MARK + line % RULES.id.encode() + b"\n" + LACEGRAM_TEXT + b"\n\n").code == "iltp/cr"


@pytest.mark.req("060-022")
@pytest.mark.parametrize(
    "line", [b"%b\tlacegram", b"%b lace\tgram", b"%b lacegram\t", "%b cafe\u0301".encode()]
)
def test_a_token_is_composed_text_without_blanks(line: bytes) -> None:
    stream = MARK + line.replace(b"%b", RULES.id.encode()) + b"\n" + LACEGRAM_TEXT + b"\n\n"
    assert fault(stream).code == "iltp/resource-marker"


@pytest.mark.req("060-038")
@pytest.mark.parametrize("kind", ["poem", "Lacegram", "lacegrams", "exchange_plan", "\x00", "record"])
def test_other_kinds_are_unknown(kind: str) -> None:
    assert fault(resource_bytes(RULES.id, LACEGRAM_TEXT, kind)).code == "iltp/resource-kind"


@pytest.mark.req("060-038")
@pytest.mark.parametrize(
    ("id", "kind"),
    [
        (PLAN.id, "lacegram"),
        (RULES.id, "exchange-plan"),
        (RULES.id[:-1], "lacegram"),
        (RULES.id + "0", "lacegram"),
        (RULES.id + ".H3", "lacegram"),
        (RULES.id[:-1] + "!", "lacegram"),
        (RULES.id[:-1] + "~", "lacegram"),
        ("r" + RULES.id[1:], "lacegram"),
    ],
)
def test_an_id_has_the_shape_of_its_kind(id: str, kind: str) -> None:
    assert fault(resource_bytes(id, LACEGRAM_TEXT, kind)).code == "iltp/resource-id-shape"


@pytest.mark.req("060-025")
def test_a_body_has_a_line() -> None:
    assert fault(MARK + f"{RULES.id} lacegram\n\n".encode()).code == "iltp/resource-empty"


@pytest.mark.req("060-027")
@pytest.mark.parametrize(
    "body", [LACEGRAM_TEXT.replace(b"\n", b"\r\n"), LACEGRAM_TEXT + b"\r", b"\r", b"a\rb"]
)
def test_a_body_has_no_cr(body: bytes) -> None:
    assert fault(resource_bytes(lacegram_id(body), body)).code == "iltp/cr"


@pytest.mark.req("060-027")
def test_a_blank_line_ends_a_body_wherever_it_stands() -> None:
    body = LACEGRAM_TEXT.replace(b"\n", b"\n\n")
    # What was announced has ended early: its first line is another text.
    assert fault(resource_bytes(lacegram_id(body), body)).code == "iltp/resource-id"


@pytest.mark.req("060-028", "060-063")
@pytest.mark.parametrize(
    "start", [b"# a comment", "🖧: ".encode(), "⋯🖧: B".encode(), MARK, "🪢: iltp/1".encode()]
)
def test_comments_and_markers_have_no_place_in_a_body(start: bytes) -> None:
    for body in (start, LACEGRAM_TEXT + b"\n" + start + b"x", start + b"\n" + LACEGRAM_TEXT):
        error = fault(resource_bytes(lacegram_id(body), body))
        assert error.code == "iltp/resource-line"
        line = len(PREFACE) + len(MARK) + len(RULES.id) + len(" lacegram\n") + body.index(start)
        assert error.offset == line


@pytest.mark.req("060-025")
@pytest.mark.parametrize("line", [b"\xff", "cafe\u0301".encode()])
def test_a_body_is_composed_utf8(line: bytes) -> None:
    body = LACEGRAM_TEXT + b"\n" + line
    assert fault(resource_bytes(lacegram_id(body), body)).code == "iltp/resource-line"


@pytest.mark.req("060-032", "060-033", "060-039")
@pytest.mark.parametrize(
    "body",
    [
        b"SelectHave(P) :-  Have(P).",
        b"SelectHave(P):-Have(P).",
        b"\n".join(reversed(LACEGRAM_TEXT.split(b"\n"))),
        LACEGRAM_TEXT + b"\nSelectHave(P) :- Have(P).",
        LACEGRAM_TEXT + b" ",
        b" " + LACEGRAM_TEXT,
        b"hello",
        b"A('x')",
    ],
)
def test_text_that_would_be_printed_otherwise_is_refused_not_repaired(body: bytes) -> None:
    error = fault(resource_bytes(lacegram_id(body), body))
    assert error.code == "iltp/resource-body"
    assert error.fields["id"] == lacegram_id(body)


@pytest.mark.req("060-034")
@pytest.mark.parametrize(
    "body", [b"A(X) :- B(X,Y), X = Y.", b"A(X) :- B(X), Prefix(X,'a').", b"A(X) :- B(X), C(Y)"]
)
def test_removed_forms_of_the_language_are_refused(body: bytes) -> None:
    assert fault(resource_bytes(lacegram_id(body), body)).code == "iltp/resource-body"


@pytest.mark.req("060-024", "060-039")
@pytest.mark.parametrize("case", load_vectors("plan")["transcript_reject"], ids=lambda case: case["note"])
def test_a_transcript_that_is_not_canonical_is_refused(case: dict[str, str]) -> None:
    raw = case["text"].encode()
    stream = resource_bytes(plan_id(raw), raw, "exchange-plan")
    if raw.endswith(b"\n"):
        # An LF too many ends the resource early, and what is left of it has another id.
        assert fault(stream).code == "iltp/resource-id"
    else:
        assert fault(stream).code == "iltp/resource-body"


@pytest.mark.req("060-032", "060-035", "060-039")
def test_the_id_is_computed_again() -> None:
    assert fault(resource_bytes(OTHER.id, LACEGRAM_TEXT)).code == "iltp/resource-id"
    assert fault(resource_bytes(RULES.id, LACEGRAM_TEXT.replace(b"P", b"Q"))).code == "iltp/resource-id"
    assert fault(resource_bytes(PLAN.id, PLAN_TEXT[:-1] + b"x", "exchange-plan")).code == "iltp/resource-id"


@pytest.mark.req("060-037")
def test_the_same_resource_may_come_twice() -> None:
    items = read_after_preface(GOOD + GOOD + b"A()\n\n" + GOOD + b"\n")
    assert [type(item) for item in items] == [Resource, Resource, FactBlock, Resource, PhaseEnd, Closed]
    assert items[0] == items[1] == items[3]


@pytest.mark.req("060-038")
def test_another_text_under_a_known_id_is_a_conflict() -> None:
    error = fault(GOOD + resource_bytes(RULES.id, OTHER.raw))
    assert (error.code, error.fields["found"]) == ("iltp/resource-conflict", OTHER.id)


@pytest.mark.req("060-029", "060-030")
def test_resources_stand_before_a_block_and_between_records_and_are_no_phase() -> None:
    record = HELLO_WORLD.raw
    items = read_after_preface(GOOD + b"A()\n\n" + GOOD + record + GOOD + record + b"\n" + GOOD + b"\n")
    assert [type(item) for item in items] == [
        Resource, FactBlock, Resource, RecordBytes, Resource, RecordBytes, PhaseEnd, Resource, PhaseEnd,
        Closed,
    ]  # fmt: skip
    assert items[1] == FactBlock(b"A()\n")


def test_a_resource_cannot_stand_inside_a_fact_block() -> None:
    error = fault(b"A()\n" + GOOD + b"\n")
    assert (error.code, error.offset) == ("iltp/out-of-place", len(PREFACE) + 4)


@pytest.mark.req("060-108")
def test_a_marker_line_has_1024_bytes() -> None:
    for size, code in [(1024, "iltp/resource-kind"), (1025, "iltp/line-length")]:
        line = MARK + RULES.id.encode() + b" "
        line += b"x" * (size - len(line))
        assert fault(line + b"\n" + LACEGRAM_TEXT + b"\n\n").code == code
    assert fault(MARK + b"x" * 1019).code == "iltp/line-length"


@pytest.mark.req("060-039", "060-109")
def test_a_resource_has_1_mib_of_text() -> None:
    # A text that just fits is refused for what it says.
    for size, code in [(2**20, "iltp/resource-body"), (2**20 + 1, "iltp/resource-size")]:
        body = b"x" * (size - 2000) + b"\n" + b"x" * 1999
        error = fault(resource_bytes(lacegram_id(body), body))
        assert (error.code, error.offset) == (code, len(PREFACE))


def test_the_byte_that_is_too_many_is_refused_before_its_line_ends() -> None:
    body = Reader(SMALL)
    head = PREFACE + MARK + f"{RULES.id} lacegram\n".encode()
    assert body.feed(head + b"x" * 90) == [Preface()]
    assert getattr(body.feed(b"x")[0], "code", "") == "iltp/resource-size"
    assert body.held == 0
    full = Reader(SMALL)
    assert full.feed(head + b"x" * 90 + b"\n") == [Preface()]
    assert getattr(full.feed(b"\n")[0], "code", "") == "iltp/resource-id"
    over = Reader(SMALL)
    assert over.feed(head + b"x" * 90 + b"\n") == [Preface()]
    assert getattr(over.feed(b"x")[0], "code", "") == "iltp/resource-size"


@pytest.mark.req("060-039", "060-110")
def test_a_resource_has_4096_lines() -> None:
    for lines, code in [(4096, "iltp/resource-body"), (4097, "iltp/resource-size")]:
        body = b"\n".join([b"x"] * lines)
        assert fault(resource_bytes(lacegram_id(body), body)).code == code


@pytest.mark.req("060-111", "060-039")
def test_an_epoch_has_256_resources_repeats_included() -> None:
    items = read_after_preface(GOOD * 256 + b"\n")
    assert len(items) == 258
    error = fault(GOOD * 257)
    assert (error.code, error.offset) == ("iltp/resource-count", len(PREFACE) + 256 * len(GOOD))
    assert fault(GOOD * 200 + b"A()\n\n" + GOOD * 57).code == "iltp/resource-count"
    assert fault(GOOD * 200 + HELLO_WORLD.raw + GOOD * 57).code == "iltp/resource-count"


@pytest.mark.req("060-111")
def test_a_setup_block_begins_an_epoch_with_the_resources_before_it() -> None:
    setup = b"ExchangeOperand('0','x','y','selector')\n\n"
    limits = StreamLimits(resources=3)

    def count(*parts: bytes) -> list[Item]:
        return read(PREFACE + b"".join(parts), Reader(limits))

    assert isinstance(count(GOOD * 2, setup, GOOD, b"\n", GOOD * 0, b"\n")[-1], Closed)
    assert isinstance(count(GOOD, setup, GOOD, b"\n", GOOD, setup, GOOD * 2, b"\n")[-1], Closed)
    last = count(GOOD, setup, GOOD, b"\n", GOOD, setup, GOOD * 3)[-1]
    assert getattr(last, "code", "") == "iltp/resource-count"
    # An id of an earlier epoch is looked at anew: no conflict with what is no longer known.
    items = count(GOOD, setup, b"\n", setup, resource_bytes(RULES.id, OTHER.raw))
    assert getattr(items[-1], "code", "") == "iltp/resource-id"


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("poem", b"x"),
        ("lacegram", b""),
        ("lacegram", b"A(X):-B(X)."),
        ("lacegram", b"A(X) :- B(X).\n"),
        ("lacegram", b"A(X) :- B(X).\n\nC(X) :- B(X)."),
        ("lacegram", b"A(X) :- B('\xff',X)."),
        ("lacegram", b"x" * (2**20 + 1)),
        ("exchange-plan", LACEGRAM_TEXT),
    ],
)
def test_a_resource_that_no_peer_would_take_is_not_made(kind: str, raw: bytes) -> None:
    with pytest.raises(CannotWrite):
        make_resource(kind, raw)
