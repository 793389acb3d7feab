"""Selection of the files to merge, as pure functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Compacted:
    """Result of a compaction: number of files and bytes before and after."""

    table: str
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0

    def plus(self, other: Compacted) -> Compacted:
        """Return the sum of two results."""
        return Compacted(
            self.table,
            self.files_before + other.files_before,
            self.files_after + other.files_after,
            self.bytes_before + other.bytes_before,
            self.bytes_after + other.bytes_after,
        )


@dataclass(frozen=True)
class SmallFile:
    """File in a folder. Only files of equal kind (writer and columns) are merged."""

    name: str
    size: int
    kind: Hashable


def is_small(size: int, target_bytes: int) -> bool:
    """Whether a file is worth merging. Larger files would be rewritten repeatedly for the sake of a few rows."""
    return size * 2 < target_bytes


def groups(files: Iterable[SmallFile], target_bytes: int) -> list[list[SmallFile]]:
    """Return groups of files of equal kind, each close to the target size. A file without partners is skipped."""
    ordered = sorted(files, key=lambda file: (str(file.kind), file.name))
    found = (_filled(list(same), target_bytes) for _, same in groupby(ordered, key=lambda file: file.kind))
    return [group for each in found for group in each if len(group) > 1]


def _filled(files: list[SmallFile], target_bytes: int) -> Iterator[list[SmallFile]]:
    group: list[SmallFile] = []
    for file in files:
        if group and sum(each.size for each in group) + file.size > target_bytes:
            yield group
            group = []
        group.append(file)
    yield group
