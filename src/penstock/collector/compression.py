"""Compressed bodies, unpacked step by step so that a small one cannot grow without bound."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import zstandard

from penstock.collector.refusals import NotJson, TooLarge, Unsupported

_GZIP = zlib.MAX_WBITS | 16
_MAX_WINDOW = 8 * 1024 * 1024
"""A zstd frame may ask for a window of gigabytes before its first byte; RFC 8878 advises 8 MiB as the limit."""

_STEP = 128
"""Bytes of zstd that are unpacked at once: a block of 4 bytes may hold 128 KiB, so these become 4 MiB at the most."""


def unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """The body without its content encoding; TooLarge as soon as more than `limit` bytes have come out."""
    unpack = _ENCODINGS.get(encoding.strip().lower())
    if unpack is None:
        raise Unsupported(
            f"content encoding {encoding!r:.60} is not understood",
            hint="use gzip, zstd or none",
            headers={"accept-encoding": "gzip, zstd"},
        )
    try:
        plain = unpack(body, limit + 1)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise NotJson(f"the body is not {encoding.strip().lower()}: {error}") from error
    if len(plain) > limit:
        raise TooLarge(f"the body is larger than {limit:,} bytes when decompressed", hint="send fewer events at once")
    return plain


def _gunzip(body: bytes, most: int) -> bytes:
    """At most so many bytes of one or several gzip members."""
    plain = bytearray()
    while body and len(plain) < most:
        member = zlib.decompressobj(_GZIP)
        plain += member.decompress(body, most - len(plain))
        if not member.eof and len(plain) < most:
            raise EOFError("it ends in the middle")
        body = member.unused_data
    return bytes(plain)


def _unzstd(body: bytes, most: int) -> bytes:
    """At most so many bytes of one or several zstd frames."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    frame, plain = decompressor.decompressobj(), bytearray()
    for start in range(0, len(body), _STEP):
        part = body[start : start + _STEP]
        while part:
            frame = decompressor.decompressobj() if frame.eof else frame
            plain += frame.decompress(part)
            part = frame.unused_data if frame.eof else b""
        if len(plain) >= most:
            return bytes(plain[:most])
    if body and not frame.eof:
        raise EOFError("it ends in the middle")
    return bytes(plain)


_ENCODINGS: dict[str, Callable[[bytes, int], bytes]] = {
    "": lambda body, _most: body,
    "identity": lambda body, _most: body,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "zstd": _unzstd,
}
