"""lace key new, ls, import, default, export, backup, restore, rm"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from lace.cli.command import Call, Command, no_arguments, verb_of_verbs
from lace.cli.passphrases import add_passphrase, new_passphrase, open_key
from lace.cli.tables import write_table
from lace.errors import InputError, Missing

_MAX_SECRET_BYTES = 4096


class NoDefaultKey(Missing):
    """A default key is wanted and there is none."""

    code = "cli/no-default-key"
    text = (
        "there is no default key in {where}: choose one with `lace key default NAME`, or make one with"
        " `lace key new NAME`"
    )


class SecretOnTerminal(InputError):
    """A secret that was about to be shown on a screen."""

    code = "cli/secret-on-terminal"
    text = "the secret would be shown on this terminal: give --reveal, or send it to a file"


def _protection(parser: ArgumentParser) -> None:
    parser.add_argument("--passphrase", action="store_true", help="protect it; asks for a passphrase")
    add_passphrase(parser)


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of the key")


def _new_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", default="me", help="its name (else: me)")
    _protection(parser)


def _new(call: Call) -> int:
    from lace.porcelain import new_secret

    name, secret = call.args.name, new_secret()
    call.keyring().import_secret(name, secret, new_passphrase(call.args))
    call.out.result(f"{name}  {secret.verifier}", {"name": name, "verifier": secret.verifier})
    return 0


def _ls(call: Call) -> int:
    keys = call.keyring().list()
    if call.out.as_json:
        for key in keys:
            fault = key.fault.to_json() if key.fault else None
            call.out.value({
                "name": key.name, "verifier": key.verifier, "protected": key.protected,
                "default": key.default, "fault": fault,
            })  # fmt: skip
        return 0
    rows = [
        [
            key.name + (" (default)" if key.default else ""),
            key.verifier or f"cannot be read: {key.fault}",
            "yes" if key.protected else "",
        ]
        for key in keys
    ]
    if rows:
        write_table(call.out, ["key", "verifier", "locked"], rows)
    else:
        call.out.note(f"there are no keys in {call.keyring().folder}: make one with `lace key new NAME`")
    return 0


def _import_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("file", metavar="FILE", help="a file with a secret, &.….H3; - is stdin")
    parser.add_argument("--replace", action="store_true", help="replace a key of this name")
    _protection(parser)


def _import(call: Call) -> int:
    from lace.porcelain import read_short_file
    from lace.signing import parse_secret

    args = call.args
    if args.file == "-":
        raw = sys.stdin.buffer.readline(_MAX_SECRET_BYTES)
    else:
        raw = read_short_file(Path(args.file), _MAX_SECRET_BYTES)
    secret = parse_secret(raw.decode("ascii", "replace").strip())
    call.keyring().import_secret(args.name, secret, new_passphrase(args), replace=args.replace)
    call.out.result(f"{args.name}  {secret.verifier}", {"name": args.name, "verifier": secret.verifier})
    return 0


def _default_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="use this key from now on")


def _default(call: Call) -> int:
    keyring = call.keyring()
    if call.args.name:
        keyring.set_default(call.args.name)
    name = keyring.default()
    if name is None:
        raise NoDefaultKey(where=str(keyring.folder))
    call.out.result(name, {"name": name})
    return 0


def _export_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--reveal", action="store_true", help="also on a terminal")
    add_passphrase(parser)


def _export(call: Call) -> int:
    if call.out.terminal and not call.args.reveal:
        raise SecretOnTerminal
    text = open_key(call.keyring(), call.args.name, call.args).reveal()
    call.out.result(text, {"name": call.args.name, "secret": text})
    return 0


def _backup_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a new file, or a folder for lace-keys.backup")
    parser.add_argument("names", metavar="NAME", nargs="*", help="these keys (else: all)")


def _backup(call: Call) -> int:
    path = call.keyring().backup(Path(call.args.file), call.args.names or None)
    call.out.result(str(path), {"backup": str(path)})
    return 0


def _restore_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a backup")
    parser.add_argument("--replace", action="store_true", help="replace keys of the same names")


def _restore(call: Call) -> int:
    names = call.keyring().restore(Path(call.args.file), replace=call.args.replace)
    if call.out.as_json:
        call.out.value({"restored": list(names)})
    for name in () if call.out.as_json else names:
        call.out.line(name)
    if not names and not call.out.as_json:
        call.out.note("every key was there already")
    return 0


def _rm(call: Call) -> int:
    call.keyring().remove(call.args.name)
    call.out.result(f"removed {call.args.name}", {"removed": call.args.name})
    return 0


COMMAND = verb_of_verbs(
    "key",
    "make and keep signing keys",
    "Keys are files that only you can read, in $LACE_KEYS or ~/.config/lace/keys.",
    ("lace key new alice", "lace key ls"),
    (
        Command(
            "new",
            "make a key",
            "The first key is the default one.",
            ("lace key new alice",),
            _new_arguments,
            _new,
        ),
        Command("ls", "list the keys", "", ("lace key ls --json",), no_arguments, _ls),
        Command(
            "import",
            "keep a secret that comes from elsewhere",
            "The secret is read from a file or stdin: command lines are seen by others.",
            ("lace key export me | lace key import copy -",),
            _import_arguments,
            _import,
        ),
        Command(
            "default",
            "show or choose the key that signs where none is named",
            "",
            ("lace key default me",),
            _default_arguments,
            _default,
        ),
        Command(
            "export",
            "write a secret in the clear",
            "Whoever reads it can sign as you. `lace key backup` keeps protected keys protected.",
            ("lace key export me > me.secret",),
            _export_arguments,
            _export,
        ),
        Command(
            "backup",
            "write keys into one file that can be put away",
            "Protected keys stay protected.",
            ("lace key backup keys.backup",),
            _backup_arguments,
            _backup,
        ),
        Command(
            "restore",
            "put the keys of a backup back",
            "Keys that are there already are left alone.",
            ("lace key backup safe.backup", "lace key restore safe.backup"),
            _restore_arguments,
            _restore,
        ),
        Command(
            "rm",
            "delete a key for good",
            "Without a backup nobody can sign as its verifier again.",
            ("lace key new old", "lace key rm old"),
            _name,
            _rm,
        ),
    ),
)
