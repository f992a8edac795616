"""What a command is, and what it gets when it is called.

Rules of this package:
1. A command's file loads quickly: what is slow (stores, signing, rich) is imported by `run`.
2. `run` returns the exit code: 0 done, 1 no (not found, damage found, `--strict`). Errors are raised.
3. What a program may want to read goes to stdout, as JSON with `--json`; everything else goes to stderr.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from lace.cli.output import Output
from lace.cli.world import World

if TYPE_CHECKING:
    from lace.porcelain import Keyring, Lace


class Call(NamedTuple):
    """One call of a command."""

    args: Namespace
    out: Output
    world: World

    def open(self, *, read_only: bool = False, admit_inner: bool = False) -> Lace:
        """Open the lace that --store, the environment or the current folder names, or the lake of --lake."""
        from lace.cli.reports import note_reports
        from lace.porcelain import Lace

        note_reports(self.out)
        if self.on_lake():
            at, inbox = (getattr(self.args, option, None) for option in ("at", "inbox"))
            return Lace.open_lake(self.args.lake, version=at, inbox=inbox)
        return Lace.open(self.world.find_lace(self.args.store), read_only=read_only, admit_inner=admit_inner)

    def open_for_exchanges(self) -> Lace:
        """Open the lace of an exchange; where it cannot be written to, say what would do."""
        from lace.cli.reports import note_reports
        from lace.porcelain import Lace, NotForExchanges
        from lace.stores import ReadOnly

        note_reports(self.out)
        place = self.world.find_lace(self.args.store)
        if self.args.send_only is not None:
            return Lace.open(place, send_only=self.args.send_only)
        try:
            return Lace.open(place)
        except ReadOnly as error:
            raise NotForExchanges(where=error.fields["where"]) from error

    def on_lake(self) -> bool:
        """Tell whether a lake takes the place of the store; refuse options of a lake where none is named."""
        from lace.cli.grammar import Usage

        if getattr(self.args, "lake", None) is not None:
            self.refuse_both()
            return True
        for option, unset in (("at", None), ("master", None), ("strategy", "auto")):
            if getattr(self.args, option, unset) != unset:
                reason = f"--{option} is about a lake: give --lake too"
                raise Usage(reason=reason, command=self.args.parser.prog)
        return False

    def refuse_both(self) -> None:
        """Refuse a store beside a lake."""
        from lace.cli.grammar import Usage

        if self.args.store is not None:
            reason = "--store and --lake: records are in one of them"
            raise Usage(reason=reason, command=self.args.parser.prog)

    def keyring(self) -> Keyring:
        """Return the keys that `--keys` or the environment names."""
        from lace.porcelain import Keyring

        return Keyring(self.world.find_keys(self.args.keys))


class Command(NamedTuple):
    """A verb of the command line."""

    name: str
    summary: str
    """One line, without a full stop."""
    details: str
    examples: tuple[str, ...]
    """Command lines that work in a folder with a lace, a key and the records of `lace gen`; beside them lie
    another lace `copy`, a policy `both.policy`, and `talk.capture`, what two laces said to each other."""
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Call], int]
    commands: tuple[Command, ...] = ()
    """Verbs below this one."""


def verb_of_verbs(
    name: str, summary: str, details: str, examples: tuple[str, ...], commands: tuple[Command, ...]
) -> Command:
    """Make a verb that only has verbs below it, such as `lace key`."""
    return Command(name, summary, details, examples, no_arguments, _not_run, commands)


def no_arguments(parser: ArgumentParser) -> None:
    """Add nothing: for a verb without arguments of its own."""


def _not_run(call: Call) -> int:
    raise AssertionError("a verb with verbs below it is not run itself")
