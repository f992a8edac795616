"""Writes docs/reference/cli.md from the grammar of the command line, so that it cannot be wrong.

The page is made from the arguments themselves and not from `--help`, whose layout differs between Pythons.
"""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, _HelpAction, _StoreTrueAction, _SubParsersAction
from collections.abc import Iterator

from lace.cli.entry import COMMANDS
from lace.cli.grammar import EXIT_CODES, make_parser

MADE = "<!-- Made by `make docs` from the code; change the code instead. -->"
INTRO = """
`lace VERB …` works with the lace that `--store PATH` names, else with `$LACE_STORE`, else with the nearest
folder `.lace` from the current one upward. Whatever names a record may be its id, the beginning of one (four
characters or more behind its `B.`, `P.` or `S.`), or `//group//app//name` for the newest record there.
Results go to stdout, everything else to stderr; an error is one sentence with its code,
`lace: … [area/what]`, or an object with `--json` (see [errors](errors.md)).
"""


def render() -> str:
    """Write the page."""
    parser = make_parser(COMMANDS)
    lines = [MADE, "", "# Command line", "", INTRO.strip(), "", "```text", EXIT_CODES.rstrip(), "```", ""]
    lines += ["## Everywhere", "", *_table(_group(parser, "everywhere"))]
    for name, verb in _verbs(parser):
        lines += _section(name, verb)
    return "\n".join(lines) + "\n"


def _verbs(parser: ArgumentParser, before: str = "lace") -> Iterator[tuple[str, ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, verb in action.choices.items():
                yield f"{before} {name}", verb
                yield from _verbs(verb, f"{before} {name}")


def _section(name: str, verb: ArgumentParser) -> list[str]:
    everywhere = set(_group(verb, "everywhere"))
    own = [
        action
        for action in verb._actions
        if action not in everywhere and not isinstance(action, _HelpAction | _SubParsersAction)
    ]
    examples = (verb.epilog or "").partition(":\n")[2]
    description = " ".join((verb.description or "").split())
    lines = [f"## {name}", "", description, "", *_table(own)]
    return [*lines, "```sh", *(line.strip() for line in examples.splitlines()), "```", ""]


def _group(parser: ArgumentParser, title: str) -> list[Action]:
    return [
        action for group in parser._action_groups if group.title == title for action in group._group_actions
    ]


def _table(actions: list[Action]) -> list[str]:
    if not actions:
        return []
    rows = [f"| `{_spelled(action)}` | {_prose(action.help or '')} |" for action in actions]
    return ["| | |", "|---|---|", *rows, ""]


def _spelled(action: Action) -> str:
    value = "" if isinstance(action, _StoreTrueAction) else _value(action)
    if not action.option_strings:
        repeated = {"*": f"[{value} …]", "+": f"{value} …", "?": f"[{value}]"}
        return _cell(repeated.get(str(action.nargs), value))
    return _cell(f"{', '.join(action.option_strings)} {value}".strip())


def _value(action: Action) -> str:
    if action.choices is not None:
        return " or ".join(map(str, action.choices))
    return str(action.metavar) if action.metavar not in (None, SUPPRESS) else ""


def _prose(text: str) -> str:
    return _cell(text).replace("*", "\\*").replace("<", "\\<")


def _cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")
