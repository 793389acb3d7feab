"""Decompression of request bodies in small steps, so that a small body cannot expand without bound."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import zstandard

from penstock.collector.refusals import NotJson, TooLarge, Unsupported

_GZIP = zlib.MAX_WBITS | 16
_MAX_WINDOW = 8 * 1024 * 1024
"""A zstd frame may ask for a window of gigabytes before its first byte; RFC 8878 advises 8 MiB as the limit."""

_STEP = 128
"""Bytes of zstd to decompress per step. A block of 4 bytes may hold 128 KiB, so a step yields at most 4 MiB."""

_GZIP_STEP = 64 * 1024
"""Bytes of gzip to decompress per step. zlib copies the input after a member, which must not be the whole body."""

_MOST_PARTS = 10_000
"""Limit of members or frames per body: an empty member has 9 bytes and costs as much work as a small event."""


def unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the decoded body. Raise TooLarge once more than `limit` bytes were produced."""
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
    """Decompress one or more gzip members, up to `most` bytes."""
    member, more, plain = zlib.decompressobj(_GZIP), _MOST_PARTS, bytearray()
    for start in range(0, len(body), _GZIP_STEP):
        step = body[start : start + _GZIP_STEP]
        while step and len(plain) < most:
            if member.eof:
                member, more = zlib.decompressobj(_GZIP), _one_less(more)
            plain += member.decompress(step, most - len(plain))
            step = member.unused_data
        if len(plain) >= most:
            return bytes(plain)
    if body and not member.eof:
        raise EOFError("it ends in the middle")
    return bytes(plain)


def _unzstd(body: bytes, most: int) -> bytes:
    """Decompress one or more zstd frames, up to `most` bytes."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    frame, more, plain = decompressor.decompressobj(), _MOST_PARTS, bytearray()
    for start in range(0, len(body), _STEP):
        step = body[start : start + _STEP]
        while step:
            if frame.eof:
                frame, more = decompressor.decompressobj(), _one_less(more)
            plain += frame.decompress(step)
            step = frame.unused_data if frame.eof else b""
        if len(plain) >= most:
            return bytes(plain[:most])
    if body and not frame.eof:
        raise EOFError("it ends in the middle")
    return bytes(plain)


def _one_less(more: int) -> int:
    """Return how many parts may still follow after starting a new part."""
    if more == 1:
        raise EOFError(f"it has more than {_MOST_PARTS:,} parts")
    return more - 1


_ENCODINGS: dict[str, Callable[[bytes, int], bytes]] = {
    "": lambda body, _most: body,
    "identity": lambda body, _most: body,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "zstd": _unzstd,
}
