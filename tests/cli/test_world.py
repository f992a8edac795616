"""Which lace and which keys are meant: options, environment, the nearest folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.cli.world import NoLaceHere, World
from tests.cli.conftest import Run


def test_an_option_goes_before_the_environment_and_that_before_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".lace").mkdir()
    world = World({"LACE_STORE": "/env"}, tmp_path)
    assert world.find_lace("/given") == Path("/given")
    assert world.find_lace(None) == Path("/env")
    assert World({"LACE_STORE": ""}, tmp_path).find_lace(None) == tmp_path


def test_the_nearest_lace_upward_is_found(tmp_path: Path) -> None:
    (tmp_path / ".lace").mkdir()
    below = tmp_path / "a" / "b"
    assert World({}, below).find_lace(None) == tmp_path
    (tmp_path / "a" / ".lace").mkdir(parents=True)
    assert World({}, below).find_lace(None) == tmp_path / "a"


def test_without_a_lace_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(NoLaceHere, match="lace init") as caught:
        World({}, tmp_path).find_lace(None)
    assert "LACE_STORE" in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"LACE_KEYS": "/k", "HOME": "/h"}, "/k"),
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/lace/keys"),
        ({"HOME": "/h"}, "/h/.config/lace/keys"),
    ],
)
def test_keys_lie_where_the_environment_says(
    environment: dict[str, str], folder: str, tmp_path: Path
) -> None:
    assert World(environment, tmp_path).find_keys(None) == Path(folder)
    assert World(environment, tmp_path).find_keys("given") == Path("given")


def test_the_environment_names_the_lace(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("init", "elsewhere").code == 0
    assert run("ls").code == 2
    monkeypatch.setenv("LACE_STORE", "elsewhere")
    assert run("ls").code == 0


def test_a_lace_is_found_from_a_folder_below(lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(home / "a" / "b")
    assert lace("ls").code == 0


def test_a_store_that_is_not_there_is_missing(run: Run, home: Path) -> None:
    assert "store/no-store" in run("ls", "--store", "nothing").err
    assert "lace/none" in run("ls", "--store", ".").err
