"""lace lake init, ingest, converge, fold, history, rejects, optimize, vacuum, fsck, erase, allow"""

from __future__ import annotations

from lace.cli import (
    lake_converge,
    lake_erase,
    lake_fold,
    lake_fsck,
    lake_history,
    lake_ingest,
    lake_init,
    lake_optimize,
    lake_rejects,
    lake_vacuum,
)
from lace.cli.command import verb_of_verbs

COMMAND = verb_of_verbs(
    "lake",
    "keep records by the million in a folder of tables, with Spark",
    "Other verbs read a lake as they read a store: ls, get, facts, export, verify, stat, eval, why and "
    "whynot with --lake; serve, sync and follow let one take part in exchanges. "
    "A lake needs the extra `spark`: pip install 'lace-py[spark]'.",
    ("lace lake init waters", "lace lake history --lake waters"),
    (
        *(
            each.COMMAND
            for each in (
                lake_init,
                lake_ingest,
                lake_converge,
                lake_fold,
                lake_history,
                lake_rejects,
                lake_optimize,
                lake_vacuum,
                lake_fsck,
            )
        ),
        lake_erase.ERASE,
        lake_erase.ALLOW,
    ),
)
