"""Local certificate authority, and the only certificate signed by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from penstock.errors import DataMismatch
from penstock.local.files import write_private

_LIFE = timedelta(days=825)
_RENEWED_BEFORE_END = timedelta(days=30)
_CLOCK_SKEW = timedelta(hours=1)
_HOSTS = (
    x509.DNSName("localhost"),
    x509.IPAddress(ip_address("127.0.0.1")),
    x509.IPAddress(ip_address("::1")),
)


class Certificates(NamedTuple):
    """Paths of the PEM files: the authority's certificate, and the brokers' key and certificate."""

    authority: Path
    broker: Path


def ensure_certificates(directory: Path, broker: str) -> Certificates:
    """Return the certificates. Create missing certificates, and renew certificates close to expiry.

    The authority's key is discarded after signing, so nobody can create more certificates that clients trust.
    """
    files = Certificates(directory / "ca.pem", directory / "broker.pem")
    if not (files.authority.exists() and files.broker.exists()) or _ends_soon(files.authority):
        _make(files, broker)
    return files


def _ends_soon(authority: Path) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(authority.read_bytes())
    except ValueError as error:
        hint = "remove the file and start again; a new certificate is made"
        raise DataMismatch(f"{authority} is not a certificate: {error}", hint=hint) from error
    return certificate.not_valid_after_utc - datetime.now(UTC) < _RENEWED_BEFORE_END


def _make(files: Certificates, broker: str) -> None:
    authority_key, broker_key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    authority = _authority(authority_key)
    signed = _broker(broker, broker_key, authority, authority_key)
    key = broker_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [key, signed.public_bytes(Encoding.PEM), authority.public_bytes(Encoding.PEM)]
    write_private(files.broker, b"".join(chain).decode("ascii"))
    write_private(files.authority, authority.public_bytes(Encoding.PEM).decode("ascii"))


def _authority(key: EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("Penstock local CA")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    builder = _builder(name, name, key).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())


def _broker(
    name: str, key: EllipticCurvePrivateKey, authority: x509.Certificate, authority_key: EllipticCurvePrivateKey
) -> x509.Certificate:
    """Return the brokers' certificate, presented to clients and between brokers."""
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = _builder(_name(name), authority.subject, key)
    builder = builder.add_extension(x509.SubjectAlternativeName(_HOSTS), critical=False)
    return builder.add_extension(both, critical=False).sign(authority_key, hashes.SHA256())


def _builder(subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFE)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
