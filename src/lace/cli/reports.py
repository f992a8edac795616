"""What stores report while they work, such as a damaged record that was left out, as notes on stderr."""

from __future__ import annotations

import logging

from lace.cli.output import Output


class _Notes(logging.Handler):
    """Passes reports on, unless the command says the same in its own words."""

    def __init__(self, out: Output) -> None:
        super().__init__(logging.WARNING)
        self._out = out

    def emit(self, record: logging.LogRecord) -> None:
        """Write one report."""
        if not self._out.tells_damage:
            self._out.note(record.getMessage())


def note_reports(out: Output) -> None:
    """Write the reports of this process to these notes from now on."""
    logging.getLogger("lace").handlers[:] = [_Notes(out)]
