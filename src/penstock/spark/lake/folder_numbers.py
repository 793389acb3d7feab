"""Folder numbers for staging: `penstock_folder=17` stands for `Event_Type=view/Server_Date=2026-11-16`.

Spark sorts a batch by folder before the write. Sorting by text takes a twelfth of all work from Kafka to Parquet;
sorting by one integer takes far less. The numbers cover the values of earlier batches, so a batch with a new value must
be staged again under folder names. After each miss, numbering pauses for longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any, Final, cast
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.decoding import quoted
from penstock.spark.lake.folders import NO_VALUE

NUMBER: Final = "penstock_folder"
_WORTH: Final = 100_000
"""Minimum number of rows; sorting fewer rows is fast anyway."""

_MOST_VALUES: Final = 64
"""Maximum number of values in all columns: each row is compared with all values in turn."""

_MOST_FOLDERS: Final = 1_000_000
_UNKNOWN: Final = -_MOST_FOLDERS
"""Index of an unseen value: makes the number negative, regardless of the other columns."""


class FolderNumbers:
    """Numbering of a table's folders, based on the values seen so far."""

    def __init__(self, partition_by: Sequence[str]) -> None:
        self._columns = partition_by
        self._seen: list[list[str]] = []
        self._misses = 0
        self._resting = 0

    def numbered(self, rows: DataFrame, size: int) -> DataFrame | None:
        """Replace the folder columns of rows by the folder's number; return None if numbering is not worthwhile."""
        if not self._seen or size < _WORTH or NUMBER in rows.columns:
            return None
        if self._resting:
            self._resting -= 1
            return None
        columns = zip(self._columns, self._seen, self._strides(), strict=True)
        number = sum((_place(name, seen) * stride for name, seen, stride in columns), F.lit(0).cast("bigint"))
        return rows.withColumn(NUMBER, number).drop(*self._columns)

    def named(self, paths: Iterable[str]) -> list[str] | None:
        """Replace folder numbers in the paths of staged files by folder names; return None after a miss."""
        found = [(int(folder.partition("=")[2]), file) for folder, _, file in (path.partition("/") for path in paths)]
        if any(number < 0 for number, _ in found):
            self._misses += 1
            self._resting = 2**self._misses - 1
            return None
        return [f"{self._name(number)}/{file}" for number, file in found]

    def learn(self, paths: Iterable[str]) -> None:
        """Add the values of a batch staged by name; if there are too many values, keep only the batch's own."""
        own = [list(dict.fromkeys(column)) for column in zip(*(path.split("/")[:-1] for path in paths), strict=True)]
        if own:
            before = self._seen or [[] for _ in own]
            both = [list(dict.fromkeys(new + old)) for new, old in zip(own, before, strict=True)]
            self._seen = next(filter(_are_few, (both, own)), [])

    def _strides(self) -> list[int]:
        """Return by how much the number grows with the next value of each column."""
        return list(accumulate([1, *map(len, self._seen[:-1])], mul))

    def _name(self, number: int) -> str:
        places = (number // stride % len(seen) for seen, stride in zip(self._seen, self._strides(), strict=True))
        return "/".join(seen[place] for seen, place in zip(self._seen, places, strict=True))


def _are_few(seen: Sequence[Sequence[str]]) -> bool:
    sizes = list(map(len, seen))
    return sum(sizes) <= _MOST_VALUES and math.prod(sizes) <= _MOST_FOLDERS


def _place(name: str, seen: Sequence[str]) -> Column:
    """Return the index of a row's value; the comparison uses the form in folder names."""
    text, places = F.col(quoted(name)).cast("string"), cast("Any", F)
    for place, folder in enumerate(seen):
        places = places.when(_is_in(text, unquote(folder.partition("=")[2])), place)
    return cast("Column", places.otherwise(_UNKNOWN).cast("bigint"))


def _is_in(text: Column, folder: str) -> Column:
    """Whether a value belongs in a folder; null and empty text share a folder, whose name may also be a value."""
    return text == folder if folder != NO_VALUE else F.coalesce(text, F.lit("")).isin("", folder)
