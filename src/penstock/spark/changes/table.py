"""Delta table for changes, created with the first rows and evolved with their columns.

New columns are added. A column that disappears from the rows becomes null in new rows. A wider type widens the table's
column. An incompatible type gets a separate column next to the old one (`price__string`). Nothing is rejected or lost,
with one exception: a key with a new type not comparable to the old type.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import QueryFailed, TableChanged
from penstock.spark.changes.batch import own, refuse_without_changes, renamed_in
from penstock.spark.debezium.columns import key_type, own_name, spelled, take_in, wider
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.failures import spark_failures
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.delta_log import is_delta_table, remove_unfinished_commits
from penstock.spark.lake.delta_sink import delta_path
from penstock.spark.lake.evolution import nullable
from penstock.spark.lake.formats import refuse_other_format
from penstock.spark.lake.table import LakeTable

_TRIES: Final = 5
_MOST_INDEXED: Final = 32
_log = logging.getLogger(__name__)
_RANGED: Final = (T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType)
_TOLD_RANGED: Final = ("at", "lsn")
_PROPERTIES: Final[Mapping[str, str]] = {"delta.feature.timestampNtz": "supported"}
_MERGED_PROPERTIES: Final[Mapping[str, str]] = {**_PROPERTIES, "delta.enableDeletionVectors": "true"}
# With Delta's default of ten commits, a fast stream would often wait for checkpoints of the log.
_APPENDED_PROPERTIES: Final[Mapping[str, str]] = {**_PROPERTIES, "delta.checkpointInterval": "100"}


@dataclass(frozen=True)
class Evolution:
    """Effect of a row schema on a table's columns: column names, added columns and widened types."""

    names: Mapping[str, str]
    added: Mapping[str, T.DataType]
    widened: Mapping[str, T.DataType]


def evolution(table: T.StructType, rows: T.StructType, keys: Collection[str] = ()) -> Evolution:
    """Decide which table column stores each column of the rows, and how the table has to change. Pure function.

    Rows and table may disagree about which type has the plain name, depending on the order of arrival: `price` and
    `price__int` are stored in `price__string` and `price` of a table whose `price` is a number. A key always has a
    single column, with a type able to compare all key values.
    """
    before = {field.name: field.dataType for field in table.fields}
    wanted = {field.name: nullable(field.dataType) for field in rows.fields}
    known = dict(before)
    fits = dict.fromkeys(keys, key_type)
    names = {
        column: take_in(known, own_name(column, wanted), kind, fits.get(column, wider))
        for column, kind in wanted.items()
    }
    added = {name: kind for name, kind in known.items() if name not in before}
    widened = {name: kind for name, kind in known.items() if name in before and kind != before[name]}
    return Evolution(names, added, widened)


def own_columns(schema: T.StructType) -> int:
    """Return how many leaf columns get statistics per file: the table's own columns, counted as Delta does.

    The change metadata follows these columns. Collecting its statistics would cost as much again for every written
    file.
    """
    return min(_MOST_INDEXED, sum(_leaves(field.dataType) for field in _own_fields(schema)))


def ranged_columns(schema: T.StructType) -> str:
    """Return the value of `delta.dataSkippingStatsColumns` for a change log.

    Delta collects statistics for the time and position of changes, by which readers filter, and for the table's own
    numbers, dates and timestamps. Statistics of text columns cost more than all of these together and hardly skip
    files, because changes are stored in order of arrival.
    """
    own = [quoted(field.name) for field in _own_fields(schema) if isinstance(field.dataType, _RANGED)]
    told = [f"{CDC}.{name}" for name in _TOLD_RANGED]
    return ",".join([*told, *own[:_MOST_INDEXED]])


def _own_fields(schema: T.StructType) -> Iterator[T.StructField]:
    """Return the table's own columns, which precede the change metadata."""
    return itertools.takewhile(lambda field: field.name != CDC, schema.fields)


def _sql_type(kind: T.DataType) -> str:
    """Return a type as SQL, with any field names quoted."""
    match kind:
        case T.StructType():
            return f"struct<{', '.join(f'{quoted(each.name)}: {_sql_type(each.dataType)}' for each in kind.fields)}>"
        case T.ArrayType():
            return f"array<{_sql_type(kind.elementType)}>"
        case T.MapType():
            return f"map<{_sql_type(kind.keyType)}, {_sql_type(kind.valueType)}>"
        case _:
            return kind.simpleString()


def _leaves(kind: T.DataType) -> int:
    return sum(_leaves(field.dataType) for field in kind.fields) if isinstance(kind, T.StructType) else 1


class ChangeTable:
    """One table and its columns.

    A table with `is_merged` marks changed rows in deletion vectors. A table that is only appended to has no deletion
    vectors, so readers can answer from file statistics without reading every file.
    """

    def __init__(self, session: SparkSession, table: LakeTable, *, is_merged: bool = True) -> None:
        self._files = files_at(table.lake, session)
        self._columns: T.StructType | None = None
        self._is_merged = is_merged
        self.table = table
        self.path = delta_path(table)

    def check(self, schema: T.StructType) -> None:
        """Reject rows without change metadata, and a table that is not a Delta table."""
        refuse_without_changes(schema, self.table.name)
        refuse_other_format(self._files, self.table, "delta")

    def exists(self) -> bool:
        """Whether the table exists."""
        return is_delta_table(self._files, self.table.path)

    def apply(self, change: Callable[[], None]) -> None:
        """Run a change of the table, and retry conflicts. Compactions are rare, so one of five attempts succeeds.

        `change` must be idempotent.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._apply(change)
            except TableChanged as error:
                _log.info("%s", error)
                self._columns = None
        return self._apply(change)

    def _apply(self, change: Callable[[], None]) -> None:
        with spark_failures(f"writing table {self.table.name}"):
            change()

    def fitted(self, rows: DataFrame, keys: Sequence[str] = ()) -> DataFrame:
        """Return the rows with the names and types of the table, which is created or altered as needed.

        If an append-only table does not exist, the rows stay unchanged and the writer creates the table. If rows are
        identified by `keys`, a key type not comparable to the table's key type is rejected.
        """
        session = rows.sparkSession
        if self._columns is None and not self._is_merged and not self.exists():
            return rows
        if self._columns is None:
            self._columns = self.read(session).schema if self.exists() else self._make(session, rows.schema)
        change = evolution(self._columns, rows.schema, keys)
        self._refuse_incomparable(rows.schema, keys, change)
        if change.added or change.widened:
            self._alter(session, change, keys)
        kinds = {field.name: field.dataType for field in self._columns.fields}
        return rows.select(*(self.cast_to(old, kinds[new], keys).alias(new) for old, new in change.names.items()))

    def _refuse_incomparable(self, rows: T.StructType, keys: Sequence[str], change: Evolution) -> None:
        """Reject rows whose key type cannot be compared with the key of the stored rows."""
        given = {field.name: field.dataType for field in rows.fields}
        for key in keys:
            name = own_name(key, given)
            if not name == key == change.names[key]:
                kinds = given if name != key else {field.name: field.dataType for field in self.columns}
                old, new = kinds[spelled(kinds, name)].simpleString(), given[key].simpleString()
                raise QueryFailed(
                    f"table {self.table.name}: the key column {name} was {old} and is {new} now, "
                    "so changes cannot be matched with the stored rows",
                    hint="send the table anew: see docs/cdc.md, Keys",
                )

    @staticmethod
    def cast_to(name: str, kind: T.DataType, keys: Sequence[str]) -> Column:
        """Cast a column. A key converted to text also keeps values outside the range of the old type, such as NaN."""
        value = own(name).cast(kind)
        if name not in keys or not isinstance(kind, T.StringType):
            return value
        return F.coalesce(value, F.try_element_at(own(CDC).getField("outside"), F.lit(name)))

    def spelled(self, rows: DataFrame) -> DataFrame:
        """Return the rows with column names in the table's case, both as columns and in the change metadata."""
        if self._columns is None and self.exists():
            self._columns = self.read(rows.sparkSession).schema
        known = self._columns.names if self._columns else []
        names = {name: own for name in rows.columns if (own := spelled(known, name)) != name}
        if not names:
            return rows
        return rows.withColumn(CDC, renamed_in(F.col(CDC), names)).withColumnsRenamed(names)

    @property
    def columns(self) -> list[T.StructField]:
        """The table's columns; empty until the first rows arrive."""
        return self._columns.fields if self._columns else []

    def read(self, session: SparkSession, version: int | None = None) -> DataFrame:
        """Read the table, in its current or an older version. The table must exist."""
        reader = session.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self.table.path)

    def properties(self, schema: T.StructType) -> Mapping[str, str]:
        """Return the Delta properties for a table created with this schema."""
        if self._is_merged:
            return {**_MERGED_PROPERTIES, "delta.dataSkippingNumIndexedCols": str(own_columns(schema))}
        return {**_APPENDED_PROPERTIES, "delta.dataSkippingStatsColumns": ranged_columns(schema)}

    def _make(self, session: SparkSession, schema: T.StructType) -> T.StructType:
        columns = ", ".join(f"{quoted(field.name)} {_sql_type(nullable(field.dataType))}" for field in schema.fields)
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties(schema).items())
        # Remove the leftovers of a driver that was killed during the first commit, which would block this commit. A
        # finished commit stays: it belongs to the successor, if this driver was considered dead after its check.
        remove_unfinished_commits(self._files, self.table.path)
        session.sql(f"CREATE TABLE IF NOT EXISTS {self.path} ({columns}) USING delta TBLPROPERTIES ({properties})")
        return self.read(session).schema

    def _alter(self, session: SparkSession, change: Evolution, keys: Sequence[str]) -> None:
        if change.added:
            added = ", ".join(f"{quoted(name)} {_sql_type(kind)}" for name, kind in change.added.items())
            session.sql(f"ALTER TABLE {self.path} ADD COLUMNS ({added})")
        if change.widened:
            self._rewrite(session, change.widened, keys)
        self._columns = self.read(session).schema

    def _rewrite(self, session: SparkSession, widened: Mapping[str, T.DataType], keys: Sequence[str]) -> None:
        """Rewrite the table with wider types, in one commit.

        Delta can widen types in place, but only Spark can read such a table.
        """
        stored = self.read(session)
        kinds = {field.name: widened.get(field.name, field.dataType) for field in stored.schema.fields}
        wide = stored.select(*(self.cast_to(name, kind, keys).alias(name) for name, kind in kinds.items()))
        for name in set(keys) & widened.keys():
            old, new = stored.schema[name].dataType.simpleString(), widened[name].simpleString()
            _log.warning("table %s: the key column %s changes its type from %s to %s", self.table.name, name, old, new)
        wide.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(self.table.path)
