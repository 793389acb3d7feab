"""Names of a Parquet table's files, which contain the query and the batch number."""

from __future__ import annotations

import re

_NAME = re.compile(r"part-(?P<query>.+)-(?P<number>\d+)-(\d+|merged-[0-9a-f]+)\.parquet")


def file_name(query: str, number: int, index: int) -> str:
    """Return the name of a file of a batch."""
    return f"part-{query}-{number}-{index:04}.parquet"


def merged_name(query: str, number: int, mark: str) -> str:
    """Return the name of a file merged from a query's files; `mark` is hexadecimal and used once."""
    return f"part-{query}-{number}-merged-{mark}.parquet"


def writer_of(path: str) -> str | None:
    """Return the query that wrote a file; None for a foreign file."""
    found = _NAME.fullmatch(path[path.rfind("/") + 1 :])
    return found["query"] if found else None


def number_of(path: str) -> int:
    """Return the number of a file's batch, or of the newest batch in a merged file; 0 for a foreign file."""
    found = _NAME.fullmatch(path[path.rfind("/") + 1 :])
    return int(found["number"]) if found else 0
