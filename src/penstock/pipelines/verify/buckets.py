"""Checksums of more rows than fit into memory: on disk, apart by their keys, so that one can look at a part of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

Checksum = bytes

SIZE: Final = 16
COUNT: Final = 256
NONE: Final[Checksum] = bytes(SIZE)
"""In place of the checksum of a row whose key alone matters."""
BEYOND: Final[Checksum] = b"\xff" * SIZE
"""In place of the checksum of a row with a position that the server's log does not have."""

_RECORD = 2 * SIZE
_HELD_BYTES = 32 * 1024


class Buckets:
    """Pairs of a key's checksum and a row's; those of one key are in one bucket, in the order in which they came.

    A bucket is kept in memory up to a limit, and beyond that in a file of the directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: defaultdict[int, bytearray] = defaultdict(bytearray)
        self.rows = 0

    def add(self, key: Checksum, row: Checksum) -> None:
        """Put a pair where it belongs."""
        number = key[0]
        held = self._held[number]
        held += key + row
        self.rows += 1
        if len(held) >= _HELD_BYTES:
            with self._file(number).open("ab") as file:
                file.write(held)
            held.clear()

    def pairs(self, number: int) -> Iterator[tuple[Checksum, Checksum]]:
        """Every pair of one bucket."""
        file = self._file(number)
        content = (file.read_bytes() if file.exists() else b"") + self._held[number]
        for start in range(0, len(content), _RECORD):
            yield content[start : start + SIZE], content[start + SIZE : start + _RECORD]

    def _file(self, number: int) -> Path:
        return self._directory / f"{number:02x}"
