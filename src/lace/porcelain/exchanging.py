"""What a lace does with others: exchanges, what they would do, and what is noted of them. Half of `Lace`.

Rules of this file:
1. What only exchanges need is imported when one begins: most uses of a lace are local.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from lace.porcelain.arguments import (
    Kind,
    WrongArgument,
    check_kinds,
    check_limit,
    check_part,
    check_reference,
    check_secret,
)
from lace.porcelain.clock import now_tai
from lace.porcelain.reference import CANDIDATES_SHOWN, ShortId, choose, find_record, parse_reference
from lace.porcelain.times import parse_time
from lace.stores import ReadOnly, Store, StoreClosed, file_faults
from lace.text import RecordId

if TYPE_CHECKING:
    from lace.drive import Account, ExchangeEntry, ExchangeNotes, History
    from lace.interlace import InterlaceResult
    from lace.porcelain.exchanges.exchange import Exchanges
    from lace.porcelain.exchanges.following import Followed
    from lace.porcelain.exchanges.interlacing import Asked, ExchangeProgress, Interlacing
    from lace.porcelain.exchanges.operations import Delivery
    from lace.porcelain.exchanges.peerpolicy import PolicyBook
    from lace.porcelain.policies.file import PolicyFile
    from lace.porcelain.policies.parse import GivenPolicy
    from lace.porcelain.reasons.foresight import Supposed
    from lace.porcelain.reasons.rehearsal import Preview, Rehearsal
    from lace.porcelain.reasons.sending import WhySent
    from lace.porcelain.reasons.whysend import WhyNotSend, WhySend
    from lace.porcelain.server.serving import Serving
    from lace.signing import Secret
    from lace.transports import Options


class NotForExchanges(ReadOnly):
    """An exchange with a store that is only read."""

    code = "exchange/read-only"
    text = (
        "{where} can only be read, and an exchange writes: it stores what comes, and notes beside the store"
        " what leaves, before it leaves; nothing was exchanged. Open it for writing (a lake with"
        " JoinedLake.join), or name a file elsewhere for the notes of a store, send_only=FILE or --send-only"
        " FILE: then nothing is asked for, and the store stays as it is"
    )


class Exchanging:
    """A store that takes part in exchanges."""

    def __init__(
        self, store: Store, history: Path | None, *, read_only: bool = False, sends_only: bool = False
    ) -> None:
        """Note exchanges in the file `history`; without one they are noted in memory.

        What is read only has no exchanges, unless it `sends_only`: then `history` is a file elsewhere.
        """
        self.store = store
        self._history_file = history
        if history is not None:
            with file_faults(history):  # this process may go to another folder before the first exchange
                self._history_file = history.absolute()
        self._read_only = read_only
        self._sends_only = sends_only
        self._closed = False
        self._history: History | None = None
        self._exchanges: Exchanges | None = None

    @property
    def _where(self) -> str:
        place = getattr(self.store, "path", None) or getattr(self.store, "where", None)
        return "in memory" if place is None else str(place)

    def find(self, reference: str) -> RecordId:
        """Return the id of the one record that text names; an id in full need not be stored."""
        check_reference(reference)
        return find_record(self.store, reference)

    def rehearse(self, policy: GivenPolicy | PolicyBook, **supposed: Unpack[Supposed]) -> Rehearsal:
        """Think an exchange through, over this lace as it is; nobody is connected to.

        It loads the facts of the store once: keep what is returned to ask it more than one question.
        """
        from lace.porcelain.reasons.foresight import rehearse

        self._check_open()
        return rehearse(self.store, policy, now_tai(), self._sends_only, **supposed)

    def preview(self, policy: GivenPolicy | PolicyBook, **supposed: Unpack[Supposed]) -> Preview:
        """Say what an exchange would send, ask for and hold back, and which section holds it."""
        return self.rehearse(policy, **supposed).preview()

    def why_send(
        self, reference: str, policy: GivenPolicy | PolicyBook, **supposed: Unpack[Supposed]
    ) -> WhySend:
        """Say why a record would be sent to a peer, in the rules of both sides."""
        from lace.porcelain.reasons.whysend import why_send

        record = self.find(reference)
        return why_send(self.rehearse(policy, **supposed), record, here=self.store.has(record))

    def why_not_send(
        self, reference: str, policy: GivenPolicy | PolicyBook, **supposed: Unpack[Supposed]
    ) -> WhyNotSend:
        """Say what would hold a record back from a peer, and which atom of which rule fails."""
        from lace.porcelain.reasons.whysend import why_not_send

        record = self.find(reference)
        return why_not_send(self.rehearse(policy, **supposed), record, here=self.store.has(record))

    @property
    def kept(self) -> History:
        """Where exchanges with this lace are noted."""
        self._check_open()
        if self._history is None:
            from lace.porcelain.exchanges.history import open_history

            only_read = self._read_only and not self._sends_only
            like = getattr(self.store, "path", None)
            self._history = open_history(self._history_file, like=like, read_only=only_read)
        return self._history

    def history(
        self,
        *,
        peer: str | None = None,
        since: str | None = None,
        plan: str | None = None,
        limit: int | None = None,
    ) -> Iterator[ExchangeEntry]:
        """Yield the exchanges that this lace took part in, the newest first.

        `peer` is a verifier or the beginning of one, a part of an address, or `anonymous`; `since` a time
        that people type; `plan` an `E.` id or the beginning of one.
        """
        from lace.drive import Wanted

        check_part("peer", peer)
        check_part("plan", plan)
        start = None if since is None else parse_time(since, now_tai())
        return self.kept.exchanges(Wanted(peer, start, plan, check_limit(limit)))

    def history_gaps(self) -> list[str]:
        """Return what the history cannot tell about, in words: it was cut, or a lake converged unnoted."""
        from lace.porcelain.reasons.sending import gaps
        from lace.porcelain.reasons.whysent import count_converged

        return list(gaps(self.kept.forgotten_until(), count_converged(self.store, self.kept)))

    def forget_history(self, before: str) -> int:
        """Forget the exchanges that ended before a time that people type; return how many are gone.

        Of one that goes on, what moved before that time is forgotten. Records stay where they are.
        """
        time = parse_time(before, now_tai())
        if not self._read_only or self._sends_only:
            return self.kept.forget_before(time)
        self._check_open()
        if getattr(self.store, "read_only", False):
            raise ReadOnly(where=self._where, reason="that is how it was opened")
        # A lake is opened for reading, and its history is a file beside it.
        from lace.porcelain.exchanges.history import open_history

        history = open_history(self._history_file)
        try:
            return history.forget_before(time)
        finally:
            history.close()

    def exchange(self, number: int) -> Account:
        """Return one exchange in full: what was agreed on, what moved, and how it ended."""
        return self.kept.exchange(number)

    def why_sent(self, reference: str, *, peer: str | None = None, explain: int | None = None) -> WhySent:
        """Say every time that a record left, to whom and why, and how it came.

        The newest ten are explained, or as many as `explain` says.
        """
        from lace.porcelain.reasons.whysent import EXPLAINED, why_sent

        check_part("peer", peer)
        count = check_limit(explain, "explain")
        return why_sent(
            self.kept,
            self.store,
            self._find_noted(reference),
            peer=peer,
            explain=EXPLAINED if count is None else count,
        )

    def _find_noted(self, reference: str) -> RecordId:
        """Return the id of the one record that text names, be it here or only in the history."""
        check_reference(reference)
        short = parse_reference(reference)
        if not isinstance(short, ShortId):
            return find_record(self.store, reference)
        most = CANDIDATES_SHOWN + 1
        found = {*self.store.find(short, most), *self.kept.find(short, most)}
        return choose(short, sorted(found))

    def note_exchange(
        self, policy: PolicyFile | None = None, *, peer: str | None = None, address: str | None = None
    ) -> ExchangeNotes:
        """Return what watches an exchange that begins now and notes it in the history of this lace.

        It is the `observe` of a `Side` or a `Party`. `peer` is for whom our operand was chosen, where a
        transport proved somebody.
        """
        from lace.porcelain.exchanges.history import note_exchange

        return note_exchange(self.kept, self.store, now_tai, policy, peer=peer, address=address)

    @property
    def exchanges(self) -> Exchanges:
        """What all exchanges with this lace share: its resident facts, its history, what peers advertised."""
        self._check_open()
        self._check_noting()
        if self._exchanges is None:
            from lace.porcelain.exchanges.exchange import open_exchanges

            file = None if self._read_only else self._history_file
            self._exchanges = open_exchanges(self.store, self.kept, file, sends_only=self._sends_only)
        return self._exchanges

    def interlace(
        self,
        address: str,
        policy: GivenPolicy | PolicyBook,
        *,
        stays_open: bool = False,
        **asked: Unpack[Asked],
    ) -> Interlacing:
        """Return an exchange with whoever is at an address: `async with lace.interlace(…) as exchange`."""
        from lace.porcelain.exchanges.interlacing import open_interlacing

        return open_interlacing(self.exchanges, address, policy, stays_open=stays_open, **asked)

    def sync(
        self,
        address: str,
        policy: GivenPolicy | PolicyBook,
        *,
        progress: Callable[[ExchangeProgress], None] | None = None,
        **asked: Unpack[Asked],
    ) -> InterlaceResult:
        """Exchange with whoever is at an address until both have what they want, and say how that ended."""
        from lace.porcelain.exchanges.interlacing import check_asked, run_sync

        check_asked(asked, also=("progress",))
        return run_sync(self.interlace(address, policy, **asked), progress)

    def follow(
        self, address: str, policy: GivenPolicy | PolicyBook, **asked: Unpack[Asked]
    ) -> Generator[Followed, None, None]:
        """Yield what happens in an open exchange, which is begun again whenever it breaks off.

        It ends with the iterator: `with closing(lace.follow(…)) as events` leaves no doubt when that is.
        """
        from lace.porcelain.exchanges.following import follow_in_thread
        from lace.porcelain.exchanges.interlacing import check_asked, check_no_loop
        from lace.porcelain.exchanges.peerpolicy import given_policies

        check_asked(asked)
        check_no_loop()
        self._check_noting()
        # Read now: whoever calls is told what is wrong, and not who iterates.
        ours = given_policies(policy)
        return follow_in_thread(lambda: self.interlace(address, ours, stays_open=True, **asked))

    def serve(
        self,
        *addresses: str,
        policy: GivenPolicy | PolicyBook,
        sign: Secret | None = None,
        prove_in_clear: bool = False,
        options: Options | None = None,
    ) -> AbstractAsyncContextManager[Serving]:
        """Serve this lace while a block lasts: `async with lace.serve("tcp:127.0.0.1:0", policy=…)`.

        `sign` proves to peers who we are; `options` are those of the transport, and wss needs the certificate
        in them: `Options(tls=Tls(certificate=…))` of `lace.transports`. Lists, quotas and other limits are
        those of an `Arrangement`, which `Serving(lace.exchanges, arrangement).open()` serves.
        """
        from lace.porcelain.server.arrangement import arrange
        from lace.porcelain.server.serving import Serving
        from lace.transports import OPTIONS, Options

        check_secret(sign)
        check_kinds({"options": options}, {"options": Kind(Options, "Options of the transport")})
        arrangement = arrange(
            addresses, policy, prove_in_clear=prove_in_clear, options=OPTIONS if options is None else options
        )
        if not addresses:
            raise WrongArgument(name="address", wanted="one or more, such as tcp:127.0.0.1:0", found="none")
        return Serving(self.exchanges, arrangement, secret=sign).open()

    def fetch(
        self, address: str, reference: str, policy: GivenPolicy | None = None, **asked: Unpack[Asked]
    ) -> InterlaceResult:
        """Fetch what an id in full or a `//group//app//name` names from a lace elsewhere, and store it."""
        from lace.porcelain.exchanges.operations import fetch, select_reference

        check_reference(reference)
        if self._read_only:
            raise ReadOnly(where=self._where, reason="what is fetched is stored")
        return fetch(self.exchanges, address, select_reference(reference), policy, **asked)

    def deliver(
        self, address: str, *references: str, policy: GivenPolicy | None = None, **asked: Unpack[Asked]
    ) -> Delivery:
        """Bring records of this lace to one elsewhere, and say what became of each."""
        from lace.porcelain.exchanges.operations import deliver

        return deliver(self.exchanges, address, [self._stored(each) for each in references], policy, **asked)

    def close(self) -> None:
        """Let go of the store and of the history."""
        self._closed = True
        if self._exchanges is not None:
            self._exchanges.close()
        if self._history is not None:
            self._history.close()
        self.store.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(where=self._where)

    def _check_noting(self) -> None:
        # Said before anybody is connected to: what has left by then would not be noted anywhere.
        if self._read_only and not self._sends_only:
            raise NotForExchanges(where=self._where)

    def _stored(self, reference: str) -> RecordId:
        record_id = self.find(reference)
        if not self.store.has(record_id):
            self.store.get(record_id)  # raises that it is not here, with the name of the store
        return record_id
