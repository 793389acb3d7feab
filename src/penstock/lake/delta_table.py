"""Reader of Delta tables, with the `deltalake` library.

The library's errors become TableUnreadable or LakeUnavailable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyarrow import dataset as ds
from pyarrow import fs

from penstock.errors import LakeUnavailable, TableUnreadable
from penstock.lake.inventory import TableName
from penstock.lake.store import Store
from penstock.lake.table import Change, Choose, Format, Rows, Summary

_ONLY_AS_STREAM = {"deletionVectors", "columnMapping"}


class DeltaLakeTable:
    """Delta table at the log's version on first access."""

    format: Format = "delta"

    def __init__(self, store: Store, name: TableName) -> None:
        self.name = name
        self._store = store

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Partition columns from the table's metadata."""
        with self._readable():
            return tuple(self._table.metadata().partition_columns)

    def schema(self) -> pa.Schema:
        """Return the columns from the table's metadata."""
        with self._readable():
            return pa.schema(self._table.schema().to_arrow())

    def rows(self, choose: Choose) -> Rows:
        """Return the rows. Tables with deletion vectors or column mapping can be read only once, by Delta's library."""
        with self._readable():
            if not _ONLY_AS_STREAM & set(self._table.protocol().reader_features or ()):
                # The library converts file statistics to Python dates, which end at the years 1 and 9999.
                with suppress(ValueError):
                    return self._dataset()
            return pa.RecordBatchReader.from_stream(self._table.scan(choose(self.schema().names)))

    def _dataset(self) -> ds.Dataset:
        system = fs.SubTreeFileSystem(self._store.full(self.name), self._store.system)
        return self._table.to_pyarrow_dataset(filesystem=system)

    def summary(self) -> Summary:
        """Return counts and sizes from the log, without rows hidden by deletion vectors."""
        with self._readable():
            files = pa.table(self._table.get_add_actions(flatten=False)).to_pylist()
            rows = self._table.count() - self._deleted()
        newest = self.history(1)
        places = {json.dumps(file["partition"], default=str) for file in files if "partition" in file}
        return Summary(
            partitions=len(places),
            files=len(files),
            rows=rows,
            size=sum(file["size_bytes"] for file in files),
            last_write=newest[0].when if newest else None,
        )

    def history(self, limit: int) -> list[Change]:
        """Return the newest commits of the log."""
        with self._readable():
            return [_change(commit) for commit in self._table.history(limit)]

    def _deleted(self) -> int:
        """Return the number of rows hidden by deletion vectors. The library's own count includes them."""
        masks = pa.RecordBatchReader.from_stream(self._table.deletion_vectors())
        kept = (batch.column("selection_vector").flatten() for batch in masks)
        return sum(len(mask) - mask.true_count for mask in kept)

    @cached_property
    def _table(self) -> DeltaTable:
        return DeltaTable(f"{self._store.delta_uri}/{self.name}", storage_options=self._store.delta_options)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except TableNotFoundError as error:
            raise TableUnreadable(f"table {self.name} has an empty log", hint="was its first write cut off?") from error
        except DeltaError as error:
            raise TableUnreadable(f"table {self.name}: {error}", hint="does Spark read it?") from error
        except OSError as error:
            hint = "is the store there, and are the settings s3.* right?"
            raise LakeUnavailable(f"table {self.name}: {error}", hint=hint) from error


def _change(commit: Mapping[str, Any]) -> Change:
    when = datetime.fromtimestamp(commit["timestamp"] / 1000, UTC)
    rows = (commit.get("operationMetrics") or {}).get("numOutputRows")
    what = str(commit.get("operation", "")).lower() + (f" of {int(rows):,} rows" if rows is not None else "")
    return Change(int(commit["version"]), when, what, _writer(commit.get("userMetadata")))


def _writer(about: object) -> str | None:
    """Return the query recorded in a commit, if any."""
    try:
        data = json.loads(str(about))
    except ValueError:
        return None
    return str(data["query"]) if isinstance(data, dict) and "query" in data else None
