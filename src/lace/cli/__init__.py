"""The command line: one file a command, exit codes, `--json`; the only reader of $LACE_… variables."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        # Loaded here, and not when the script loads us: Ctrl-C may come while it lasts.
        from lace.cli.entry import main as run
    except KeyboardInterrupt:
        return 130
    return run(argv)
