"""Folders by number while a batch is staged: `penstock_folder=17` for `Event_Type=view/Server_Date=2026-11-16`.

Spark sorts a batch by its folders before it writes. By texts, that is a twelfth of all work from Kafka to Parquet; by
one whole number it is far less. The numbers are made of the values that earlier batches brought, so a batch with
another value has to be staged again, by the names of its folders. After each such miss the numbers rest for longer.
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
"""From so many rows on, sorting them takes a while."""

_MOST_VALUES: Final = 64
"""How many values are told apart, in all columns: each row is compared with them, one after the other."""

_MOST_FOLDERS: Final = 1_000_000
_UNKNOWN: Final = -_MOST_FOLDERS
"""The place of a value that was not seen: the number is below zero then, whatever the other columns add to it."""


class FolderNumbers:
    """Numbers the folders of one table's batches by the values that were seen before."""

    def __init__(self, partition_by: Sequence[str]) -> None:
        self._columns = partition_by
        self._seen: list[list[str]] = []
        self._misses = 0
        self._resting = 0

    def numbered(self, rows: DataFrame, size: int) -> DataFrame | None:
        """The rows with the number of their folder in the place of its columns; None where that is not worth it."""
        if not self._seen or size < _WORTH or NUMBER in rows.columns:
            return None
        if self._resting:
            self._resting -= 1
            return None
        columns = zip(self._columns, self._seen, self._strides(), strict=True)
        number = sum((_place(name, seen) * stride for name, seen, stride in columns), F.lit(0).cast("bigint"))
        return rows.withColumn(NUMBER, number).drop(*self._columns)

    def named(self, paths: Iterable[str]) -> list[str] | None:
        """The paths of staged files with their folders' names in the place of numbers; None after a miss."""
        found = [(int(folder.partition("=")[2]), file) for folder, _, file in (path.partition("/") for path in paths)]
        if any(number < 0 for number, _ in found):
            self._misses += 1
            self._resting = 2**self._misses - 1
            return None
        return [f"{self._name(number)}/{file}" for number, file in found]

    def learn(self, paths: Iterable[str]) -> None:
        """Take in the values of a batch that was staged by name; where there are too many, only its own."""
        own = [list(dict.fromkeys(column)) for column in zip(*(path.split("/")[:-1] for path in paths), strict=True)]
        if own:
            before = self._seen or [[] for _ in own]
            both = [list(dict.fromkeys(new + old)) for new, old in zip(own, before, strict=True)]
            self._seen = next(filter(_are_few, (both, own)), [])

    def _strides(self) -> list[int]:
        """By how much the number goes up with the next value of each column."""
        return list(accumulate([1, *map(len, self._seen[:-1])], mul))

    def _name(self, number: int) -> str:
        places = (number // stride % len(seen) for seen, stride in zip(self._seen, self._strides(), strict=True))
        return "/".join(seen[place] for seen, place in zip(self._seen, places, strict=True))


def _are_few(seen: Sequence[Sequence[str]]) -> bool:
    sizes = list(map(len, seen))
    return sum(sizes) <= _MOST_VALUES and math.prod(sizes) <= _MOST_FOLDERS


def _place(name: str, seen: Sequence[str]) -> Column:
    """Which of the values a row has, compared as they stand in the names of folders."""
    text, places = F.col(quoted(name)).cast("string"), cast("Any", F)
    for place, folder in enumerate(seen):
        places = places.when(_is_in(text, unquote(folder.partition("=")[2])), place)
    return cast("Column", places.otherwise(_UNKNOWN).cast("bigint"))


def _is_in(text: Column, folder: str) -> Column:
    """Whether a value belongs in the folder; null and the empty text share one, whose name may be a value too."""
    return text == folder if folder != NO_VALUE else F.coalesce(text, F.lit("")).isin("", folder)
