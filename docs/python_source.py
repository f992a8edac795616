"""Reads the public names of the package from its source: nothing is imported, so nothing has to be there.

Rules of this file:
1. A door's `__all__` says what is public, and its imports where that stands.
2. Signatures and types are written as their authors wrote them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
ERRORS = "lace.errors"
SHORT = 30
"""So long is a default that is shown."""
LONG = 160
"""So long is a value that is shown."""
PLAIN_BASES = {"Protocol", "NamedTuple", "TypedDict", "Enum", "ABC", "Mapping", "Exception", "Generic"}


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is called."""

    name: str
    arguments: str
    returns: str
    before: str = ""
    """`await`, `async for … in`, `with` or `async with`, where it is called with one."""

    def write(self, door: str = "") -> str:
        """Write the call, with where the name comes from."""
        returns = f" -> {self.returns}" if self.returns else ""
        return f"{self.before} {door}{self.name}({self.arguments}){returns}".lstrip()

    def __str__(self) -> str:
        return self.write()


@dataclass(frozen=True, slots=True)
class Member:
    """A method or an attribute of a class."""

    name: str
    about: str
    """The docstring, or the string under a field."""
    signatures: tuple[Signature, ...] = ()
    """Of a method, one for each way of calling it; none for an attribute."""
    type: str = ""
    """Of an attribute, where it says so."""


@dataclass(frozen=True, slots=True)
class Name:
    """A public name."""

    door: str
    name: str
    kind: str
    """`class`, `function` or `value`."""
    about: str
    signatures: tuple[Signature, ...] = ()
    """Of a function; of a class that has a constructor of its own, how it is made."""
    making: str = ""
    """What is said about making one."""
    value: str = ""
    """Of a value, what it is, where that is short."""
    members: tuple[Member, ...] = field(default=(), repr=False)
    bases: tuple[str, ...] = ()
    """Of a class, the classes that it is made from, by their names."""
    is_error: bool = False
    is_port: bool = False
    """Whether it says what others must have, and is nothing by itself."""


@cache
def tree_of(module: str) -> ast.Module:
    """Return the syntax of a module."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def doors() -> list[str]:
    """Return the packages whose names are public, in order."""
    return ["lace", *sorted(f"lace.{path.parent.name}" for path in (SOURCE / "lace").glob("*/__init__.py"))]


def public(door: str) -> list[str]:
    """Return the names that a door gives away.

    >>> "Lace" in public("lace")
    True
    """
    for node in tree_of(door).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(each) for each in ast.literal_eval(node.value)]
    return []


def find(door: str, name: str) -> Name:
    """Return what is known about a public name.

    >>> str(find("lace.porcelain", "new_secret").signatures[0])
    'new_secret() -> Secret'
    """
    module, nodes = _defined(door, name)
    first = nodes[0]
    if isinstance(first, ast.ClassDef):
        members = tuple(_members(module, first))
        made = tuple(each for each in members if each.name == "__init__")
        return Name(
            door,
            name,
            "class",
            _doc(first),
            tuple(
                Signature(name, each.arguments, "")
                for one in made
                for each in one.signatures
                if each.arguments  # what takes nothing needs no words, or is made elsewhere
            ),
            "".join(each.about for each in made),
            members=tuple(each for each in members if each.name != "__init__"),
            bases=tuple(base.name for _, base in _bases(module, first)),
            is_error=is_error(module, first),
            is_port="Protocol" in map(ast.unparse, first.bases),
        )
    if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef):
        return Name(door, name, "function", _about(nodes), _signatures(module, nodes))
    assert isinstance(first, ast.Assign | ast.AnnAssign), f"{door}.{name} is nothing that can be shown"
    value = "" if first.value is None else ast.unparse(first.value)
    note = _note_under(tree_of(module).body, first)
    return Name(door, name, "value", note, value=value if len(value) <= LONG else "")


def is_error(module: str, node: ast.ClassDef) -> bool:
    """Tell whether a class is one of the errors, which have a page of their own."""
    if module == ERRORS:
        return True
    return any(is_error(where, base) for where, base in _bases(module, node))


def _defined(module: str, name: str) -> tuple[str, list[ast.stmt]]:
    """Return where a name is defined, and its definition; several where a function is overloaded."""
    body = list(_statements(tree_of(module).body))
    nodes = [node for node in body if name in _named(node)]
    if nodes:
        return module, nodes
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    if node.module.partition(".")[0] == "lace":
                        return _defined(node.module, alias.name)
                    if alias.asname:  # a guest under a name of ours
                        return module, ast.parse(f"{name} = {node.module}.{alias.name}").body
    raise LookupError(f"{module} has no {name}")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, also those for a type checker alone."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements(node.body)
            yield from _statements(node.orelse)
        else:
            yield node


def _named(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return (node.name,)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    if isinstance(node, ast.Assign):
        targets = [each for target in node.targets for each in getattr(target, "elts", [target])]
        return tuple(each.id for each in targets if isinstance(each, ast.Name))
    return ()


def _bases(module: str, node: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield the classes of ours that a class is made from."""
    for base in node.bases:
        name = ast.unparse(base).partition("[")[0]
        if name not in PLAIN_BASES and name.isidentifier():
            try:
                where, nodes = _defined(module, name)
            except LookupError:  # of another library
                continue
            if isinstance(nodes[0], ast.ClassDef):
                yield where, nodes[0]


def _members(module: str, node: ast.ClassDef) -> Iterator[Member]:
    """Yield fields, attributes, and methods, then those of the classes above that have no others here."""
    seen: set[str] = set()
    for member in (*_own(module, node), *(each for base in _bases(module, node) for each in _members(*base))):
        if member.name not in seen and (not member.name.startswith("_") or member.name == "__init__"):
            seen.add(member.name)
            yield member


def _own(module: str, node: ast.ClassDef) -> Iterator[Member]:
    functions: dict[str, list[ast.stmt]] = {}
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.setdefault(each.name, []).append(each)
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield Member(each.target.id, _note_under(node.body, each), type=_field(module, each))
        elif isinstance(each, ast.Assign) and (names := _named(each)) and not names[0].startswith("_"):
            yield Member(names[0], _note_under(node.body, each), type=f"= {ast.unparse(each.value)}")
    for name, nodes in functions.items():
        last = nodes[-1]
        assert isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef)
        marks = {ast.unparse(mark) for mark in last.decorator_list}
        if marks & {"property", "cached_property", "functools.cached_property"}:
            returns = "" if last.returns is None else ast.unparse(last.returns)
            yield Member(name, _doc(last), type=returns)
        elif not any(mark.endswith((".setter", ".deleter")) for mark in marks):
            yield Member(name, _about(nodes), _signatures(module, nodes, in_class=node.name))
        if name == "__init__":
            yield from _set_by(last, node)


def _field(module: str, node: ast.AnnAssign) -> str:
    """Write the type of a field, and what it is where nobody says."""
    default = "" if node.value is None else _default(module, node.value)
    shown = default and len(default) <= SHORT and not default.startswith("field(")
    return ast.unparse(node.annotation) + (f" = {default}" if shown else "")


def _set_by(init: ast.FunctionDef | ast.AsyncFunctionDef, node: ast.ClassDef) -> Iterator[Member]:
    """Yield the public attributes that a constructor sets from what it is given."""
    given = {
        each.arg: ast.unparse(each.annotation)
        for each in (*init.args.args, *init.args.kwonlyargs)
        if each.annotation
    }
    for each in ast.walk(init):
        target: ast.expr | None = each.target if isinstance(each, ast.AnnAssign) else None
        if isinstance(each, ast.Assign) and len(each.targets) == 1:
            target = each.targets[0]
        if not (isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"):
            continue
        if isinstance(each, ast.AnnAssign):
            yield Member(target.attr, _note_under(init.body, each), type=ast.unparse(each.annotation))
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id in given:
            yield Member(target.attr, _note_under(init.body, each), type=given[each.value.id])


def _signatures(module: str, nodes: list[ast.stmt], in_class: str = "") -> tuple[Signature, ...]:
    """Write how a function is called: each of its overloads, or the one way."""
    defined = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    overloads = [each for each in defined if "overload" in map(ast.unparse, each.decorator_list)]
    return tuple(_signature(module, each, in_class) for each in overloads or defined[-1:])


def _signature(module: str, node: ast.FunctionDef | ast.AsyncFunctionDef, in_class: str) -> Signature:
    marks = set(map(ast.unparse, node.decorator_list))
    bound = bool(in_class) and "staticmethod" not in marks
    arguments = ", ".join(_arguments(module, node.args, skip=int(bound)))
    returns = "" if node.returns is None else ast.unparse(node.returns).strip("'")
    name = f"{in_class}.{node.name}" if marks & {"classmethod", "staticmethod"} else node.name
    for mark, words in (("asynccontextmanager", "async with"), ("contextmanager", "with")):
        if mark in marks:
            # Such a function is written as one that yields, and called in a `with`.
            return Signature(name, arguments, returns.partition("[")[2].removesuffix("]"), words)
    before = ""
    if isinstance(node, ast.AsyncFunctionDef):
        yields = any(isinstance(each, ast.Yield) for each in ast.walk(node))
        before = "async for … in" if yields else "await"
    return Signature(name, arguments, "" if returns == "None" else returns, before)


def _arguments(module: str, given: ast.arguments, skip: int) -> Iterator[str]:
    """Write each argument, without the first ones that are bound already.

    >>> made = ast.parse("def f(self, a: int, /, b=2, *, c: str = 'x', **d: Unpack[D]): ...").body[0]
    >>> list(_arguments("lace", made.args, 1))
    ['a: int', '/', 'b=2', '*', "c: str = 'x'", '**d: D']
    """

    def write(argument: ast.arg, default: ast.expr | None = None) -> str:
        value = "" if default is None else _default(module, default)
        if argument.annotation is None:
            return f"{argument.arg}={value}" if value else argument.arg
        annotation = ast.unparse(argument.annotation)
        if annotation.startswith("Unpack["):
            annotation = annotation.removeprefix("Unpack[").removesuffix("]")
        return f"{argument.arg}: {annotation}" + (f" = {value}" if value else "")

    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for number, (argument, default) in enumerate(zip(plain, defaults, strict=True), 1):
        if number > skip:
            yield write(argument, default)
            if number == len(given.posonlyargs):
                yield "/"
    if given.vararg is not None or given.kwonlyargs:
        yield "*" if given.vararg is None else f"*{write(given.vararg)}"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield write(argument, default)
    if given.kwarg is not None:
        yield f"**{write(given.kwarg)}"


def _default(module: str, value: ast.expr) -> str:
    """Write a default; a constant that stands for a short literal is written as that.

    >>> _default("lace.porcelain.server.arrangement", ast.parse("PER_HOST", mode="eval").body)
    '32'
    """
    if isinstance(value, ast.Name) and value.id.isupper():
        try:
            _, (found, *_) = _defined(module, value.id)
        except LookupError:
            return value.id
        meant = found.value if isinstance(found, ast.Assign | ast.AnnAssign) else None
        if isinstance(meant, ast.Constant | ast.Tuple | ast.BinOp):
            literal = ast.unparse(meant)
            whole = not any(isinstance(each, ast.Name | ast.Call) for each in ast.walk(meant))
            return literal if whole and len(literal) <= SHORT else value.id
    return ast.unparse(value)


def _about(nodes: list[ast.stmt]) -> str:
    return next((text for text in map(_doc, reversed(nodes)) if text), "")


def _doc(node: ast.stmt) -> str:
    assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return ast.get_docstring(node) or ""


def _note_under(body: list[ast.stmt], node: ast.stmt) -> str:
    """Return the string that stands under an assignment."""
    statements = list(_statements(body))
    for above, each in pairwise(statements):
        if above is node and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            return inspect.cleandoc(str(each.value.value))
    return ""
