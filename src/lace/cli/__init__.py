"""The command line: one file a command, exit codes, `--json`; the only reader of the environment."""

from lace.cli.entry import main

__all__ = ["main"]
