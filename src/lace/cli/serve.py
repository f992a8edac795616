"""lace serve"""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lace.cli.command import Call, Command
from lace.cli.connecting import parse_seconds
from lace.cli.grammar import parse_count
from lace.cli.lakes import (
    add_lake_peer,
    add_send_only,
    beside_joined,
    fold_joined,
    joins_lake,
    open_its_lake,
    open_joined,
)
from lace.cli.passphrases import add_passphrase, open_key
from lace.cli.policyfiles import BESIDE, DEFAULT_FILE
from lace.cli.rulefiles import telling

if TYPE_CHECKING:
    from lace.porcelain import Arrangement

DEFAULT_SERVER_FILE = "lace.serve"
_WORDS = {
    "policy": "policy",
    "sign_as": "sign-as",
    "prove_in_clear": "prove-in-clear",
    "certificate": "certificate",
    "certificate_key": "certificate-key",
    "public_certificate": "public-certificate",
    "log_format": "log-format",
    "log": "log",
    "metrics": "metrics",
    "grace": "grace-seconds",
    "allow": "allow",
    "deny": "deny",
    "user": "user",
}
"""Options that are words of a server file."""


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "addresses", metavar="ADDRESS", nargs="*",
        help="where: stdio, unix:/path, tcp:host:port, ws:host:port or wss:host:port; port 0 is a free one",
    )  # fmt: skip
    parser.add_argument(
        "--config", metavar="FILE",
        help=f"a server file: peers, lists and limits (else {DEFAULT_SERVER_FILE} {BESIDE})",
    )  # fmt: skip
    parser.add_argument(
        "--policy", metavar="FILE", help=f"the policy for everybody (else {DEFAULT_FILE} {BESIDE})"
    )
    parser.add_argument("--check", action="store_true", help="read everything, say what is wrong, and end")
    parser.add_argument("--once", action="store_true", help="serve one exchange, and end as it ended")
    who = parser.add_argument_group("who")
    who.add_argument("--sign-as", metavar="KEY", help="prove who we are with this key")
    add_passphrase(who)
    who.add_argument(
        "--prove-in-clear", action="store_const", const="yes",
        help="send and accept such proofs over plain tcp and ws too, where somebody could pass them on",
    )  # fmt: skip
    for name, text in (("--allow", "serve nobody else"), ("--deny", "do not serve")):
        who.add_argument(
            name, metavar="WHO", action="append",
            help=f"{text}: a verifier, a network, user:NAME, a transport, proven or anonymous",
        )  # fmt: skip
    who.add_argument(
        "--user", metavar="'NAME V.….H3'", action="append",
        help="whose verifier a user of this machine is, who comes by a unix socket",
    )  # fmt: skip
    tls = parser.add_argument_group("TLS")
    tls.add_argument("--certificate", metavar="FILE", help="for wss")
    tls.add_argument("--certificate-key", metavar="FILE", help="its key, where it is in a file of its own")
    tls.add_argument(
        "--public-certificate", metavar="FILE", help="for ws behind a proxy: the certificate of the proxy"
    )
    add_send_only(parser)
    add_lake_peer(parser)
    watch = parser.add_argument_group("watching")
    watch.add_argument("--log", metavar="FILE", help="append the log to this file (else stderr)")
    watch.add_argument("--log-format", metavar="FORMAT", help="json or text (text; json with --json)")
    watch.add_argument(
        "--metrics",
        metavar="PORT",
        type=parse_count,
        help="numbers for Prometheus on this port of the loopback",
    )
    watch.add_argument(
        "--grace", metavar="SECONDS", type=parse_seconds,
        help="how long exchanges may end when the server is stopped (10)",
    )  # fmt: skip


def _run(call: Call) -> int:
    from lace.porcelain import read_arrangement

    path, given = _named(call)
    with telling(call.out):
        arrangement = read_arrangement(path, given)
    if call.args.check:
        _check_around(call, arrangement)
        notes = arrangement.certificate_notes(datetime.now(UTC))
        for note in () if call.out.as_json else notes:
            call.out.note(note)
        call.out.result(_summary(arrangement), {**_told(arrangement), "notes": notes})
        return 0
    import asyncio

    from lace.cli.serverun import ABORTED, ServerRun, log_of

    name = arrangement.sign_as
    secret = None if name is None else open_key(call.keyring(), name, call.args)
    with open_joined(call) as lace, log_of(call, arrangement) as log:

        def again() -> Arrangement:
            return read_arrangement(path, given)

        code = asyncio.run(ServerRun(call, lace, arrangement, again, secret=secret, log=log).serve())
        if code != ABORTED:
            fold_joined(call, lace)
        return code


def _check_around(call: Call, arrangement: Arrangement) -> None:
    """Raise where the lace, the lake or the key that would be served with is not there, or not to be used."""
    from lace.porcelain import PassphraseNeeded

    if arrangement.sign_as is not None:
        with suppress(PassphraseNeeded):
            call.keyring().load(arrangement.sign_as)
    if joins_lake(call):
        open_its_lake(call)
    else:
        # Opened as it is for serving: one that can only be read is refused here already.
        call.open_for_exchanges().close()


def _named(call: Call) -> tuple[Path | None, list[tuple[str, str]]]:
    """Return the server file, where there is one, and what the command line says in its words."""
    args = call.args
    beside, policy = (beside_joined(call, name) for name in (DEFAULT_SERVER_FILE, DEFAULT_FILE))
    path = None if args.config is None else Path(args.config)
    if path is None and beside.exists():
        path = beside
    given = [("address", each) for each in args.addresses]
    for option, word in _WORDS.items():
        value = getattr(args, option)
        for each in value if isinstance(value, list) else [value]:
            given += [] if each is None else [(word, f"{each:g}" if isinstance(each, float) else str(each))]
    if path is None and args.policy is None and policy.exists():
        given.append(("policy", str(policy)))
    said = {word for word, _ in given}
    if path is None and "address" not in said:
        call.out.note(f"no address, no --config and no {beside}")
    if path is None and "policy" not in said:
        call.out.note(f"no --policy and no {policy}")
    return path, given


def _summary(arrangement: Arrangement) -> str:
    where = " ".join(map(str, arrangement.addresses))
    groups = "".join(f" [{group.name}]" for group in arrangement.groups)
    return f"no errors; {where}{f'; groups:{groups}' if groups else ''}"


def _told(arrangement: Arrangement) -> dict[str, Any]:
    return {
        "addresses": [str(each) for each in arrangement.addresses],
        "policy": None if arrangement.policy is None else arrangement.policy.name,
        "groups": [group.name for group in arrangement.groups],
    }


COMMAND = Command(
    "serve",
    "serve this lace to other laces",
    "Many exchanges go on at once, over any mixture of addresses. A policy says what everybody gets; a "
    "server file says who gets something else, who is not served, and how much anybody may have. SIGTERM "
    "and SIGINT let exchanges end, a second one aborts them; SIGHUP reads the file, its policies and "
    "certificates again. "
    "The first line on stdout says where the server is, with --json as an object; the log goes to stderr. "
    "With --once, and on stdio alone, it ends as the exchange ended, with the exit codes of `lace sync`. "
    "With --lake a lake is served: what arrives is kept at once in its inbox, and folded into its tables "
    "when the server is stopped, or after SIGHUP as soon as nobody is connected.",
    (
        "lace policy new group town.policy --set town=u",
        "lace serve tcp:127.0.0.1:0 --policy town.policy --check",
        "echo policy town.policy > lace.serve && echo address stdio >> lace.serve",
        "lace serve --config lace.serve --deny 203.0.113.0/24 --check --json",
    ),
    _arguments,
    _run,
)
