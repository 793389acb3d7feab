"""Java's keystore format JKS: plain certificates, and private keys under Sun's old cipher."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from io import BytesIO

MAGIC = b"\xfe\xed\xfe\xed"

_KEY, _CERTIFICATE = 1, 2
_DIGEST_BYTES = 20
_SEASONING = b"Mighty Aphrodite"
"""Constant that Sun's code adds to the password before hashing a store."""


class NotAStore(ValueError):
    """The bytes are not a valid store, or the password is wrong."""


@dataclass
class JavaStore:
    """Contents of a store: private keys with their certificates, and trusted certificates, all in DER."""

    keys: list[tuple[bytes, list[bytes]]] = field(default_factory=list)
    trusted: list[bytes] = field(default_factory=list)


def read_jks(data: bytes, password: str, key_password: str) -> JavaStore:
    """Return the contents of a store. Private keys may have a separate password."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    expected = hashlib.sha1(_java(password) + _SEASONING + body).digest()  # noqa: S324 - the format's hash
    if not hmac.compare_digest(digest, expected):
        raise NotAStore("the password is wrong, or the file is damaged")
    stream = BytesIO(body[len(MAGIC) :])
    _number(stream)
    store = JavaStore()
    for _ in range(_number(stream)):
        _read_entry(stream, store, key_password)
    return store


def _read_entry(stream: BytesIO, store: JavaStore, key_password: str) -> None:
    tag = _number(stream)
    _text(stream)
    _taken(stream, 8)
    if tag == _KEY:
        sealed = _taken(stream, _number(stream))
        store.keys.append((_unsealed(sealed, key_password), [_certificate(stream) for _ in range(_number(stream))]))
    elif tag == _CERTIFICATE:
        store.trusted.append(_certificate(stream))
    else:
        raise NotAStore(f"an entry is of the kind {tag}, which this format does not have")


def _certificate(stream: BytesIO) -> bytes:
    _text(stream)
    return _taken(stream, _number(stream))


def _unsealed(sealed: bytes, password: str) -> bytes:
    """Decrypt with Sun's cipher: XOR with a chain of hashes of the password. The key's own hash follows the key."""
    data = _octets(sealed)
    salt, covered, check = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    secret, link, plain = _java(password), salt, b""
    for start in range(0, len(covered), _DIGEST_BYTES):
        link = hashlib.sha1(secret + link).digest()  # noqa: S324 - the format's hash
        block = covered[start : start + _DIGEST_BYTES]
        plain += bytes(one ^ other for one, other in zip(block, link, strict=False))
    if not hmac.compare_digest(check, hashlib.sha1(secret + plain).digest()):  # noqa: S324 - as above
        raise NotAStore("the password of the private key is wrong")
    return plain


def _octets(sealed: bytes) -> bytes:
    """Return the OCTET STRING of a DER SEQUENCE of algorithm and OCTET STRING."""
    stream = BytesIO(sealed)
    _length(stream)
    _taken(stream, _length(stream))
    return _taken(stream, _length(stream))


def _length(stream: BytesIO) -> int:
    _taken(stream, 1)
    first = _taken(stream, 1)[0]
    return first if first < 0x80 else int.from_bytes(_taken(stream, first & 0x7F), "big")  # noqa: PLR2004 - DER's long form


def _java(password: str) -> bytes:
    return password.encode("utf-16-be")


def _number(stream: BytesIO) -> int:
    return int.from_bytes(_taken(stream, 4), "big")


def _text(stream: BytesIO) -> bytes:
    return _taken(stream, int.from_bytes(_taken(stream, 2), "big"))


def _taken(stream: BytesIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise NotAStore("the file ends in the middle of an entry")
    return data
