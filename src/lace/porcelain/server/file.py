"""A server in a file: where it is reached, whom it serves under which policies, and how much (`lace.serve`).

    # Everybody may read the notes of the town.
    address  tcp:0.0.0.0:4790
    address  unix:/run/lace/lace.sock
    policy   town.policy
    deny     203.0.113.0/24
    user     alice V.….H3
    exchanges-per-host 8

    [members]
    peers    V.….H3 V.….H3
    policy   members.policy
    stored-per-day 2G

Rules of this file:
1. A line is a word and its values. What stands above the first [group] is about the server, and is the
   default for everybody; what stands below one is about the peers of that group.
2. Everything that is wrong is said at once, with its line.
3. What is given beside the file, on a command line, is a line of the same words and wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final, NamedTuple

from lace.datalog import NOWHERE, Diagnostic, Span
from lace.errors import InputError, LaceError, TextError
from lace.iltp import Address, BadAddress, parse_address
from lace.porcelain.files import check_no_pipe, read_short_file
from lace.porcelain.server.disk import COMMIT_ROOM
from lace.porcelain.server.faults import find_server_fault, refuse_server
from lace.porcelain.server.log import FORMATS
from lace.porcelain.server.visitors import TRANSPORTS, Who, parse_user, parse_who
from lace.text import Verifier, parse_verifier

SERVER_FILE_BYTES: Final = 1 << 20
COMMAND_LINE: Final = "the command line"
_SIZES: Final = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_GREATEST: Final = 1 << 60
_HEADER = re.compile(r"\s*\[\s*(?P<name>[\w.-]{1,64})\s*\]\s*", re.ASCII)
_WORD = re.compile(r"\S+")


class BadValue(InputError):
    """A value that a word of a server file cannot have."""

    code = "serve/value"
    text = "{given!r} is no {what}"


def parse_served(text: str) -> Address:
    """Read an address to serve; unlike one that is dialled, its port may be 0, which takes a free one.

    >>> parse_served("tcp:127.0.0.1:0").port
    0
    """
    free = re.fullmatch(r"((?:tcp|ws|wss):.*):0(/interlace)?", text)
    if free is None:
        return parse_address(text)
    return replace(parse_address(f"{free[1]}:1{free[2] or ''}"), port=0)


def parse_bytes(text: str) -> int:
    """Read a number of bytes: 1000, 64k, 16M, 2G, 1T."""
    unit = _SIZES.get(text[-1:], 1)
    return (
        _number(text[:-1] if text[-1:] in _SIZES else text, "a size: write 1000, 64k, 16M, 2G or 1T") * unit
    )


def parse_store_bound(text: str) -> int:
    """Read how many bytes a store may hold, which is more than one commit brings."""
    bound = parse_bytes(text)
    if bound <= COMMIT_ROOM:
        least = f"{COMMIT_ROOM >> 20}M"
        raise BadValue(given=text, what=f"bound for a store: a commit may bring {least}, so say more")
    return bound


def parse_amount(text: str) -> int:
    """Read a number from 1 on."""
    return _number(text, "number from 1 on")


def parse_port(text: str) -> int:
    """Read the number of a port; 0 takes one that is free."""
    number = 0 if text == "0" else _number(text, "port: write 0 to 65535")
    if number > 65_535:
        raise BadValue(given=text, what="port: write 0 to 65535")
    return number


def parse_yes(text: str) -> bool:
    """Read yes or no."""
    if text not in ("yes", "no"):
        raise BadValue(given=text[:40], what="answer: write yes or no")
    return text == "yes"


def parse_seconds(text: str) -> float:
    """Read a time in seconds."""
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", text, re.ASCII) is None or float(text) <= 0:
        raise BadValue(given=text[:40], what="time: write seconds, such as 30 or 0.5")
    return float(text)


def _number(text: str, what: str) -> int:
    if re.fullmatch(r"[1-9][0-9]{0,17}", text, re.ASCII) is None or int(text) > _GREATEST:
        raise BadValue(given=text[:40], what=what)
    return int(text)


def _transport(text: str) -> str:
    if text not in TRANSPORTS:
        raise BadValue(given=text[:40], what=f"transport: there are {', '.join(TRANSPORTS)}")
    return text


def _network(text: str) -> Who:
    try:
        return Who(text, "host", ip_network(text))
    except ValueError:
        what = "address or network: write 192.0.2.7 or 192.0.2.0/24, and not 192.0.2.7/24"
        raise BadValue(given=text[:40], what=what) from None


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise BadValue(given=text[:40], what="address: write one, such as 127.0.0.1") from None


def _form(text: str) -> str:
    if text not in FORMATS:
        raise BadValue(given=text[:40], what=f"format of a log: there are {' and '.join(FORMATS)}")
    return text


class Word(NamedTuple):
    """What may stand in a line."""

    reads: Callable[[str], Any]
    help: str
    many: bool = False
    """Whether it takes several values, and several lines."""
    path: bool = False


SERVER_WORDS: Final = {
    "address": Word(parse_served, "where to serve: stdio, unix:/path, tcp:…, ws:… or wss:…", many=True),
    "allow": Word(parse_who, "serve nobody else", many=True),
    "deny": Word(parse_who, "do not serve these", many=True),
    "sign-as": Word(str, "the key that this server proves itself with"),
    "prove-in-clear": Word(parse_yes, "send and accept signer proofs on plain tcp and ws too (no)"),
    "certificate": Word(str, "for wss: the certificate, with those between it and its authority", path=True),
    "certificate-key": Word(str, "its key, where it is not in the same file", path=True),
    "public-certificate": Word(str, "serving ws behind a proxy: what the proxy shows", path=True),
    "proxy": Word(_address, "addresses of that proxy", many=True),
    "origin": Word(str, "web pages whose scripts may connect", many=True),
    "deflate": Word(parse_yes, "let ws compress (no)"),
    "socket-mode": Word(lambda text: _octal(text), "who may connect to a unix socket (600)"),
    "open": Word(parse_yes, "stay for news when everything is exchanged, where the peer does (yes)"),
    "look-seconds": Word(parse_seconds, "how often to look whether somebody else wrote to the store (1)"),
    "grace-seconds": Word(parse_seconds, "how long exchanges may end when the server is stopped (10)"),
    "log-format": Word(_form, "json or text"),
    "log": Word(str, "a file for the log (stderr)", path=True),
    "metrics": Word(parse_port, "a port of the loopback for the numbers of this server"),
    "exchanges": Word(parse_amount, "at once, in all (128)"),
    "exchanges-per-host": Word(parse_amount, "at once, from one host (32)"),
    "stored-per-day-in-all": Word(parse_bytes, "bytes of records stored in a day, in all (no limit)"),
    "keep-free": Word(parse_bytes, "bytes of the disk that peers leave free (nothing)"),
    "store-at-most": Word(
        parse_store_bound, "bytes of records in the store, after which peers only get (no limit)"
    ),
}
PEER_WORDS: Final = {
    "policy": Word(str, "the policy file", path=True),
    "exchanges-per-peer": Word(parse_amount, "at once (8)"),
    "rounds": Word(parse_amount, "of one exchange; then it is closed (100000)"),
    "loops": Word(parse_amount, "of one round (16)"),
    "round-bytes": Word(parse_bytes, "of records in one round, each way (1G)"),
    "round-seconds": Word(parse_seconds, "for one round (3600)"),
    "block-bytes": Word(parse_bytes, "of one block of facts, which is held in memory (64M)"),
    "rules-bytes": Word(parse_bytes, "of text that the peer's rules may have (64k)"),
    "phase-seconds": Word(parse_amount, "how long a silent peer is waited for (30)"),
    "evaluation-seconds": Word(parse_seconds, "for the peer's rules, each time (10)"),
    "evaluation-steps": Word(parse_amount, "rows that the peer's rules may make, each time (67108864)"),
    "stored-per-day": Word(parse_bytes, "bytes of records that one peer may store in a day (no limit)"),
    "traffic-per-day": Word(parse_bytes, "bytes on the wire for one peer in a day, both ways (no limit)"),
}
GROUP_WORDS: Final = {
    "peers": Word(parse_verifier, "verifiers", many=True),
    "users": Word(parse_user, "users of this machine, on unix", many=True),
    "hosts": Word(_network, "addresses and networks", many=True),
    "transports": Word(_transport, "whoever comes this way", many=True),
}
USER_WORD: Final = "user"
"""`user NAME V.….H3`: the one word with values of two kinds."""


def _octal(text: str) -> int:
    if re.fullmatch(r"0?[0-7]{3}", text, re.ASCII) is None:
        raise BadValue(given=text[:40], what="mode: write 600, 660 or 666")
    return int(text, 8)


class Given(NamedTuple):
    """A value and where it stands."""

    value: Any
    line: str
    at: Span


@dataclass
class ServerGroup:
    """What the lines of the server, or of one group, say."""

    name: str
    header: str = ""
    at: Span = NOWHERE
    words: dict[str, list[Given]] = field(default_factory=dict)

    def one(self, word: str, default: Any = None) -> Any:
        """Return the value of a word of one value."""
        given = self.words.get(word)
        return given[-1].value if given else default

    def all(self, word: str) -> tuple[Any, ...]:
        """Return all values of a word."""
        return tuple(given.value for given in self.words.get(word, ()))


@dataclass
class ServerFile:
    """A file as it was understood, and what was not."""

    name: str
    server: ServerGroup = field(default_factory=lambda: ServerGroup(""))
    groups: list[ServerGroup] = field(default_factory=list)
    users: dict[int, Verifier] = field(default_factory=dict)
    faults: list[Diagnostic] = field(default_factory=list)


def read_server(path: Path | None, given: Sequence[tuple[str, str]] = ()) -> ServerFile:
    """Read a server file, where there is one, and words that are given beside it.

    What is wrong stands in `faults`: whoever uses the result looks for more, and tells all of it at once.
    """
    file = ServerFile(COMMAND_LINE if path is None else str(path))
    if path is not None:
        check_no_pipe(path)
        raw = read_short_file(path, SERVER_FILE_BYTES)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            message = f"byte {error.start} is no UTF-8"
            raise refuse_server(file.name, [find_server_fault("serve/not-utf8", message)]) from None
        _Reader(file, path.parent).read(text)
    beside = ServerFile(COMMAND_LINE)
    reader = _Reader(beside, Path())
    for word, value in given:
        reader.give(word, value)
    # A line that nobody wrote has no place that one could look at.
    file.faults += [
        replace(each, message=f"{each.excerpt}: {each.message}", span=NOWHERE) for each in beside.faults
    ]
    # What is given beside a file takes the place of what the file says.
    for word, values in beside.server.words.items():
        file.server.words[word] = [each._replace(at=NOWHERE) for each in values]
    file.users.update(beside.users)
    return file


class _Reader:
    def __init__(self, file: ServerFile, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._group = file.server
        self._offset = 0

    def read(self, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            self._read_line(number, line)
            self._offset += len(line.encode()) + 1

    def give(self, word: str, value: str) -> None:
        """Take a word that stands in no file: what it names may hold blanks, and # begins no comment."""
        line, start = f"{word} {value}", len(word) + 1
        what = (SERVER_WORDS | PEER_WORDS).get(word)
        if what is not None and (what.path or what.reads is parse_served):
            values = [(value, self._span(1, line, start, len(line)))] if value else []
        else:
            values = [(each[0], self._span(1, line, *each.span())) for each in _WORD.finditer(line, start)]
        self._take(word, line, self._span(1, line, 0, len(word)), values)

    def _span(self, number: int, line: str, start: int, end: int) -> Span:
        return Span(number, start, end, self._offset + len(line[:start].encode()))

    def _fault(self, code: str, message: str, line: str, at: Span, **values: object) -> None:
        typed = self._file.name == COMMAND_LINE
        self._file.faults.append(find_server_fault(code, message, line, at, typed=typed, **values))

    def _read_line(self, number: int, line: str) -> None:
        # A value never begins with #, so behind a blank it begins a comment.
        bare = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        if not bare:
            return
        if bare.lstrip().startswith("["):
            self._begin_group(number, line, bare)
            return
        found = [(each[0], self._span(number, line, *each.span())) for each in _WORD.finditer(bare)]
        (word, at), *values = found
        self._take(word, line, at, values)

    def _take(self, word: str, line: str, at: Span, values: list[tuple[str, Span]]) -> None:
        if word == USER_WORD and self._group is self._file.server:
            self._read_user(line, at, values)
            return
        here = SERVER_WORDS | PEER_WORDS if self._group is self._file.server else PEER_WORDS | GROUP_WORDS
        if word not in here:
            advice = _advice(word, self._group.name)
            self._fault(
                "serve/word", f"{word[:40]!r} is no word of a server file here", line, at, advice=advice
            )
            return
        self._read_values(word, here[word], line, at, values)

    def _begin_group(self, number: int, line: str, bare: str) -> None:
        header = _HEADER.fullmatch(bare)
        at = self._span(number, line, len(bare) - len(bare.lstrip()), len(bare))
        if header is None:
            self._fault("serve/section", "this is no name of a group", line, at)
        elif any(group.name == header["name"] for group in self._file.groups):
            self._fault("serve/section", f"there is a group [{header['name']}] already", line, at)
        self._group = ServerGroup(header["name"] if header else f"line {number}", line, at)
        self._file.groups.append(self._group)

    def _read_values(
        self, word: str, what: Word, line: str, at: Span, values: list[tuple[str, Span]]
    ) -> None:
        words = self._group.words
        if words.get(word) and not what.many:
            self._fault("serve/repeated", f"{word} a second time", line, at, first=words[word][0].at.line)
            return
        if what.path and values:
            # A path may hold blanks: it is all that stands behind the word.
            start, end = values[0][1], values[-1][1]
            whole = line[start.start : end.end]
            values = [(str(self._folder / whole), start._replace(end=end.end))]
        if not values or (len(values) > 1 and not what.many):
            self._fault("serve/value", f"{word} takes one value", line, at, advice=f"{word}: {what.help}")
            return
        for text, where in values:
            if what.path and "\0" in text:
                self._fault("serve/value", "no path holds a NUL", line, where, advice=f"{word}: {what.help}")
                continue
            try:
                words.setdefault(word, []).append(Given(what.reads(text), line, where))
            except LaceError as error:
                advice = f"{word}: {what.help}"
                self._fault("serve/value", _reason(error), line, where, advice=advice)

    def _read_user(self, line: str, at: Span, values: list[tuple[str, Span]]) -> None:
        advice = "user: whose verifier a user of this machine is, such as: user alice V.….H3"
        if len(values) != 2:
            self._fault("serve/value", "user takes a name and a verifier", line, at, advice=advice)
            return
        read: list[Any] = []
        for (text, where), reads in zip(values, (parse_user, parse_verifier), strict=True):
            try:
                read.append(reads(text))
            except LaceError as error:
                self._fault("serve/value", _reason(error), line, where, advice=advice)
        if len(read) == 2:
            self._file.users[read[0]] = read[1]


def _reason(error: LaceError) -> str:
    if isinstance(error, TextError) and not isinstance(error, BadAddress):
        return f"this is no verifier: {error}"
    return str(error)


def _advice(word: str, group: str) -> str:
    from difflib import get_close_matches

    if word.startswith("\ufeff"):
        return "the file begins with a byte order mark: save it as UTF-8 without one"
    everywhere: Iterable[str] = {*SERVER_WORDS, *PEER_WORDS, *GROUP_WORDS, USER_WORD}
    if word in everywhere:
        return f"{word} stands {'above the groups' if group else 'in a group'}"
    near = get_close_matches(word, sorted(everywhere), 1)
    return f"did you mean {near[0]}?" if near else f"words are {', '.join(sorted(everywhere))}"
