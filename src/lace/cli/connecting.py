"""What the verbs that reach other laces share: where, under which policy, who we are and whom we expect."""

from __future__ import annotations

import os
import stat
from argparse import REMAINDER, ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call
from lace.cli.grammar import Usage
from lace.cli.passphrases import add_passphrase, open_key
from lace.cli.policyfiles import ANONYMOUS, BESIDE, DEFAULT_FILE, chosen_peer

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from lace.porcelain import Asked, Introduction
    from lace.text import Verifier
    from lace.transports import Options

CODES = """\
Ends with 0 converged, 1 incomplete, 4 refused, 5 peer error, 7 local error, 9 not reached, 10 timeout."""


def add_connecting(
    parser: ArgumentParser,
    *,
    passphrase: bool = True,
    timeout: str = "give up after so long; what came stays",
) -> None:
    """Add the options of a connection to another lace; some verbs have one for passphrases already."""
    group = parser.add_argument_group("the exchange")
    group.add_argument(
        "--policy", metavar="FILE",
        help=f"our policy (else {DEFAULT_FILE} {BESIDE}, else none: nothing is exposed)",
    )  # fmt: skip
    group.add_argument("--sign-as", metavar="KEY", help="prove who we are with this key")
    if passphrase:
        add_passphrase(group)
    group.add_argument(
        "--require-peer", metavar="PEER",
        help="whom the peer must prove to be: a verifier, or the name of one of your keys",
    )  # fmt: skip
    group.add_argument(
        "--prove-in-clear", action="store_true",
        help="prove it over plain tcp and ws too, where somebody in between could pass it on",
    )  # fmt: skip
    group.add_argument("--timeout", metavar="SECONDS", type=parse_seconds, help=timeout)
    add_tls(group)


def add_tls(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the options of wss."""
    parser.add_argument(
        "--tls-ca", metavar="FILE", action="append", default=[],
        help="for wss: trust these authorities, and not the system's",
    )  # fmt: skip
    parser.add_argument("--tls-name", metavar="NAME", help="for wss: the name that the certificate must have")


def add_command(parser: ArgumentParser) -> None:
    """Add the command of stdio: everything behind it belongs to the command."""
    parser.add_argument(
        "--command", metavar="CMD", dest="child", nargs=REMAINDER, default=[],
        help="for stdio: start this and talk to it; it takes the rest of the line",
    )  # fmt: skip


def parse_seconds(text: str) -> float:
    """Read a time.

    >>> parse_seconds("2.5")
    2.5
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no time: write seconds, such as 30 or 2.5")
    return seconds


def check_address(call: Call, text: str, *, child: bool = True) -> str:
    """Return an address in its one form, or refuse it; a command goes with stdio alone."""
    from lace.iltp import parse_address

    address = str(parse_address(text))
    if child and call.args.child and address != "stdio":
        raise Usage(reason="--command goes with the address stdio", command=call.args.parser.prog)
    if child and not call.args.child and address == "stdio" and not _started_by_a_peer():
        reason = "stdio needs --command CMD …, what serves: such as --command ssh host lace serve stdio"
        raise Usage(reason=reason, command=call.args.parser.prog)
    if address == "stdio" and not (child and call.args.child):
        call.out.lent = True
    return address


def _started_by_a_peer() -> bool:
    """Tell whether a peer may have started us: then stdin and stdout are pipes or sockets."""
    try:
        modes = [os.fstat(number).st_mode for number in (0, 1)]
    except OSError:
        return False
    return all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes)


def chosen_options(call: Call) -> Options:
    """Return how to connect."""
    from lace.transports import Options, Tls

    args = call.args
    tls = Tls(authorities=tuple(map(Path, args.tls_ca)), server_name=args.tls_name)
    return Options(tls=tls, command=tuple(args.child))


def asked_for(call: Call) -> Asked:
    """Return what the options say about an exchange."""
    args = call.args
    return {
        "sign": None if args.sign_as is None else open_key(call.keyring(), args.sign_as, args),
        "expected": required_peer(call),
        "timeout": args.timeout,
        "options": chosen_options(call),
        "prove_in_clear": args.prove_in_clear,
    }


def required_peer(call: Call) -> Verifier | None:
    """Return whom the peer must prove to be; `anonymous`, a peer elsewhere, would require nothing."""
    if call.args.require_peer == ANONYMOUS:
        reason = "--require-peer wants a proof, and anonymous has none: leave it out to meet whoever is there"
        raise Usage(reason=reason, command=call.args.parser.prog)
    return chosen_peer(call, call.args.require_peer)


def introduced_by(address: str, asked: Asked) -> Introduction:
    """Return what the peer is told about who we are."""
    from lace.porcelain import introduce

    return introduce(address, asked.get("sign"), prove_in_clear=asked.get("prove_in_clear", False))


def note_withheld(call: Call, introduced: Introduction) -> None:
    """Say that a key was given and is not shown: who gave one expects to be known."""
    if introduced.withheld:
        call.out.note("our key is not shown: this connection is in clear; --prove-in-clear shows it")
