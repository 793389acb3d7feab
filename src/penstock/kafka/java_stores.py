"""Conversion of Java's TLS settings, keystores and truststores to librdkafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)

from penstock.errors import UsageError
from penstock.kafka.jks import MAGIC, NotAStore, read_jks

_KEYSTORE, _TRUSTSTORE = "ssl.keystore.location", "ssl.truststore.location"
_JAVA_ONLY = (
    "ssl.keystore.type",
    "ssl.keystore.password",
    "ssl.truststore.type",
    "ssl.truststore.password",
    "ssl.key.password",
)
_ALGORITHM = "ssl.endpoint.identification.algorithm"
_PEM = b"-----BEGIN"
_HINT = "a store may be PKCS#12, JKS or PEM; check the file and ssl.{kind}.password"
_MAX_BYTES = 16 * 1024 * 1024


def without_java_stores(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with Java's stores replaced by their keys and certificates as PEM.

    UsageError names the unreadable store and the reason.
    """
    found = {name: value for name, value in options.items() if name not in {_KEYSTORE, _TRUSTSTORE}}
    if _TRUSTSTORE in options:
        found["ssl.ca.pem"] = _read(options, "truststore")[1]
    if _KEYSTORE in options:
        found["ssl.key.pem"], found["ssl.certificate.pem"] = _read(options, "keystore")
    if _TRUSTSTORE in options or _KEYSTORE in options:
        found = {name: value for name, value in found.items() if name not in _JAVA_ONLY}
    if found.get(_ALGORITHM) == "":
        found[_ALGORITHM] = "none"
    return found


def _read(options: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """Return a store's first private key, if any, and all its certificates."""
    path = Path(str(options[f"ssl.{kind}.location"]))
    password = str(options.get(f"ssl.{kind}.password", ""))
    key_password = str(options.get("ssl.key.password", password))
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES)
        key, certificates = _opened(data, password, key_password)
    except OSError as error:
        raise UsageError(f"ssl.{kind}.location: {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"ssl.{kind}.location: {path}: {error}", hint=_HINT.format(kind=kind)) from error
    if not certificates or (kind == "keystore" and not key):
        wanted = "no certificate" if not certificates else "no private key"
        raise UsageError(f"ssl.{kind}.location: {path} holds {wanted}", hint=_HINT.format(kind=kind))
    return key, certificates


def _opened(data: bytes, password: str, key_password: str) -> tuple[str, str]:
    if data.startswith(MAGIC):
        return _from_jks(data, password, key_password)
    if _PEM in data:
        return _from_pem(data, key_password)
    return _from_pkcs12(data, password)


def _from_jks(data: bytes, password: str, key_password: str) -> tuple[str, str]:
    store = read_jks(data, password, key_password)
    if not store.keys:
        return "", "".join(_as_pem(x509.load_der_x509_certificate(der)) for der in store.trusted)
    key, chain = store.keys[0]
    certificates = "".join(_as_pem(x509.load_der_x509_certificate(der)) for der in chain)
    return _key_as_pem(load_der_private_key(key, None)), certificates


def _from_pem(data: bytes, key_password: str) -> tuple[str, str]:
    certificates = "".join(map(_as_pem, x509.load_pem_x509_certificates(data)))
    if b"PRIVATE KEY" not in data:
        return "", certificates
    secret = key_password.encode() if b"ENCRYPTED" in data else None
    start = data.index(_PEM, max(0, data.index(b"PRIVATE KEY") - len(_PEM) - len(b"ENCRYPTED ") - 2))
    return _key_as_pem(load_pem_private_key(data[start:], secret)), certificates


def _from_pkcs12(data: bytes, password: str) -> tuple[str, str]:
    try:
        store = pkcs12.load_pkcs12(data, password.encode())
    except ValueError as error:
        raise NotAStore(f"no store that can be opened with this password: {error}") from error
    held = [store.cert, *store.additional_certs]
    certificates = "".join(_as_pem(each.certificate) for each in held if each is not None)
    return _key_as_pem(store.key) if store.key is not None else "", certificates


def _as_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_as_pem(key: Any) -> str:  # noqa: ANN401 - a private key of any kind
    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return text.decode()
