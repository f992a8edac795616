"""lace stat"""

from __future__ import annotations

from tests.cli.conftest import Run


def test_numbers_are_shown_for_people_and_programs(lace: Run) -> None:
    lace("gen", "--count", "1000", "--store", ".")
    lace("forget", "B." + "0" * 43 + ".H3")
    text = " ".join(lace("stat").out.split())
    assert "records 1,000 (30 Blobs, 870 Plexes, 100 Seals)" in text
    [value] = lace("stat", "--json").values
    assert value["records"] == {"B": 30, "P": 870, "S": 100}
    assert (value["last"], value["forgotten"], value["removed"]) == (1000, 1, 0)
    assert value["facts"] > 5000


def test_an_empty_lace_has_numbers_too(lace: Run) -> None:
    assert lace("stat").code == 0
