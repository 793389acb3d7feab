"""The names of a Parquet table's files: they tell which query wrote a file, and in which batch."""

from __future__ import annotations

import re

_NAME = re.compile(r"part-(?P<query>.+)-(?P<number>\d+)-(\d+|merged-[0-9a-f]+)\.parquet")


def file_name(query: str, number: int, index: int) -> str:
    """The name of one of the files that a batch brings."""
    return f"part-{query}-{number}-{index:04}.parquet"


def merged_name(query: str, number: int, mark: str) -> str:
    """The name of a file that files of one query were merged into; the mark is hexadecimal and of one use."""
    return f"part-{query}-{number}-merged-{mark}.parquet"


def writer_of(path: str) -> str | None:
    """The query that a file is of; None for a file that no query of ours wrote."""
    found = _NAME.fullmatch(path[path.rfind("/") + 1 :])
    return found["query"] if found else None


def number_of(path: str) -> int:
    """The number of the batch that brought a file, or of the newest one in a merged file; 0 for a file not of ours."""
    found = _NAME.fullmatch(path[path.rfind("/") + 1 :])
    return int(found["number"]) if found else 0
