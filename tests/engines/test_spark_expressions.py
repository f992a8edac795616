"""Built-ins as Spark expressions say what their definition in Python says, of every awkward text."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from lace.algebra import OPERATORS, Column, Compare, Constant, NotEqual, Shape, Test
from lace.engines.tests import passes
from tests.datalog.programs import DELIMS, NUMBERS, ODD, PIECES, PLAIN, TEXTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MORE = (
    "1\n",
    "-",
    "--1",
    "-01",
    "00",
    "9" * 300,
    "-" + "9" * 300,
    "1" + "0" * 300,
    "\u00e9",
    "\ud7ff",
    "\ue000",
    "\uffff",
)
VALUES = sorted({*PLAIN, *NUMBERS, *ODD, *TEXTS, *MORE})
X, Y = Column("X"), Column("Y")


def what_is_asked() -> list[Test]:
    found: list[Test] = [NotEqual(X, Y), NotEqual(X, Constant("it's"))]
    found += [Compare(kind, X, op, Y) for kind in ("Int", "Lex") for op in OPERATORS]
    found += [Shape(X, Y, delims, Constant("")) for delims in dict.fromkeys(DELIMS)]
    pieces = list(dict.fromkeys(PIECES))
    found += [
        Shape(X, Constant(start), delims, Constant(end))
        for start, delims, end in list(product(pieces, dict.fromkeys(DELIMS), pieces))[::29]
    ]
    return found


def test_every_test_of_every_pair_of_texts_is_the_same(tiny: SparkSession) -> None:
    from pyspark.sql import functions as F

    from lace.engines.spark.expressions import holds

    # Every third pair; the step must not divide the number of texts, or some would never stand on the right.
    assert len(VALUES) % 3
    pairs = list(product(VALUES, VALUES))[::3]
    frame = tiny.createDataFrame(pairs, "X string, Y string")
    asked = what_is_asked()

    def bind(term: object) -> object:
        return F.col(term.name) if isinstance(term, Column) else F.lit(term.value)  # type: ignore[attr-defined]

    columns = [holds(test, bind).alias(f"t{at}") for at, test in enumerate(asked)]  # type: ignore[arg-type]
    for x, y, *answers in frame.select("X", "Y", *columns).collect():
        values = {"X": x, "Y": y}
        for test, answer in zip(asked, answers, strict=True):
            texts = [values[t.name] if isinstance(t, Column) else t.value for t in test.terms()]
            assert answer is passes(test, texts), (str(test), x, y)
