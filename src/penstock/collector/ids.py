"""Event ids: chosen by the client, or UUIDs of version 7, which sort by time."""

from __future__ import annotations

import re
from random import getrandbits
from time import time_ns

from penstock.collector.refusals import BadId

MAX_ID_LENGTH = 200

_VISIBLE = re.compile(rb"[!-~]{1,%d}" % MAX_ID_LENGTH)
_VERSION = 0x7000_0000
_VARIANT = 0x8000
_RANDOM_BITS = 0x0FFF_3FFF
_COUNTER_BITS = 47


def new_ids(count: int) -> list[str]:
    """Return new ids in ascending order: RFC 9562's version 7 with a counter that starts at random."""
    milliseconds, chance = time_ns() // 1_000_000, getrandbits(28)
    head = f"{milliseconds << 32 | _VERSION | chance & _RANDOM_BITS | _VARIANT:020x}"
    prefix = f"{head[:8]}-{head[8:12]}-{head[12:16]}-{head[16:]}-"
    start = getrandbits(_COUNTER_BITS)
    return [f"{prefix}{start + index:012x}" for index in range(count)]


def key_from(header: bytes | None) -> str | None:
    """Return the Idempotency-Key as text. Raise BadId if the header is not a valid id."""
    if header is None:
        return None
    if not _VISIBLE.fullmatch(header):
        raise BadId(f"the Idempotency-Key must be 1 to {MAX_ID_LENGTH} visible ASCII characters", hint="use a UUID")
    return header.decode("ascii")
