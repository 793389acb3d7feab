"""Merge of several Parquet files with equal columns, with rows unchanged and in order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet as pq

from penstock.errors import TableUnreadable

_ROWS_AT_ONCE = 64 * 1024
_ROWS_IN_GROUP = 512 * 1024
_DEFAULT_CODEC = "snappy"


def columns_of(path: Path) -> pa.Schema:
    """Return the columns of a file."""
    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise TableUnreadable(f"{path}: {error}", hint="remove or repair the file") from error


def merge(sources: Sequence[Path], target: Path) -> None:
    """Write all rows of the sources to the target, verify the row count, and sync the target to disk."""
    try:
        with pq.ParquetWriter(
            target, columns_of(sources[0]), compression=_codec(sources), store_decimal_as_integer=True
        ) as file:
            for table in _tables(sources):
                file.write_table(table)
        expected, written = sum(map(rows_in, sources)), rows_in(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise TableUnreadable(f"{target.name}: {error}", hint="nothing was changed; is there room?") from error
    if written != expected:
        raise TableUnreadable(f"merging gave {written:,} of {expected:,} rows", hint="nothing was changed")
    _to_disk(target)


def _codec(sources: Sequence[Path]) -> str:
    """Return the codec of the first file with rows. A batch without valid rows leaves a file without row groups."""
    found = (pq.read_metadata(source) for source in sources)
    return next((str(each.row_group(0).column(0).compression) for each in found if each.num_row_groups), _DEFAULT_CODEC)


def _tables(sources: Sequence[Path]) -> Iterator[pa.Table]:
    """Yield the rows in pieces of about a row group. Memory holds a single piece at a time."""
    held: list[pa.RecordBatch] = []
    for source in sources:
        with pq.ParquetFile(source) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                held.append(batch)
                if sum(each.num_rows for each in held) >= _ROWS_IN_GROUP:
                    yield pa.Table.from_batches(held)
                    held = []
    if held:
        yield pa.Table.from_batches(held)


def rows_in(path: Path) -> int:
    """Return the number of rows of a file."""
    return int(pq.read_metadata(path).num_rows)


def _to_disk(path: Path) -> None:
    for place in (path, path.parent):
        number = os.open(place, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
