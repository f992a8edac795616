"""Makes the tables of docs/reference from the code, so that they cannot be wrong.

python -m docs.make
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

import lace
from docs import cli_reference, python_reference
from lace.errors import LaceError

REFERENCE = Path(__file__).parent / "reference"
MADE = "<!-- Made by `make docs` from the code; change the code instead. -->"


def modules() -> Iterator[ModuleType]:
    """Yield every module of the package, in order of name."""
    for info in pkgutil.walk_packages(lace.__path__, "lace."):
        yield importlib.import_module(info.name)


def cell(text: str) -> str:
    """Write text so that it stays inside one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def first_sentence(thing: object) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return cell((inspect.getdoc(thing) or "").split("\n\n")[0])


def errors_page() -> str:
    """Write the table of all errors, cut by what the caller does next."""
    for _ in modules():
        pass  # importing a module makes its errors known
    lines = [MADE, "", "# Errors", "", inspect.cleandoc(ERRORS_INTRO), ""]
    for root in (cls for cls in descendants(LaceError) if cls.__module__ == "lace.errors"):
        lines += [f"## {root.__name__}", "", first_sentence(root), ""]
        lines += ["| code | exit | class | says |", "|---|--:|---|---|"]
        lines += [error_row(cls) for cls in (root, *sorted(set(concrete(root)), key=lambda cls: cls.code))]
        lines.append("")
    return "\n".join(lines)


ERRORS_INTRO = """
Every error that the library raises on purpose is a `LaceError` with a `code` that never changes its meaning,
the `fields` that its sentence is filled from, and `to_json()`. Errors about given bytes have an `offset`.
The command line prints the sentence and ends with the exit code; with `--json` it prints the fields.
"""


def error_row(cls: type[LaceError]) -> str:
    """Write one row: the code, where the class is imported from, what it means and its sentence."""
    says = f"{first_sentence(cls)} *{cell(cls.text)}*"
    return f"| `{cls.code}` | {cls.exit_code} | `{door_of(cls)}.{cls.__name__}` | {says} |"


def door_of(cls: type) -> str:
    """Return the outermost package that gives a class away; what is at no door is in its own module."""
    rooms = cls.__module__.split(".")
    for depth in range(2, len(rooms)):
        door = importlib.import_module(".".join(rooms[:depth]))
        if cls.__name__ in getattr(door, "__all__", ()):
            return door.__name__
    return cls.__module__


def descendants(cls: type[LaceError]) -> Iterator[type[LaceError]]:
    """Yield a class and all below it, parents first, in the order they were written."""
    yield cls
    for child in cls.__subclasses__():
        yield from descendants(child)


def concrete(root: type[LaceError]) -> Iterator[type[LaceError]]:
    """Yield the classes below a root class that no nearer root is above."""
    for child in root.__subclasses__():
        if child.__module__ != "lace.errors" and child.__module__.startswith("lace."):
            yield child
            yield from concrete(child)


def limits_page() -> str:
    """Write a table for each class of limits."""
    lines = [MADE, "", "# Limits", "", inspect.cleandoc(LIMITS_INTRO), ""]
    for cls in limit_classes():
        lines += [f"## {door_of(cls)}.{cls.__name__}", "", first_sentence(cls), ""]
        lines += ["| limit | default | of what |", "|---|--:|---|"]
        notes = field_notes(cls)
        # `limit_classes` returns dataclasses only, which no type can say.
        for field in fields(cls):  # type: ignore[arg-type]
            lines.append(f"| `{field.name}` | {number(field.default)} | {cell(notes[field.name])} |")
        lines.append("")
    return "\n".join(lines)


LIMITS_INTRO = """
Every limit has a name, a number and a reason. A limit is checked before anything of that size is held;
passing one is an error that names it, its bound and what was seen. Give another object of the class to
change them, where it does not say that they are fixed.
"""


def limit_classes() -> list[type]:
    """Return the frozen dataclasses called …Limits, in order of module."""
    found = []
    for module in modules():
        for cls in vars(module).values():
            ours = inspect.isclass(cls) and cls.__module__ == module.__name__
            if ours and cls.__name__.endswith("Limits") and is_dataclass(cls):
                found.append(cls)
    return found


def field_notes(cls: type) -> dict[str, str]:
    """Return the string under each field of a class."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    notes = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(below, ast.Expr), f"{cls.__name__}.{field.target.id} has no reason under it"
            notes[field.target.id] = str(ast.literal_eval(below.value))
    return notes


def number(value: object) -> str:
    """Write a default so that people can read it.

    >>> number(67108864), number(1000000), number(1024), number(0.5), number(None)
    ('64 Mi', '1,000,000', '1,024', '0.5', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, int):
        for size, unit in ((1 << 30, "Gi"), (1 << 20, "Mi")):
            if value and value % size == 0:
                return f"{value // size:,} {unit}"
        return f"{value:,}"
    return str(value)


PAGES = {
    "cli.md": cli_reference.render,
    "errors.md": errors_page,
    "limits.md": limits_page,
    "names.md": python_reference.render_names,
    "python.md": python_reference.render,
}


def main() -> None:
    """Write the pages."""
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
