"""lace stat"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.lakes import add_lake


def _arguments(parser: ArgumentParser) -> None:
    add_lake(parser)


def _run(call: Call) -> int:
    where = call.args.lake or call.world.find_lace(call.args.store)
    with call.open(read_only=True) as lace:
        stats = lace.stat()
    if call.out.as_json:
        call.out.value({
            "store": str(where), "generation": stats.version.generation, "last": stats.version.last,
            "records": dict(stats.records), "record_bytes": stats.record_bytes, "facts": stats.facts,
            "segments": stats.segments, "removed": stats.removed, "forgotten": stats.forgotten,
            "set_aside": stats.set_aside, "files": dict(stats.files),
        })  # fmt: skip
        return 0
    by_type = ", ".join(f"{stats.records.get(letter, 0):,} {name}" for letter, name in _NAMES)
    lines = [
        ("store", str(where)),
        ("records", f"{sum(stats.records.values()):,} ({by_type})"),
        ("record bytes", f"{stats.record_bytes:,}"),
        ("facts", f"{stats.facts:,} in {stats.segments:,} segments"),
        ("removed", f"{stats.removed:,}"),
        ("forgotten", f"{stats.forgotten:,}"),
        ("set aside", f"{stats.set_aside:,}"),
        ("last number", f"{stats.version.last:,}"),
        *((role.replace("_", " "), f"{size:,} bytes on disk") for role, size in stats.files.items()),
    ]
    widest = max(len(name) for name, _ in lines)
    for name, value in lines:
        call.out.line(f"{name:<{widest}}  {value}")
    return 0


_NAMES = (("B", "Blobs"), ("P", "Plexes"), ("S", "Seals"))

COMMAND = Command(
    "stat",
    "show a lace in numbers",
    "",
    ("lace stat",),
    _arguments,
    _run,
)
