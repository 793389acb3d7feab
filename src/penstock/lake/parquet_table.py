"""Reader of plain Parquet tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import dataset as ds
from pyarrow import types

from penstock.errors import TableUnreadable
from penstock.lake.inventory import TableFiles, TableName, folders
from penstock.lake.spark_types import arrow_schema
from penstock.lake.store import Store, StoredFile, told
from penstock.lake.table import Change, Choose, Format, Summary
from penstock.spark.lake.ledger import Entry

_READABLE_IN_PATHS = (types.is_string, types.is_integer, types.is_boolean, types.is_date32, types.is_timestamp)


class ParquetTable:
    """Parquet table. Its columns come from the writer's notes, otherwise from the files."""

    format: Format = "parquet"

    def __init__(self, store: Store, files: TableFiles) -> None:
        self.name: TableName = files.name
        self._store = store
        self._files = files

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Partition columns from the writer's notes, otherwise from the folder names."""
        if self._notes:
            return tuple(self._notes["partition_by"])
        start = len(self.name) + 1
        return tuple(dict.fromkeys(name for file in self._files.data for name, _ in folders(file.path[start:])))

    def schema(self) -> pa.Schema:
        """Return the columns of the dataset, including partition columns."""
        return self._dataset.schema

    def rows(self, choose: Choose) -> ds.Dataset:  # noqa: ARG002 - the dataset reads only requested columns
        """Return the rows as a dataset, without reading unneeded columns and folders."""
        return self._dataset

    def summary(self) -> Summary:
        """Return the number of partitions, files and rows, the total size, and the time of the last write."""
        data = self._files.data
        with self._readable():
            rows = self._dataset.count_rows()
        return Summary(
            partitions=len({file.path.rpartition("/")[0] for file in data}) if self.partition_by else 0,
            files=len(data),
            rows=rows,
            size=sum(file.size for file in data),
            last_write=max((file.written for file in data), default=None),
        )

    def history(self, limit: int) -> list[Change]:
        """Return the newest batches in the ledgers of the table's writers."""
        newest = sorted(self._files.ledger, key=lambda entry: entry[1].written, reverse=True)[:limit]
        return [self._change(query, file) for query, file in newest]

    def _change(self, query: str, file: StoredFile) -> Change:
        entry = Entry.from_json(self._store.read(file.path), file.path)
        position = ", ".join(f"{partition}/{offset}" for partition, offset in sorted(entry.end.offsets.items()))
        return Change(entry.number, file.written, f"batch up to {position}" if position else "a driver began", query)

    @cached_property
    def _notes(self) -> Mapping[str, Any] | None:
        if self._files.notes is None:
            return None
        try:
            return dict(json.loads(self._store.read(self._files.notes.path)))
        except ValueError as error:
            raise TableUnreadable(
                f"{self._files.notes.path} is not JSON", hint="restore it, or remove it to read the files as they are"
            ) from error

    @cached_property
    def _dataset(self) -> ds.Dataset:
        paths = [self._store.full(file.path) for file in self._files.data]
        noted = self._noted_schema()
        with self._readable():
            if not paths:
                return ds.dataset((noted or pa.schema([])).empty_table())
            options = ds.FileSystemFactoryOptions(
                partition_base_dir=self._store.full(self.name), partitioning=self._partitioning(noted)
            )
            factory = ds.FileSystemDatasetFactory(self._store.system, paths, ds.ParquetFileFormat(), options)
            return factory.finish(noted or factory.inspect(promote_options="permissive", fragments=None))

    def _noted_schema(self) -> pa.Schema | None:
        with suppress(KeyError):
            return _with_path_types(arrow_schema(self._notes["columns"]), self.partition_by) if self._notes else None
        return None

    def _partitioning(self, noted: pa.Schema | None) -> ds.Partitioning:
        """Return the partitioning.

        Folders are text unless the writer noted a different type: `01` is not the number 1.
        """
        return ds.partitioning(pa.schema([(name, _in_path(name, noted)) for name in self.partition_by]), flavor="hive")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            with told(self.name):
                yield
        except pa.ArrowInvalid as error:
            raise TableUnreadable(
                f"table {self.name}: {error}", hint="remove or repair the file; `penstock lake show` needs all of them"
            ) from error


def _with_path_types(schema: pa.Schema, partition_by: Iterable[str]) -> pa.Schema:
    """Return the schema with timestamp folders as UTC without a zone: Arrow can parse only this form."""
    folders = set(partition_by)
    return pa.schema(
        field.with_type(pa.timestamp("us")) if field.name in folders and types.is_timestamp(field.type) else field
        for field in schema
    )


def _in_path(name: str, noted: pa.Schema | None) -> pa.DataType:
    kind = noted.field(name).type if noted else pa.string()
    return kind if any(test(kind) for test in _READABLE_IN_PATHS) else pa.string()
