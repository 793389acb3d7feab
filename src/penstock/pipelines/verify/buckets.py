"""Checksums of more rows than fit into memory: stored on disk in buckets by key, readable bucket by bucket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

Checksum = bytes

SIZE: Final = 16
COUNT: Final = 256
NONE: Final[Checksum] = bytes(SIZE)
"""Placeholder checksum for rows compared by key only."""
BEYOND: Final[Checksum] = b"\xff" * SIZE
"""Placeholder checksum of a row with a position beyond the end of the server's log."""

_RECORD = 2 * SIZE
_HELD_BYTES = 32 * 1024


class Buckets:
    """Pairs of key checksum and row checksum. Pairs with equal keys share a bucket and keep the order of insertion.

    A bucket stays in memory up to a limit, then spills to a file in the directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: defaultdict[int, bytearray] = defaultdict(bytearray)
        self.rows = 0

    def add(self, key: Checksum, row: Checksum) -> None:
        """Add a pair to the bucket of its key."""
        number = key[0]
        held = self._held[number]
        held += key + row
        self.rows += 1
        if len(held) >= _HELD_BYTES:
            with self._file(number).open("ab") as file:
                file.write(held)
            held.clear()

    def pairs(self, number: int) -> Iterator[tuple[Checksum, Checksum]]:
        """Yield every pair of a bucket."""
        file = self._file(number)
        content = (file.read_bytes() if file.exists() else b"") + self._held[number]
        for start in range(0, len(content), _RECORD):
            yield content[start : start + SIZE], content[start + SIZE : start + _RECORD]

    def _file(self, number: int) -> Path:
        return self._directory / f"{number:02x}"
