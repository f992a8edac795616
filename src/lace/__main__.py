"""`python -m lace VERB …`, and the file for spark-submit, which takes a name without .py for a jar."""

from __future__ import annotations

import os
import sys


def _run() -> int:
    # Run by its path, Python looks beside this file first: packages of ours would hide others of their names.
    beside = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != beside]
    from lace.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(_run())
