"""lace.datalog.codes: the table of diagnostics is whole, and each row is shown by an example."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from lace.datalog import CODES, check_annotated, check_program, parse_canonical
from lace.datalog.diagnostics import InvalidLacegram

SELECT = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
NINE = "A,B,C,D,E,F,G,H,I"

# A shortest text for each code: (facet, text).
EXAMPLES = {
    "L-001": ("datalog", "!\n" * 101),
    "L-101": ("datalog", "\ud800"),
    "L-102": ("datalog", "A('e\u0301') :- true."),
    "L-103": ("datalog", "A() :- true.\r\n"),
    "L-104": ("datalog", "A() :- true;"),
    "L-105": ("datalog", "A('x) :- true."),
    "L-106": ("datalog", "A('\\n') :- true."),
    "L-107": ("datalog", 'A("x") :- true.'),
    "L-108": ("datalog", "# why"),
    "L-109": ("datalog", "\ufeffA() :- true."),
    "L-201": ("datalog", "A() :- ."),
    "L-202": ("datalog", "A() :- true"),
    "L-203": ("datalog", "A() :- true. B() :- true."),
    "L-204": ("datalog", "A()."),
    "L-205": ("datalog", "A(x) :- B(x)."),
    "L-206": ("datalog", "A('a') :- B(_x)."),
    "L-207": ("datalog", "A :- true."),
    "L-208": ("datalog", "A(X) :- B(X), X = 'a'."),
    "L-209": ("datalog", "A(X) :- B(X), Prefix(X,'a')."),
    "L-210": ("datalog", "true() :- B()."),
    "L-211": ("datalog", "A(X) :- B(X), IntCompare(X)."),
    "L-212": ("datalog", "A(X) :- B(X), IntCompare(X,'=',X)."),
    "L-213": ("datalog", "A(X) :- B(X), TextShape(X,X,X,X)."),
    "L-214": ("datalog", "A() :- Cardinality(B(),'<','x')."),
    "L-215": ("datalog", "A() :- Cardinality(X,'<','1')."),
    "L-216": ("datalog", "9() :- true."),
    "L-217": ("datalog", "A(X) :- B(F(X))."),
    "L-218": ("datalog", "A(X) :- B(X), X < '3'."),
    "L-301": ("datalog", "A(X) :- B()."),
    "L-302": ("datalog", "A(_) :- B()."),
    "L-303": ("datalog", "A() :- not B(X)."),
    "L-304": ("datalog", "A() :- X != 'a'."),
    "L-305": ("datalog", "A() :- _ != 'a'."),
    "L-306": ("datalog", "A() :- Cardinality(B(X),'<','1'), Cardinality(C(X),'<','1')."),
    "L-401": ("datalog", "Have(X) :- B(X)."),
    "L-402": ("selector", SELECT + "MaySend(P) :- Have(P)."),
    "L-403": ("selector", ""),
    "L-404": ("expose", "AllowQueryRecord(S,P) :- Advertised(P,S)."),
    "L-501": ("datalog", "A() :- not A()."),
    "L-601": ("datalog", "\n".join(f"A{n}() :- true." for n in range(257))),
    "L-602": ("datalog", f"A() :- B({NINE})."),
    "L-603": ("datalog", f"A('{'x' * 1025}') :- true."),
    "L-701": ("canonical", "A():-true."),
    "L-801": ("annotated", "#:json {}"),
    "L-802": ("annotated", "#:json []\nA() :- true."),
    "L-803": ("annotated", "#:json{}\nA() :- true."),
    "L-901": ("datalog", "A(X) :- Feild(X,_,_,_)."),
    "L-902": ("datalog", "A(X) :- Field(X,_,_)."),
    "L-903": ("selector", SELECT + "A(P) :- Have(P)."),
    "L-904": ("selector", SELECT + "SelectHave(P) :- Nobody(P)."),
    "L-905": ("datalog", "A(X) :- A(X), B(X)."),
    "L-906": ("datalog", "A() :- 'a' != 'a'."),
    "L-907": ("datalog", "A() :- 'a' != 'b'."),
    "L-908": ("datalog", "A(X) :- B(X), B(X)."),
    "L-909": ("datalog", "A(X) :- B(X,Y)."),
    "L-910": ("datalog", "A(X) :- A(X)."),
    "L-911": ("datalog", "A() :- true.\nA() :- true."),
    "L-912": ("expose", "A(P) :- Have(P)."),
    "L-913": ("selector", SELECT + "SelectAdvertised(P,S) :- Advertised(P,S), Have(P)."),
    "L-914": ("datalog", "A(P) :- Field(P,'group',_,'u')."),
}


def codes_of(facet: str, text: str) -> set[str]:
    if facet == "annotated":
        return {d.code for d in check_annotated(text)}
    if facet == "canonical":
        with pytest.raises(InvalidLacegram) as caught:
            parse_canonical(text.encode())
        return {d.code for d in caught.value.diagnostics}
    return {d.code for d in check_program(text, facet)}


def test_every_code_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(CODES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_of_a_code_raises_it(code: str) -> None:
    assert code in codes_of(*EXAMPLES[code])


@pytest.mark.parametrize("code", CODES)
def test_a_row_says_what_and_teaches_in_plain_places(code: str) -> None:
    row = CODES[code]
    assert re.fullmatch(r"L-\d{3}", code)
    assert (row.severity == "warning") == (code.startswith("L-9") or code == "L-001")
    assert row.note
    for text in (row.message, row.note):
        assert not text.endswith(".") or text.count(" :- ")
        for _, place, spec, conversion in Formatter().parse(text):
            assert place is None or place.isidentifier()
            assert not spec
            assert conversion is None
