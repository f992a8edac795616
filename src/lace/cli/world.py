"""The one place that reads the current folder, and our own variables of the environment.

$LACE_STORE     the lace to use          else the nearest `.lace` from here upward
$LACE_KEYS      the folder of keys       else $XDG_CONFIG_HOME/lace/keys, else ~/.config/lace/keys
$LACE_PROGRESS  `lines`: how far long work is goes to stderr a line at a time, else a bar on a terminal
                what was typed before    $XDG_STATE_HOME/lace, else ~/.local/state/lace
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lace.errors import Missing

FOLDER = ".lace"


class NoLaceHere(Missing):
    """No lace was named, and there is none around."""

    code = "cli/no-lace"
    text = (
        "there is no lace in {where} or any folder above it: "
        "make one with `lace init`, or name one with --store PATH or $LACE_STORE"
    )
    exit_code = 2


class World(NamedTuple):
    """What surrounds a call."""

    environment: Mapping[str, str]
    folder: Path

    @classmethod
    def here(cls) -> World:
        """Look around."""
        return cls(os.environ, Path.cwd())

    def find_lace(self, given: str | None) -> Path:
        """Return the path of the lace to use: a folder or a store file."""
        named = given or self.environment.get("LACE_STORE")
        if named:
            return Path(named)
        for folder in (self.folder, *self.folder.parents):
            if (folder / FOLDER).is_dir():
                return folder
        raise NoLaceHere(where=str(self.folder))

    def find_keys(self, given: str | None) -> Path:
        """Return the folder of keys."""
        named = given or self.environment.get("LACE_KEYS")
        if named:
            return Path(named)
        config = self.environment.get("XDG_CONFIG_HOME")
        home = self.environment.get("HOME")
        start = Path(config) if config else (Path(home) if home else Path.home()) / ".config"
        return start / "lace" / "keys"

    def wants_lines(self) -> bool:
        """Tell whether progress is to be told in lines, for logs."""
        return self.environment.get("LACE_PROGRESS") == "lines"

    def find_state(self) -> Path:
        """Return the folder of what is kept from one call to the next."""
        state = self.environment.get("XDG_STATE_HOME")
        home = self.environment.get("HOME")
        start = Path(state) if state else (Path(home) if home else Path.home()) / ".local" / "state"
        return start / "lace"
