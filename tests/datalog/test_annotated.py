"""lace.datalog.annotated: comments vanish, metadata stays beside the rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import InvalidLacegram, check_annotated, name_rule, parse_annotated, parse_program
from tests.datalog.trees import nearly
from tests.golden import load_vectors

GOLDEN = load_vectors("lacegram")
RULE = "A(X) :- B(X)."
ID = name_rule(parse_program(RULE).rules[0])


def errors(text: str | bytes, facet: str = "datalog") -> list[str]:
    return [d.code for d in check_annotated(text, facet) if d.severity == "error"]


def sidecar_of(text: str) -> dict[str, dict[str, Any]]:
    return {key: dict(value) for key, value in parse_annotated(text).annotations.items()}


@pytest.mark.req("030-092", "030-095", "030-098")
@pytest.mark.parametrize("case", GOLDEN["annotated"], ids=lambda case: repr(case["source"][-30:]))
def test_golden_annotated_sources(case: dict[str, Any]) -> None:
    found = parse_annotated(case["source"])
    assert str(found.program) == case["canonical"]
    assert found.program.id == case["id"]
    assert sidecar_of(case["source"]) == case["annotations"]


@pytest.mark.parametrize("case", GOLDEN["annotated_reject"], ids=lambda case: repr(case["source"]))
def test_golden_annotated_rejects(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidLacegram):
        parse_annotated(case["source"])


@pytest.mark.req("030-093", "030-096")
def test_comments_and_annotations_do_not_change_the_identifier() -> None:
    plain = parse_program(RULE)
    text = f'#\n# why = not\n#!\n#:json {{"a":1}}\n\n# more\n{RULE}\n#end'
    assert parse_annotated(text).program == plain
    assert parse_annotated(text).program.id == plain.id
    assert parse_annotated(RULE).annotations == {}


@pytest.mark.req("030-095")
def test_lines_before_one_rule_merge_and_later_keys_win() -> None:
    first, second = '{"a":1,"b":{"c":1},"a":2}', '{"b":{"d":2},"e":null,"f":1.5} \t'
    text = f"#:json {first}\n# between\n \t\n#:json {second}\n{RULE}"
    assert sidecar_of(text) == {ID: {"a": 2, "b": {"d": 2}, "e": None, "f": 1.5}}


def test_a_repeated_rule_collects_the_annotations_of_both() -> None:
    text = f'#:json {{"a":1,"b":1}}\n{RULE}\nC() :- true.\n#:json {{"b":2}}\n A( X ):-B(X).'
    assert sidecar_of(text) == {ID: {"a": 1, "b": 2}}


@pytest.mark.parametrize(
    "text", ['#:json {"a":1}', f"{RULE}\n#:json {{}}\n# end\n\n", "#:json {}\n#:json {}"]
)
def test_an_annotation_without_a_rule_is_refused(text: str) -> None:
    assert errors(text) == ["L-801"] * text.count("#:json")


@pytest.mark.req("030-094")
@pytest.mark.parametrize(
    "payload",
    [
        *("x", "[1]", "1", '"a"', "null", "{", "{}}", "{} {}", "{'a':1}"),
        *('{"a":NaN}', '{"a":-Infinity}', '{"a":1e999}', '{"a":' + "1" * 5000 + "}"),
        '{"a":"\\ud800"}',
        '{"a":' + "[" * 40 + "]" * 40 + "}",
        '{"a":' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
def test_an_annotation_is_one_json_object(payload: str) -> None:
    assert errors(f"#:json {payload}\n{RULE}") == ["L-802"]


@pytest.mark.req("030-094")
@pytest.mark.parametrize("line", ["#:json", "#:json ", "#:json{}", "#:json  {}", "#:json\t{}", "#:jsonx {}"])
def test_one_space_stands_before_the_object(line: str) -> None:
    assert errors(f"{line}\n{RULE}") == ["L-803"]


@pytest.mark.req("030-094")
def test_an_annotation_is_utf8_nfc_text() -> None:
    assert errors(f'#:json {{"a":"e\u0301"}}\n{RULE}') == ["L-102"]
    assert errors(b'#:json {"a":"\xff"}\n' + RULE.encode()) == ["L-101"]
    assert errors(f"# e\u0301\n{RULE}") == ["L-102"]


@pytest.mark.parametrize("text", [f" # why\n{RULE}", f"\t#:json {{}}\n{RULE}"])
def test_the_sign_is_the_first_byte_of_its_line(text: str) -> None:
    assert errors(text) == ["L-108"]


def test_a_comment_behind_a_rule_is_refused() -> None:
    assert errors(f"{RULE} # why") == ["L-203"]


@pytest.mark.req("030-081")
def test_equality_is_refused_in_annotated_source() -> None:
    assert errors("# A(X) :- X = X.\nA(X) :- B(X,Y), X = Y.") == ["L-208"]


def test_places_count_all_lines_and_bytes() -> None:
    text = '# naïve\n#:json {"é":[}\nA(X) :- B(Y).'
    found = check_annotated(text)
    assert [(d.code, d.span.line, d.span.start, d.span.offset) for d in found] == [
        ("L-802", 2, 13, 9 + 14), ("L-301", 3, 2, 9 + 16 + 2), ("L-909", 3, 10, 9 + 16 + 10),
    ]  # fmt: skip


def test_a_facet_applies() -> None:
    assert errors(f"# {RULE}", "selector") == ["L-403", "L-403"]


def test_the_sidecar_is_json_keyed_by_rule() -> None:
    found = parse_annotated(f'#:json {{"label":"naïve","tags":["x"]}}\n{RULE}')
    assert json.loads(found.sidecar()) == {
        "lacegram": found.program.id,
        "annotations": {ID: {"label": "naïve", "tags": ["x"]}},
    }
    assert "naïve" in found.sidecar()


def test_the_sidecar_is_composed_text_also_where_a_value_is_not() -> None:
    found = parse_annotated(f'#:json {{"label":"e\\u0301"}}\n{RULE}')
    assert found.sidecar().isascii()
    assert json.loads(found.sidecar())["annotations"] == {ID: {"label": "e\u0301"}}


@given(
    st.lists(nearly | st.sampled_from(["#", "# a", '#:json {"a":1}', "#:json ", RULE]), max_size=8).map(
        "\n".join
    )
)
def test_any_text_is_annotated_source_or_has_diagnostics(text: str) -> None:
    if errors(text):
        with pytest.raises(InvalidLacegram):
            parse_annotated(text)
    else:
        found = parse_annotated(text)
        assert set(found.annotations) <= set(found.program.rule_ids)
        assert parse_program(str(found.program)) == found.program
