"""From the command line to an exit code: usage, errors, interruptions, pipes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from lace import __version__
from lace.cli.entry import COMMANDS, main
from lace.porcelain import Lace
from tests.cli.conftest import Run
from tests.layers import GUESTS
from tests.porcelain.talking import OPEN


def program(*argv: str, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the installed command in a process of its own."""
    command = [str(Path(sys.executable).with_name("lace")), *argv]
    world = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    return subprocess.run(command, cwd=folder, env=world, input=stdin, capture_output=True, check=False)


def test_version_and_help_are_printed(run: Run) -> None:
    assert (run("--version").code, run("--version").out) == (0, f"lace {__version__}\n")
    helped = run("--help")
    assert helped.code == 0
    # The summary of a verb with a long name stands below it.
    shown = helped.out.replace("\n", " ")
    assert all(f"    {command.name} " in shown for command in COMMANDS)
    assert "exit codes:" in helped.out


def test_a_verb_that_is_missing_is_told_to_people_by_the_help_and_to_programs_as_an_error(run: Run) -> None:
    for before in ([], ["key"]):
        assert (run(*before).code, "verbs:" in run(*before).out) == (2, True)
        told = run(*before, "--json")
        assert (told.code, told.out) == (2, "")
        assert json.loads(told.err)["code"] == "cli/usage"


class FullDisk(io.RawIOBase):
    """Takes nothing until there is room."""

    room = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.room:
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        return len(data)


def test_help_that_cannot_be_written_is_an_error_and_its_text_is_utf8(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk()
    with monkeypatch.context() as there:
        # As in a locale that knows no UTF-8; the help of this verb has letters that are no ASCII.
        there.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(disk), encoding="ascii"))
        assert main(["serve", "--help"]) == 7
        disk.room = True
        assert main(["serve", "--help"]) == 0
    assert capsys.readouterr().err == "lace: output: No space left on device [file/refused]\n"


def test_no_verb_shows_the_help_and_is_wrong_usage(run: Run) -> None:
    assert run().code == 2
    assert "verbs:" in run().out
    assert run("key").code == 2
    assert "make a key" in run("key").out


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["nonsense"], "see `lace --help`"),
        (["ls", "--nonsense"], "unknown: --nonsense; see `lace ls --help`"),
        (["rm", "a", "--keys", "k", "b", "--jsn"], "unknown: b --jsn; see `lace rm --help`"),
        (["get", "a", "b"], "one argument too many, or apart from the others: b; options go before"),
        (
            ["put", "a", "--group", "u", "b"],
            "apart from the others: b; options go before or behind all of them",
        ),
        (["ls", "--limit", "x"], "'x' is no number"),
        (["export", "--shard-bytes", "0"], "'0' is no size"),
        (["get"], "see `lace get --help`"),
        (["key", "import", "x"], "see `lace key import --help`"),
        (["put", "--header", "no colon", "x"], "write 'Name: value'"),
        (["--lim", "3"], "see `lace --help`"),
    ],
)
def test_wrong_usage_is_one_sentence_with_the_help_to_look_at(run: Run, argv: list[str], named: str) -> None:
    done = run(*argv)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("lace: ")
    assert done.err.endswith(" [cli/usage]\n")
    assert done.err.count("\n") == 1
    assert named in done.err


def test_an_error_is_a_sentence_with_its_code_or_an_object(lace: Run) -> None:
    done = lace("get", "//u//notes//nothing")
    assert (done.code, done.out) == (1, "")
    assert done.err == "lace: there is no record at //u//notes//nothing [reference/nothing-there]\n"
    error = lace("get", "//u//notes//nothing", "--json").error
    assert (error["code"], error["text"]) == ("reference/nothing-there", "//u//notes//nothing")
    assert lace("ls", "--nonsense", "--json").error["code"] == "cli/usage"


def test_the_store_may_be_named_before_or_after_the_verb(run: Run, home: Path) -> None:
    Lace.init(home / "a").close()
    assert run("--store", "a", "ls").code == 0
    assert run("ls", "--store", "a").code == 0
    assert run("--json", "ls", "--store", "a").out == ""


def test_an_interruption_is_130_with_a_word_about_what_is_stored(
    lace: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lace.cli.verify.progress_bar", interrupt)
    done = lace("verify")
    assert (done.code, done.err) == (130, "lace: interrupted; whatever was reported stored is stored\n")


def test_a_fault_of_ours_is_not_hidden(lace: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("lace.cli.verify.progress_bar", fault)
    with pytest.raises(ZeroDivisionError):
        main(["verify"])


def test_what_the_system_says_about_a_file_is_an_error_of_ours(lace: Run) -> None:
    done = lace("key", "import", "x", "no-such-file")
    assert (done.code, done.err) == (7, "lace: no-such-file: No such file or directory [file/refused]\n")
    assert lace("key", "import", "x", "no-such-file", "--json").error["code"] == "file/refused"


@pytest.mark.net
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with Lace.init(tmp_path):
        pass
    assert program("gen", "--count", "3000", "--store", ".", folder=tmp_path).returncode == 0
    command = [str(Path(sys.executable).with_name("lace")), "ls", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def interrupted(process: subprocess.Popen[bytes], number: int) -> bytes:
    """Send a signal until it is heard: one that comes just before a read waits for the next one."""
    while True:
        process.send_signal(number)
        try:
            return process.communicate(timeout=2)[1]
        except subprocess.TimeoutExpired:
            continue


@pytest.mark.net
@pytest.mark.parametrize(
    ("number", "keys"),
    [
        (signal.SIGINT, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_IGN),  # as a shell starts jobs in the background
    ],
)
def test_an_import_that_is_interrupted_keeps_what_is_stored_and_goes_on_later(
    tmp_path: Path, number: int, keys: signal.Handlers
) -> None:
    assert program("init", folder=tmp_path).returncode == 0
    assert program("gen", "--count", "5000", "--sealed", "0", "in.records", folder=tmp_path).returncode == 0
    raw = (tmp_path / "in.records").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    command = [str(Path(sys.executable).with_name("lace")), "import", "pipe"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, keys),
    )  # fmt: skip
    with (tmp_path / "pipe").open("wb") as pipe:
        pipe.write(raw)  # more than a pipe holds: when this returns, most of it was read
        pipe.flush()
        told = interrupted(process, number)
    assert process.returncode == 130
    assert told.startswith(b"lace: interrupted; ")
    done = program("import", "in.records", folder=tmp_path)
    assert done.returncode == 0
    with Lace.open(tmp_path) as lace:
        assert len(list(lace.store.ids())) == 5000
        assert lace.verify().sound


@pytest.mark.net
def test_help_needs_no_guest_and_looking_needs_no_drawing(tmp_path: Path) -> None:
    with Lace.init(tmp_path):
        pass
    for argv, allowed in (
        (["--help"], set[str]()),
        (["ls", "--help"], set[str]()),
        (["ls"], {"apsw", "blake3", "coincurve", "btclib_libsecp256k1"}),
    ):
        code = (
            "import sys\nfrom lace.cli import main\n"
            f"main({argv!r})\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert set(done.stdout.splitlines()[-1].split()) & set(GUESTS) <= allowed


@pytest.mark.net
def test_ctrl_c_while_the_verbs_are_loaded_is_no_traceback(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'lace.cli.ls':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from lace.cli import main\n"
        "sys.exit(main(['ls']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


SECRET = "&." + "7" * 43 + ".H3"


@pytest.mark.parametrize(
    "words",
    [
        ["key", "import", "bob", SECRET],
        ["key", "new", "bob", SECRET],
        ["key", "import", "bob", "-", SECRET],
        [SECRET],
        ["key", SECRET],
        ["put", SECRET],
        ["key", "restore", SECRET],
        ["put", SECRET[:20], "nowhere"],
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_secret_in_the_wrong_place_is_not_repeated(lace: Run, words: list[str], form: list[str]) -> None:
    done = lace(*form, *words)
    assert done.code != 0
    assert "&.…" in done.err
    assert "7777" not in done.out + done.err


@pytest.mark.parametrize(
    "words", [["get", "//u//a//\udcff"], ["init", "caf\udce9"], ["ls", "--store", "\udcff"]]
)
def test_arguments_that_are_no_utf8_are_refused_in_one_sentence(
    lace: Run, home: Path, words: list[str]
) -> None:
    os.mkdir(home / "caf\udce9")
    done = lace(*words)
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "is no UTF-8" in done.err
    assert os.listdir(home / "caf\udce9") == []


def test_a_closed_stdout_is_told_before_anything_is_done(
    lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert main(["init", "other"]) == 7
    assert capsysbinary.readouterr().err == b"lace: output: stdout is closed [file/refused]\n"
    assert not (home / "other").exists()


@pytest.mark.net
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk here that is always full")
@pytest.mark.parametrize("words", [["gen", "--count", "3"], ["rules", "id", "rules"]])
def test_a_full_disk_is_told_once_and_not_by_python(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "rules").write_text("A() :- true.")
    # Where nothing is buffered, nothing is left for the end.
    world = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "lace", *words]
        pipe = subprocess.PIPE
        done = subprocess.run(command, cwd=tmp_path, env=world, stdout=full, stderr=pipe, check=False)
    told = b"lace: output: No space left on device [file/refused]\n"
    assert (done.returncode, done.stderr) == (7, told)


@pytest.mark.parametrize("words", [["put", "-"], ["key", "import", "bob", "-"]])
def test_a_closed_stdin_is_not_an_empty_one(
    lace: Run,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(words) == 7
    assert capsysbinary.readouterr().err.endswith(b"lace: -: stdin is closed [file/refused]\n")
    assert lace("ls", "-q").lines == []


@pytest.mark.parametrize(
    "words",
    [
        ["put", ""],
        ["ls", "--store", ""],
        ["ls", "--lake", ""],
        ["init", ""],
        ["export", ""],
        ["history", "--lake", ""],
        ["history", "--inbox", ""],
        ["preview", "--peer-store", ""],
        ["eval", "rules", "--report", ""],
        ["lake", "init", ""],
        ["lake", "ingest", "", "--lake", "L"],
        ["lake", "ingest", "in", "--lake", "L", "--report", ""],
        ["lake", "converge", "", "L"],
        ["lake", "converge", "L", ""],
        ["lake", "converge", "L", "M", "--report", ""],
    ],
)
def test_an_empty_path_is_not_the_current_folder(lace: Run, home: Path, words: list[str]) -> None:
    (home / "note.txt").write_text("one")
    done = lace(*words)
    assert (done.code, done.out) == (2, "")
    assert "the path is empty: write . for the current folder" in done.err
    assert lace("ls", "-q").lines == []


PRESSED_AGAIN = """
import atexit, os, signal, sys
from lace.cli import entry

def interrupted(*_):
    raise KeyboardInterrupt

def pressed(*_):
    os.kill(os.getpid(), signal.SIGTERM if "term" in sys.argv else signal.SIGINT)

def note(*given, really=entry.Output.note):
    pressed()
    really(*given)

entry._run, entry.Output.note = interrupted, note
if "at exit" in sys.argv:
    atexit.register(pressed)
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
sys.exit(entry.main())
"""


@pytest.mark.net
@pytest.mark.parametrize("more", [[], ["at exit"], ["term"], ["term", "at exit"]])
def test_keys_that_are_pressed_again_change_nothing_about_the_end(more: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PRESSED_AGAIN, *more], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (
        130,
        b"lace: interrupted; whatever was reported stored is stored\n",
    )


def test_an_interrupted_command_tells_programs_in_json(lace: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lace.cli.entry._run", interrupted)
    done = lace("ls", "--json")
    assert (done.code, done.error["code"]) == (130, "cli/interrupted")
    assert done.error["kept"] == "whatever was reported stored is stored"


def test_a_lake_in_the_place_of_a_lace_is_called_one(lace: Run, home: Path) -> None:
    (home / "waters").mkdir()
    (home / "waters" / "lake.json").write_text("{}")
    done = lace("ls", "--store", "waters")
    assert done.code == 1
    assert done.err.startswith("lace: waters is a lake and no lace: name it with --lake")


@pytest.mark.net
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk to try")
def test_a_full_disk_behind_stderr_keeps_nobody_from_the_work(tmp_path: Path) -> None:
    with Lace.init(tmp_path):
        pass
    lace = str(Path(sys.executable).with_name("lace"))
    (tmp_path / "open.policy").write_text(OPEN)
    (tmp_path / "wrong.lacegram").write_text("A(X) :- B(Y).")
    serve = (lace, "serve", "stdio", "--store", ".", "--policy", "open.policy")
    for argv, code in (
        (["preview", "--peer", "anonymous"], 0),  # with a note that there is no policy
        (["sync", "stdio", "--command", *serve], 0),
        (["policy", "check", "nowhere"], 7),
        (["eval", "wrong.lacegram"], 3),
    ):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [lace, *argv], cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, check=False
            )
            assert (done.returncode, bool(done.stdout)) == (code, code == 0), argv
            done = subprocess.run([lace, *argv], cwd=tmp_path, stdout=full, stderr=full, check=False)
            assert done.returncode == (code or 7)
