"""TLS for wss: contexts with sane defaults, and the certificate that a signer proof is bound to (PROFILE 9).

Rules of this file:
1. TLS 1.3 where both can, 1.2 at least; a server's certificate is checked unless somebody said not to.
2. The channel binding is "the BLAKE3-256 of the server's leaf certificate in DER". Where a proxy ends TLS,
   that is the proxy's certificate, and both ends must mean the same one: a relay has another.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lace.text import digest
from lace.transports.faults import BadTls, explain
from lace.transports.options import Tls

TIMES_READ = 3
"""So often a certificate is read that is replaced meanwhile."""
_BEGIN = "-----BEGIN CERTIFICATE-----"
_END = "-----END CERTIFICATE-----"
_NO_CERTIFICATE = "there is no certificate in PEM in it"
_KEY = re.compile("-----BEGIN [A-Z ]*PRIVATE KEY-----")


def connecting_context(tls: Tls) -> ssl.SSLContext:
    """Return what a client trusts: the system's authorities, or only those that are named."""
    named = "the system's authorities"
    try:
        if not tls.authorities:
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
        else:
            # The system's are not read then: that takes the loop's time, a hundredth of a second and more.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            for each in tls.authorities:
                named = str(each)
                context.load_verify_locations(cafile=each)
    except ValueError as error:
        raise BadTls(what=named, reason="there is a NUL in its path") from error
    except OSError as error:
        none = isinstance(error, ssl.SSLError) and error.reason == "NO_CERTIFICATE_OR_CRL_FOUND"
        raise BadTls(what=named, reason=_NO_CERTIFICATE if none else explain(error)) from error
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.server_name is not None:
        _check_name(context, tls.server_name)
    return _strict(context)


def _check_name(context: ssl.SSLContext, name: str) -> None:
    """Refuse a name that no certificate can have: a handshake would fail at it, with a peer on the line."""
    try:
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)
    except (TypeError, ValueError) as error:  # of a NUL in it the type is said to be wrong
        reason = "no certificate can have this name: write that of a host, or an IP address"
        raise BadTls(what=repr(name), reason=reason) from error


def serving_context(tls: Tls) -> ssl.SSLContext:
    """Return what a server shows."""
    certificate = _certificate(tls)
    leaf_hash(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Nobody is there to be asked for a passphrase: OpenSSL would ask the terminal.
        context.load_cert_chain(certificate, tls.key, password=lambda: b"")
    except OSError as error:
        what, reason = _key_fault(certificate, tls.key, error)
        raise BadTls(what=str(what), reason=reason) from error
    return _strict(context)


def shown_context(tls: Tls) -> tuple[ssl.SSLContext, bytes]:
    """Return what a server shows, and the channel binding of just that.

    Both are read from one file, and whoever renews the certificate may replace it in between: proofs would
    then be bound to what nobody is shown.
    """
    certificate = _certificate(tls)
    for _ in range(TIMES_READ):
        binding = leaf_hash(certificate)
        try:
            context = serving_context(tls)
        except BadTls:
            # The certificate may be a new one by now, and the key that was read the one of before.
            if leaf_hash(certificate) == binding:
                raise
            continue
        if leaf_hash(certificate) == binding:
            return context, binding
    raise BadTls(what=str(certificate), reason="it was replaced each time that it was read")


def _certificate(tls: Tls) -> Path:
    if tls.certificate is None:
        raise BadTls(what="wss", reason="a server needs a certificate; behind a proxy that ends TLS serve ws")
    return tls.certificate


def _key_fault(certificate: Path, key: Path | None, error: OSError) -> tuple[Path, str]:
    """Return which file keeps a certificate from being served, and what is wrong with it."""
    where = key or certificate
    try:
        text = where.read_text(encoding="ascii", errors="replace")
    except OSError as unread:
        return where, explain(unread)
    if _KEY.search(text) is None:
        beside = "" if key else "; name the file of the key too, where it is another one"
        return where, f"there is no private key in PEM in it{beside}"
    if "ENCRYPTED" in text:
        return (
            where,
            "its key has a passphrase, which a server cannot be asked for; write the key without one",
        )
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return where, f"its key is not that of the certificate in {certificate}"
    return where, explain(error)


def _strict(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def certificate_hash(der: bytes) -> bytes:
    """Return the channel binding of a certificate."""
    return digest(der)


def leaf_hash(path: Path) -> bytes:
    """Return the channel binding of a certificate file: of the first certificate in it."""
    return certificate_hash(_leaf(path))


def _leaf(path: Path) -> bytes:
    if path.is_fifo():
        raise BadTls(what=str(path), reason="a pipe, and a certificate is read more than once: name a file")
    try:
        text = path.read_text(encoding="ascii", errors="replace")
        start = text.index(_BEGIN)
        leaf = text[start : text.index(_END, start) + len(_END)]
        return ssl.PEM_cert_to_DER_cert(leaf)
    except OSError as error:
        raise BadTls(what=str(path), reason=explain(error)) from error
    except ValueError:
        raise BadTls(what=str(path), reason=_NO_CERTIFICATE) from None


def certificate_days(path: Path) -> tuple[datetime, datetime]:
    """Return from when and until when a certificate file holds: the first certificate in it."""
    from cryptography import x509

    try:
        leaf = x509.load_der_x509_certificate(_leaf(path))
    except ValueError as error:
        raise BadTls(what=str(path), reason=f"its certificate cannot be read: {error}") from error
    return leaf.not_valid_before_utc, leaf.not_valid_after_utc


def make_self_signed(
    names: Sequence[str] = ("localhost", "127.0.0.1", "::1"),
    *,
    days: int = 30,
    now: datetime | None = None,
) -> tuple[bytes, bytes]:
    """Make a certificate that is its own authority, and its key, both in PEM: to test and to try things."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def alternative(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    start = (now or datetime.now(UTC)) - timedelta(minutes=5)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(list(map(alternative, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
