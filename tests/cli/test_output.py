"""Words to stdout and stderr."""

from __future__ import annotations

import pytest

from lace.cli.output import Output, harmless
from lace.errors import LimitExceeded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain café 新 👍", "plain café 新 👍"),
        ("\x1b[2J", "\\u001b[2J"),
        ("\x9b31m", "\\u009b31m"),
        ("a\nb\tc", "a\\u000ab\\u0009c"),
        ("safe\u202eexe.txt", "safe\\u202eexe.txt"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_characters_that_steer_a_terminal_are_shown_as_escapes(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_a_path_of_any_bytes_can_be_told(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    out = Output(as_json=False)
    out.line("caf\u00e9 \udcff")
    out.value({"path": "\udcff"})
    assert capsysbinary.readouterr().out == b'caf\xc3\xa9 \\udcff\n{"path": "\\udcff"}\n'


def test_an_error_may_be_about_something(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    error = LimitExceeded(limit="headers", bound=1, seen=2)
    Output(as_json=False).error(error, "a.txt")
    Output(as_json=True).error(error, "a.txt")
    text, value = capsysbinary.readouterr().err.splitlines()
    assert text == b"lace: a.txt: headers: 2 is over the limit of 1 [limit/exceeded]"
    assert b'"about": "a.txt"' in value
