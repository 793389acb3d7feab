"""Records of a measurement, and how they are sent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Literal

from penstock.errors import UsageError

Acks = Literal["all", 0, 1]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]

_SAMPLES = 10_000
_MADE_UP = 1_000
_SHORTEST_FIELD = 12
_FIELDS = ("user", "event", "page", "session", "campaign", "device", "country", "version")


@dataclass(frozen=True)
class Load:
    """Records, and the producer options that affect throughput."""

    records: Sequence[bytes]
    batch_bytes: int
    compression: Compression
    acks: Acks
    replication: int

    @property
    def record_bytes(self) -> float:
        """Average size of a record."""
        return sum(map(len, self.records)) / len(self.records)


def made_up_records(size: int) -> list[bytes]:
    """Return records of equal size that compress about as well as events: only field names repeat."""
    dice = random.Random(size)  # noqa: S311 - repeatable records, not secrets
    return [_made_up(dice, size) for _ in range(_MADE_UP)]


def _made_up(dice: random.Random, size: int) -> bytes:
    fields = (f'"{field}": "{dice.getrandbits(48):x}", ' for field in cycle(_FIELDS))
    return "".join(islice(fields, size // _SHORTEST_FIELD + 1))[:size].encode()


def sample_records(file: Path) -> list[bytes]:
    """Return the first lines of a file as records."""
    try:
        with file.open("rb") as lines:
            records = [line.rstrip(b"\r\n") for line in islice(lines, _SAMPLES) if line.strip()]
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", hint="--sample takes a file of lines") from error
    if not records:
        raise UsageError(f"{file} has no lines to send", hint="each line is one record")
    return records
