"""What a transport proves about one connection, and the link of an exchange that follows (060; PROFILE 9).

    Proven ──link(verifiers, …)──▶ lace.interlace.Link ──▶ Transport, TransportEncrypted, Peer, binding

Rules of this file:
1. 060: facts are "present only when proven". A transport says what it has seen; what nobody saw is absent.
2. A number of the operating system is no verifier. The mapping is the deployment's, and without one there is
   no `Peer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lace.interlace import Link
from lace.text import Verifier

NOBODY: Mapping[int, Verifier] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Proven:
    """What a transport proves, and what it saw."""

    address: str | None
    """The text of `Transport(S)`; None where there is no address at all (two ends in one process)."""
    remote: str = ""
    """The other end, for people and lists: a socket's address, a user, a process. It proves nothing."""
    encrypted: bool = False
    """Whether confidentiality between the ends is proven."""
    certificate: bytes | None = None
    """BLAKE3-256 of the server's leaf certificate in DER: the channel binding of signer proofs."""
    uid: int | None = None
    """The user that the operating system proves the peer to run as."""

    def link(
        self,
        *,
        verifiers: Mapping[int, Verifier] = NOBODY,
        peer: Verifier | None = None,
        here: Verifier | None = None,
        prove_in_clear: bool = False,
    ) -> Link:
        """Return the link for `Settings`.

        `verifiers` says whose the users of this machine are; `peer` is whom the caller proves by itself, such
        as the parent of a child on stdio.

        >>> Proven("unix:/run/lace.sock", uid=1000).link(verifiers={1000: Verifier("V.alice")}).peer
        'V.alice'
        """
        mapped = None if self.uid is None else verifiers.get(self.uid)
        return Link(
            transport=self.address,
            encrypted=self.encrypted,
            peer=peer or mapped,
            here=here,
            binding=self.certificate or b"",
            prove_in_clear=prove_in_clear,
        )
