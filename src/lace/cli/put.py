"""lace put"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from lace.cli.command import Call, Command
from lace.cli.elsewhere import add_to, deliver_then
from lace.cli.grammar import Usage, parse_path
from lace.cli.output import count
from lace.cli.passphrases import add_passphrase, open_key
from lace.errors import LaceError

if TYPE_CHECKING:
    from lace.porcelain import Lace
    from lace.record import Record
    from lace.signing import Secret
    from lace.text import RecordId

_BATCH_RECORDS = 1000
_BATCH_BYTES = 16 * 1024 * 1024


class _Input(NamedTuple):
    """One file to store."""

    path: Path | None
    """None is stdin."""
    name: str | None
    """What its Name would be, where none is given."""
    walked: bool = False
    """Whether it was found in a folder, not asked for by name."""

    def __str__(self) -> str:
        return str(self.path or "-")

    def read(self) -> bytes:
        """Return the data; what is too long for a record is never held."""
        from lace.record import LIMITS, DataTooLong

        limit = LIMITS.data_bytes
        if self.path is None:
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with self.path.open("rb") as file:
                # A device says 0, and a file may grow: reading is bounded too.
                length = os.fstat(file.fileno()).st_size
                if length > limit:
                    raise DataTooLong(length=length, limit=limit, offset=0)
                data = file.read(limit + 1)
        if len(data) > limit:
            raise DataTooLong(length=len(data), limit=limit, offset=0)
        return data


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(": ")
    if not colon:
        raise ArgumentTypeError(f"{text!r} is no header: write 'Name: value'")
    return name, value


def _link(text: str) -> tuple[str, str]:
    # Paths may hold spaces: a coordinate goes to the end.
    if text.startswith("//"):
        return "", text
    data, found, coordinate = text.partition(" //")
    if found:
        return data, f"//{coordinate}"
    data, _, target = text.rpartition(" ")
    return data, target


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=parse_path, help="files, folders, or - for stdin"
    )
    place = parser.add_argument_group("where it goes; without these it is a bare Blob")
    place.add_argument("--group", metavar="PATH", help="the group")
    place.add_argument("--app", metavar="PATH", help="the app")
    place.add_argument(
        "--name", metavar="PATH",
        help="the name (else: the file's own); for several files what comes before theirs",
    )  # fmt: skip
    said = parser.add_argument_group("what is said about it")
    said.add_argument(
        "--header", metavar="'NAME: VALUE'", type=_header, action="append", default=[], help="an extra header"
    )
    said.add_argument(
        "--link", metavar="'[DATA ]RECORD'", type=_link, action="append", default=[],
        help="a link to a record: an id, its beginning, or //group//app//name",
    )  # fmt: skip
    time = said.add_mutually_exclusive_group()
    time.add_argument(
        "--tai", metavar="TIME", help="its time (else: now): TAI text, 2024-01-31, '2024-01-31 12:30'"
    )
    time.add_argument("--mtime", action="store_true", help="its time is that of the file's last change")
    signing = parser.add_argument_group("signing")
    signing.add_argument("--sign", action="store_true", help="sign with the default key")
    signing.add_argument("--key", metavar="NAME", help="sign with this key")
    add_passphrase(signing)
    parser.add_argument("--all", action="store_true", help="in folders, also what begins with a dot")
    parser.add_argument(
        "--admit-inner", action="store_true", help="store the inner records in their own right too"
    )
    add_to(parser)


def _run(call: Call) -> int:
    args = call.args
    secret = _secret(call)
    inputs = [each for path in args.paths for each in _inputs(call, path)]
    if not inputs:
        raise Usage(reason="there are no files in " + ", ".join(args.paths), command="lace put")
    with call.open(admit_inner=args.admit_inner) as lace:
        putting = _Putting(call, lace, secret, several=len(inputs) > 1)
        code = putting.run(inputs)
        if args.target is not None and putting.stored:
            code = code or deliver_then(call, lace, putting.stored)
        return code


class _Putting:
    """Stores files in commits of many, and tells of each what became of it."""

    def __init__(self, call: Call, lace: Lace, secret: Secret | None, *, several: bool) -> None:
        self._args, self._out = call.args, call.out
        self._lace = lace
        self._secret = secret
        self._several = several
        self._batch: list[tuple[_Input, Record]] = []
        self._bytes = 0
        self._done = 0
        self._code = 0
        self.stored: list[RecordId] = []
        """What is stored here, in the order of the inputs."""

    def run(self, inputs: list[_Input]) -> int:
        """Store all inputs; one that cannot be stored does not stop the others."""
        for each in inputs:
            try:
                record = self._make(each)
            except LaceError as error:
                self._fail(error, each)
                continue
            if record is None:
                self._out.note(f"{each}: holds signing keys, left out")
                continue
            self._batch.append((each, record))
            self._bytes += record.size
            if len(self._batch) >= _BATCH_RECORDS or self._bytes >= _BATCH_BYTES:
                self._commit()
        self._commit()
        return self._code

    def _fail(self, error: LaceError, given: _Input) -> None:
        if not self._several:
            raise error
        # Errors of files name the file themselves; a program finds it under `about` each time.
        named = str(error).startswith(f"{given}: ") and not self._out.as_json
        self._out.error(error, "" if named else str(given))
        self._code = self._code or error.exit_code

    def _make(self, given: _Input) -> Record | None:
        from lace.porcelain import file_faults, holds_keys, tai_from_nanoseconds

        args = self._args
        with file_faults(given.path or Path("-")):
            data = given.read()
            if given.walked and holds_keys(data):
                return None
            tai = args.tai
            if args.mtime and given.path is not None:
                tai = tai_from_nanoseconds(given.path.stat().st_mtime_ns)
        name = args.name
        if args.group is not None or args.app is not None:
            if name is None:
                name = given.name
            elif self._several and given.name is not None:
                name = f"{name}/{given.name}"
        made: Record = self._lace.make(
            data, group=args.group, app=args.app, name=name, tai=tai,
            extra=args.header, links=args.link, sign=self._secret,
        )  # fmt: skip
        return made

    def _commit(self) -> None:
        from lace.stores import Forgotten

        if not self._batch:
            return
        batch, self._batch, self._bytes = self._batch, [], 0
        try:
            outcomes = self._lace.put_records([record for _, record in batch])
        except Forgotten as error:
            if len(batch) == 1:
                self._fail(error, batch[0][0])
                return
            # One forgotten record holds back its whole commit: each gets one of its own.
            for each in batch:
                self._batch = [each]
                self._commit()
            return
        for (given, record), stored in zip(batch, outcomes, strict=True):
            text = f"{record.id}  {given}" if self._several else record.id
            self._out.result(text, {"id": record.id, "new": stored.new, "source": str(given)})
            self.stored.append(record.id)
        self._done += len(batch)
        self._out.kept = f"{count(self._done, 'record')} stored"


def _secret(call: Call) -> Secret | None:
    from lace.cli.key import NoDefaultKey

    args: Namespace = call.args
    if not args.sign and args.key is None:
        return None
    keyring = call.keyring()
    name = args.key or keyring.default()
    if name is None:
        raise NoDefaultKey(where=str(keyring.folder))
    return open_key(keyring, name, args)


def _inputs(call: Call, text: str) -> Iterator[_Input]:
    path = Path(text)
    if text == "-":
        yield _Input(None, None)
    elif os.path.isdir(path):
        yield from _walk(call, path)
    else:
        yield _Input(path, path.name)


def _walk(call: Call, path: Path) -> Iterator[_Input]:
    """Find the files of a folder; what cannot be looked at is found too, and told when it is read."""
    hidden: bool = call.args.all
    keys = os.path.realpath(call.world.find_keys(call.args.keys))
    unread: list[Path] = []
    for folder, folders, files in os.walk(path, onerror=lambda error: unread.append(Path(error.filename))):
        if os.path.realpath(folder) == keys:
            call.out.note(f"{folder}: the folder of keys, left out")
            folders.clear()
            continue
        # A lace is not put into a lace, whatever is asked for.
        folders[:] = sorted(f for f in folders if f != ".lace" and (hidden or not f.startswith(".")))
        for file in sorted(files):
            if hidden or not file.startswith("."):
                found = Path(folder, file)
                if _can_be_stored(found):
                    yield _Input(found, found.relative_to(path).as_posix(), walked=True)
                else:
                    call.out.note(f"{found}: a pipe, socket or device, left out")
    for found in unread:
        yield _Input(found, found.name, walked=True)


def _can_be_stored(path: Path) -> bool:
    try:
        return S_ISREG(path.stat().st_mode)
    except OSError:  # a link to nowhere, or nothing we may look at: told when it is read
        return True


COMMAND = Command(
    "put",
    "store files as records",
    "With --group and --app a file becomes a Plex at //group//app//name, without them a bare Blob; signed it "
    "becomes a Seal. A folder is stored file by file, names relative to it. With --to, what was stored "
    "here is brought to another lace as well; what that lace does not ask for, and is not known to have from "
    "an earlier exchange, makes the exit code 1, incomplete. With --json: an object for each file, and with "
    "--to one more that says what was sent, there before, not wanted and held back.",
    (
        "echo hello > hello.txt && lace put hello.txt",
        "lace key new alice",
        "lace put --group u --app notes --name first --header 'Tag: new' --key alice hello.txt",
        "echo hi | lace put --group u --app notes --name second --link 'reply //u//notes//first' -",
        "mkdir -p papers && cp hello.txt papers && lace put --group u --app docs papers",
    ),
    _arguments,
    _run,
)
