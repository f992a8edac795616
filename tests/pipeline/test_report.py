"""A run's report says the same as JSON and as a page, and a page holds nothing that runs."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from lace.pipeline.report import ComponentRun, RunReport, StageTime

REPORT = RunReport(
    "ingest into <lake> & more",
    about={"lake": "a/b", "sources": "<b>bold</b>.records"},
    numbers={"records in": 1200, "stored": 1000, "rejected": 10},
    reasons={"record/hash-mismatch": 9, "record/<truncated>": 1},
    stages=(StageTime("read & check", 2.0, 1200), StageTime("commit", 0.5)),
    components=(ComponentRun(("Member",), "parts", 7, {"Member": 42}, 0.25),),
    notes=("one file was skipped: it is in the lake already",),
)


class Seen(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def look(page: str) -> Seen:
    seen = Seen()
    seen.feed(page)
    return seen


def test_the_page_shows_every_number_and_name() -> None:
    texts = look(REPORT.to_html()).texts
    for expected in (
        "1,200",
        "1,000",
        "10",
        "9",
        "record/<truncated>",
        "<b>bold</b>.records",
        "Member 42",
        "7",
    ):
        assert expected in texts, expected
    assert "2.00 s  ·  1,200 rows, 600/s" in texts
    assert REPORT.notes[0] in texts


def test_text_of_files_and_records_stays_text() -> None:
    seen = look(REPORT.to_html())
    assert "b" not in seen.tags
    assert "script" not in seen.tags
    assert seen.links == []


def test_bars_are_drawn_to_one_scale() -> None:
    page = RunReport("x", numbers={"all": 400, "half": 200, "none": 0}).to_html()
    widths = [float(part.split('"')[0]) for part in page.split('width="')[1:] if part[0].isdigit()]
    assert widths == [420, 210, 0]


def test_the_json_can_be_read_by_a_program() -> None:
    read = json.loads(json.dumps(REPORT.to_json()))
    assert read["numbers"]["stored"] == 1000
    assert read["stages"][0] == {"name": "read & check", "seconds": 2.0, "rows": 1200, "rate": 600.0}
    assert read["stages"][1]["rate"] is None
    assert read["components"][0]["rows"] == {"Member": 42}
    assert read["seconds"] == 2.5


def test_a_run_that_did_nothing_has_a_page_too() -> None:
    assert look(RunReport("nothing").to_html()).tags.count("svg") == 0
