"""A Delta table that changes are written to: made when the first rows come, and changed as their columns change.

New columns appear; a column that rows no longer have is null from then on; a wider type widens the table's, and a type
that does not fit gets a column of its own beside the old one (`price__string`). Nothing is refused or lost, with one
exception: a key's new type that cannot be compared with the old one.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
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
# After every tenth commit, as it is by default, a quick stream would wait until Delta has summed up its log.
_APPENDED_PROPERTIES: Final[Mapping[str, str]] = {**_PROPERTIES, "delta.checkpointInterval": "100"}


@dataclass(frozen=True)
class Evolution:
    """What a table's columns become when rows of a schema come: added ones, and wider types."""

    names: Mapping[str, str]
    added: Mapping[str, T.DataType]
    widened: Mapping[str, T.DataType]


def evolution(table: T.StructType, rows: T.StructType, keys: Collection[str] = ()) -> Evolution:
    """A pure decision: under which name each of the rows' columns goes, and what the table lacks for it.

    Rows may have set another type apart than the table has, by the order in which they came: `price` and `price__int`
    go to `price__string` and `price` of a table whose `price` is a number. A key has one column only, whose
    type can compare all of its values.
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
    """How many columns Delta keeps the range of, file by file: those of the table itself, as it counts them.

    What is told of the change stands behind them, and would cost as much again with every file written.
    """
    return min(_MOST_INDEXED, sum(_leaves(field.dataType) for field in _own_fields(schema)))


def ranged_columns(schema: T.StructType) -> str:
    """The columns of a log that Delta keeps the range of, file by file, as its property names them.

    These are when and where changes were made, by which they are looked for, and the numbers and moments of the table
    itself. Ranges of texts cost more than all of these, and tell next to nothing of changes in the order they came in.
    """
    own = [quoted(field.name) for field in _own_fields(schema) if isinstance(field.dataType, _RANGED)]
    told = [f"{CDC}.{name}" for name in _TOLD_RANGED]
    return ",".join([*told, *own[:_MOST_INDEXED]])


def _own_fields(schema: T.StructType) -> Iterator[T.StructField]:
    """The columns of the table itself, before what is told of the change."""
    return itertools.takewhile(lambda field: field.name != CDC, schema.fields)


def _sql_type(kind: T.DataType) -> str:
    """A type as SQL has it, whatever the names of its fields."""
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
    """One table, and the columns that it has.

    One that `is_merged` into marks changed rows beside its files; the files of any other hold what the table holds, so
    that readers can go by their ranges and need not read them all.
    """

    def __init__(self, session: SparkSession, table: LakeTable, *, is_merged: bool = True) -> None:
        self._files = files_at(table.lake, session)
        self._columns: T.StructType | None = None
        self._is_merged = is_merged
        self.table = table
        self.path = delta_path(table)

    def check(self, schema: T.StructType) -> None:
        """Refuse rows that are no changes, and a table that is no Delta table."""
        refuse_without_changes(schema, self.table.name)
        refuse_other_format(self._files, self.table, "delta")

    def exists(self) -> bool:
        """Whether the table is there."""
        return is_delta_table(self._files, self.table.path)

    def apply(self, change: Callable[[], None]) -> None:
        """Change the table, and again if somebody was quicker: a compaction comes seldom, so the stream gets through.

        What is done twice has to come to the same as what is done once.
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
        """The rows under the names and with the types of the table, which is made or changed to take them.

        One that is only appended to is made of its first rows as they are, by who writes them. Where rows are told
        apart by `keys`, a key whose type cannot be compared with that of the table is refused.
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
        return rows.select(*(self._as(old, kinds[new], keys).alias(new) for old, new in change.names.items()))

    def _refuse_incomparable(self, rows: T.StructType, keys: Sequence[str], change: Evolution) -> None:
        """Refuse rows whose key has a type that cannot be compared with that of the stored rows."""
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
    def _as(name: str, kind: T.DataType, keys: Sequence[str]) -> Column:
        """A column with another type; of a key that becomes text, also what its type had no room for, such as NaN."""
        value = own(name).cast(kind)
        if name not in keys or not isinstance(kind, T.StringType):
            return value
        return F.coalesce(value, F.try_element_at(own(CDC).getField("outside"), F.lit(name)))

    def spelled(self, rows: DataFrame) -> DataFrame:
        """The rows with names as the table spells them, where these differ in case alone; also in what is told."""
        if self._columns is None and self.exists():
            self._columns = self.read(rows.sparkSession).schema
        known = self._columns.names if self._columns else []
        names = {name: own for name in rows.columns if (own := spelled(known, name)) != name}
        if not names:
            return rows
        return rows.withColumn(CDC, renamed_in(F.col(CDC), names)).withColumnsRenamed(names)

    @property
    def columns(self) -> list[T.StructField]:
        """The table's columns, once rows have come."""
        return self._columns.fields if self._columns else []

    def read(self, session: SparkSession, version: int | None = None) -> DataFrame:
        """The table's rows, once there are some: as they are now, or as they were."""
        reader = session.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self.table.path)

    def properties(self, schema: T.StructType) -> Mapping[str, str]:
        """What Delta is told of a table that is made for such rows."""
        if self._is_merged:
            return {**_MERGED_PROPERTIES, "delta.dataSkippingNumIndexedCols": str(own_columns(schema))}
        return {**_APPENDED_PROPERTIES, "delta.dataSkippingStatsColumns": ranged_columns(schema)}

    def _make(self, session: SparkSession, schema: T.StructType) -> T.StructType:
        columns = ", ".join(f"{quoted(field.name)} {_sql_type(nullable(field.dataType))}" for field in schema.fields)
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties(schema).items())
        # What a driver left that was killed in the first commit would stand in the way of this one. A commit stays:
        # it is the successor's, if this driver was taken for dead since it looked.
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
        """Write the table anew with wider types, in one commit.

        Delta could widen them where they are, but then no reader other than Spark takes the table.
        """
        stored = self.read(session)
        kinds = {field.name: widened.get(field.name, field.dataType) for field in stored.schema.fields}
        wide = stored.select(*(self._as(name, kind, keys).alias(name) for name, kind in kinds.items()))
        for name in set(keys) & widened.keys():
            old, new = stored.schema[name].dataType.simpleString(), widened[name].simpleString()
            _log.warning("table %s: the key column %s changes its type from %s to %s", self.table.name, name, old, new)
        wide.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(self.table.path)
