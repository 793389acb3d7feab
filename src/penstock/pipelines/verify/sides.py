"""Compared columns of a table, and the rows on both sides in a canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute as pc

from penstock.connect.postgres import TableName
from penstock.connect.snapshot import Moment, Snapshot, SourceColumn
from penstock.errors import DatabaseUnfit, UsageError
from penstock.lake.table import Table
from penstock.pipelines.verify.guard import OPEN, Guard
from penstock.pipelines.verify.lake_values import plain_values
from penstock.pipelines.verify.values import Canonical, from_database, from_lake, is_stored_as_usual
from penstock.spark.debezium.columns import base_name, folded

Key = tuple[Canonical, ...]

_CDC = "_cdc"
_DELETED = "_deleted"
_SNAPSHOT_ROW = "r"


class Row(NamedTuple):
    """Row: key, all values, and whether the row changed after the database's snapshot.

    A position beyond the end of the server's log means a different server, or a time before a restore.
    """

    key: Key
    values: tuple[Canonical, ...]
    is_later: bool = False
    is_beyond: bool = False


@dataclass(frozen=True)
class Side:
    """Compared columns of a table: key columns first, with the expected effects of the pipeline."""

    table: TableName
    keys: tuple[str, ...]
    columns: tuple[SourceColumn, ...]
    not_compared: tuple[str, ...]
    guard: Guard

    @property
    def key_alone(self) -> Side:
        """Return a copy for comparing only the key."""
        return replace(self, columns=self.columns[: len(self.keys)])

    def as_stored(self, mirror: Table) -> Side:
        """Return a copy without columns stored in an unexpected form by the mirror."""
        schema = mirror.schema()
        other = tuple(
            column
            for column in self.columns[len(self.keys) :]
            if not all(is_stored_as_usual(column, schema.field(place).type) for place in self.places(column, schema))
        )
        told = tuple(f"{column.name} ({column.type}, not as text in the lake)" for column in other)
        compared = tuple(column for column in self.columns if column not in other)
        return replace(self, columns=compared, not_compared=self.not_compared + told)

    def places(self, column: SourceColumn, schema: pa.Schema) -> list[str]:
        """Return the mirror's columns for a source column: its own name, and names set apart for former types."""
        own = folded(self.guard.stored_name(column))
        others = {folded(self.guard.stored_name(each)) for each in self.columns} - {own}
        return [name for name in schema.names if own in _folded_names(name) and folded(name) not in others]

    def theirs(self, column: SourceColumn, text: str | None) -> Canonical:
        """Return a database value as expected in the mirror."""
        if text is not None and self.guard.treatment(column.name) == "hash":
            return self.guard.hashed(text)
        return from_database(column, text)

    def ours(self, column: SourceColumn, found: Any, outside: Any) -> Canonical:  # noqa: ANN401 - any value in the lake
        """Return a mirror value. Values outside the range of the column's type come from `outside`."""
        if self.guard.treatment(column.name) == "hash":
            return str(found) if found is not None else None
        stated = {folded(name): text for name, text in dict(outside or ()).items()}
        return from_lake(column, found, stated.get(folded(self.guard.stored_name(column))))


def _folded_names(stored: str) -> set[str]:
    """Return the possible database names of a mirror's column, in lower case because the case may have changed."""
    return {folded(stored), folded(base_name(stored))}


def side_of(snapshot: Snapshot, table: TableName, guard: Guard = OPEN) -> Side:
    """Return the comparable columns of a table."""
    columns, keys = snapshot.columns(table), snapshot.keys(table)
    if not keys:
        raise DatabaseUnfit(f"{table} has no primary key", hint="rows without a key cannot be told apart")
    ordered = sorted(columns, key=lambda column: (column.name not in keys, column.name))
    ordered = [*(next(each for each in columns if each.name == key) for key in keys), *ordered[len(keys) :]]
    reasons = {column.name: guard.reason_against(column) for column in ordered}
    hidden = [key for key in keys if reasons[key]]
    if hidden:
        hint = "rows whose key cannot be compared cannot be told apart"
        raise DatabaseUnfit(f"{table}: {hidden[0]}, a part of the key, is {reasons[hidden[0]]}", hint=hint)
    compared = tuple(column for column in ordered if not reasons[column.name])
    skipped = tuple(f"{name} ({reason})" for name, reason in reasons.items() if reason)
    return Side(table, tuple(keys), compared, skipped, guard)


def source_rows(snapshot: Snapshot, side: Side) -> Iterator[Row]:
    """Yield the rows of the database."""
    for row in snapshot.rows(side.table, side.columns):
        values = tuple(side.theirs(column, text) for column, text in zip(side.columns, row, strict=True))
        yield Row(values[: len(side.keys)], values)


def mirror_rows(mirror: Table, side: Side, moment: Moment, end: int) -> Iterator[Row]:
    """Yield the rows of the mirror, without soft-deleted rows. `end` is the log's end, read after the mirror."""
    schema = mirror.schema()
    if _CDC not in schema.names:
        raise UsageError(f"table {mirror.name} has no column {_CDC}", hint="name a mirror of the database's changes")
    places = {column.name: side.places(column, schema) for column in side.columns}
    own = [name for name in (_CDC, _DELETED) if name in schema.names]
    for batch in _batches(mirror, [*(name for each in places.values() for name in each), *own]):
        outside = _described(batch, "outside")
        columns = [
            [side.ours(column, *each) for each in zip(_first(batch, places[column.name]), outside, strict=True)]
            for column in side.columns
        ]
        beyond = [(lsn or 0) > end for lsn in _described(batch, "lsn")]
        for values, is_deleted, is_later, is_beyond in zip(
            zip(*columns, strict=True), _first(batch, own[1:]), _later(batch, moment), beyond, strict=True
        ):
            if not is_deleted:
                yield Row(values[: len(side.keys)], values, is_later, is_beyond)


def _batches(mirror: Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    rows = mirror.rows(lambda _: list(names))
    yield from rows if isinstance(rows, pa.RecordBatchReader) else rows.to_batches(columns=list(names))


def _first(batch: pa.RecordBatch, places: Sequence[str]) -> list[Any]:
    """Return the values of a column, each from the first place with a value."""
    if not places:
        return [None] * batch.num_rows
    found = zip(*(plain_values(batch.column(place)) for place in places), strict=True)
    return [next((value for value in values if value is not None), None) for values in found]


def _described(batch: pa.RecordBatch, name: str) -> list[Any]:
    """Return a field of each row's change metadata."""
    column = batch.column(_CDC)
    if column.type.get_field_index(name) < 0:
        return [None] * batch.num_rows
    return list(pc.struct_field(column, name).to_pylist())


def _later(batch: pa.RecordBatch, moment: Moment) -> list[bool]:
    """Return whether each row changed after the snapshot."""
    told = zip(*(_described(batch, name) for name in ("lsn", "tx", "op")), strict=True)
    return [not moment.sees(lsn or 0, _transaction(tx, op)) for lsn, tx, op in told]


def _transaction(told: str | None, op: str | None) -> int | None:
    """Return the transaction of a row's last change.

    A snapshot row only has the snapshot's transaction: return None.
    """
    return int(told) if told and told.isdecimal() and op != _SNAPSHOT_ROW else None
