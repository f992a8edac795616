"""The command line: one file a command, exit codes, `--json`; the only reader of $LACE_… variables."""

from lace.cli.entry import main

__all__ = ["main"]
