"""The changes of one batch: what is in them, and the last one of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import QueryFailed
from penstock.spark.changes.order import ORDER, Place, order, position
from penstock.spark.debezium.columns import base_name
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import KAFKA, quoted

_KEPT: Final = ("op", "at", "snapshot", "commit", "lsn", "row", "tx", "tx_order", "keys", "unavailable", "outside")
_ORDERED: Final = (T.NumericType, T.StringType, T.DateType)
_WHOLE: Final[Mapping[type[T.DataType], int]] = {
    T.ByteType: 2**7 - 1,
    T.ShortType: 2**15 - 1,
    T.IntegerType: 2**31 - 1,
    T.LongType: 2**63 - 1,
}
"""The types of whole numbers, with the largest that each holds."""


@dataclass(frozen=True)
class Facts:
    """What must be known of a batch before it is written, found in one pass over it.

    `first` is the place of the change that stands first in the database's log, `last_delete` that of the last deletion.
    """

    changes: int
    keys: tuple[str, ...]
    unavailable: frozenset[str]
    latest_snapshot: int
    truncated: int | None
    deletes: int = 0
    first: Place = (0, 0)
    last_delete: Place = (0, 0)

    def told_missing(self, column: str) -> str | None:
        """The name under which a column's value may be told not to be sent again: its own, or that in the database.

        What is unchanged stays where it is, also in the columns of types that the column had at other times.
        """
        return next((name for name in (column, base_name(column)) if name in self.unavailable), None)


def refuse_without_changes(schema: T.StructType, table: str) -> None:
    """Refuse rows that do not tell which change they are."""
    if CDC not in schema.names:
        raise QueryFailed(
            f"table {table} is made of changes, but the rows have no column {CDC}",
            hint="read a source of `format: debezium`, and keep the column in transforms",
        )


def refuse_keyless(changes: DataFrame, table: str) -> None:
    """Refuse changes whose rows cannot be told apart."""
    if not changes.filter(f"{CDC}.op <> 't'").isEmpty():
        raise QueryFailed(
            f"table {table}: the changes have no key, so their rows cannot be told apart",
            hint="give the table a primary key that is neither left out nor masked, or use `mode: log`",
        )


def with_origin(rows: DataFrame) -> DataFrame:
    """The rows with their place in Kafka among what is told of the change."""
    told = [F.col(CDC).getField(name).alias(name) for name in _KEPT]
    place = [F.col(KAFKA).getField(name).alias(name) for name in ("topic", "partition", "offset")]
    return rows.withColumn(CDC, F.struct(*told, *place)).drop(KAFKA)


def facts_of(changes: DataFrame) -> Facts:
    """Look over a batch once."""
    cdc = F.col(CDC)
    is_truncate, is_delete = cdc.getField("op") == "t", cdc.getField("op") == "d"
    lsn, place = F.coalesce(cdc.getField("lsn"), F.lit(0)), F.struct(*position())
    wanted = [
        F.count(F.lit(1)).alias("changes"),
        F.max_by(cdc.getField("keys"), F.when(~is_truncate, cdc.getField("offset"))).alias("keys"),
        F.array_distinct(F.flatten(F.collect_set(cdc.getField("unavailable")))).alias("unavailable"),
        F.max(F.when(cdc.getField("snapshot"), lsn)).alias("snapshot"),
        F.max(F.when(is_truncate, lsn)).alias("truncated"),
        F.count_if(is_delete).alias("deletes"),
        F.min(place).alias("first"),
        F.max(F.when(is_delete, place)).alias("last_delete"),
    ]
    [found] = changes.agg(*wanted).collect()
    missing = frozenset(found["unavailable"] or ()) & set(changes.columns)
    keys, snapshot = tuple(found["keys"] or ()), found["snapshot"] or 0
    places = (tuple(found[name] or (0, 0)) for name in ("first", "last_delete"))
    return Facts(found["changes"], keys, missing, snapshot, found["truncated"], found["deletes"], *places)


def bounds_of(rows: DataFrame, keys: Sequence[str]) -> tuple[str, str, str] | None:
    """The first key column and its range as SQL, by which files without any of these rows are told; None if not."""
    name = keys[0]
    kind = rows.schema[name].dataType
    if not isinstance(kind, _ORDERED):
        return None
    [(low, high)] = rows.agg(F.min(quoted(name)).cast("string"), F.max(quoted(name)).cast("string")).collect()
    if low is None:
        return None
    if type(kind) in _WHOLE:
        low, high = coarse(int(low), int(high), _WHOLE[type(kind)])
    first, last = (f"CAST({literal(value)} AS {kind.simpleString()})" for value in (low, high))
    return quoted(name), first, last


def coarse(low: int, high: int, most: int) -> tuple[int, int]:
    """A range that is somewhat larger, so that most batches of a table have the same: Spark compiles code for each."""
    step = 10 ** (len(str(high - low)) - 1)
    return max(low // step * step, -most - 1), min(-(-high // step) * step, most)


def literal(value: object) -> str:
    """A value as SQL has it: as text."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def last_of_each(changes: DataFrame, facts: Facts) -> DataFrame:
    """One change of each row: the newest one.

    A value that the newest change does not have, because it was too large to be sent again, is that of the newest
    change that has it; what none of them has stays in `unavailable`.
    """
    ordered = changes.filter(~F.col(CDC).getField("op").isin("t")).withColumn(
        ORDER, F.expr(order(latest_snapshot=facts.latest_snapshot))
    )
    plain = [name for name in changes.columns if name not in {*facts.keys, CDC}]
    is_delete = F.col(CDC).getField("op") == "d"
    whole = F.max_by(F.struct(*map(quoted, plain), CDC), ORDER).alias("_last")
    filled = [_newest_sent(name, told, is_delete) for name in plain if (told := facts.told_missing(name))]
    grouped = ordered.groupBy(*map(quoted, facts.keys)).agg(whole, *filled)
    cells = [_cell(name, facts.told_missing(name)) for name in plain]
    return grouped.select(
        *map(quoted, facts.keys),
        *cells,
        _still_missing(facts).alias(CDC),
    )


def _newest_sent(name: str, told: str, is_delete: Column) -> Column:
    """The newest value of a column that was sent, in a struct, so that null is a value too."""
    missing = F.coalesce(F.array_contains(F.col(CDC).getField("unavailable"), told), F.lit(False))
    return F.max_by(F.struct(F.col(quoted(name)).alias("sent")), F.when(~missing & ~is_delete, F.col(ORDER))).alias(
        f"_sent_{name}"
    )


def _cell(name: str, told: str | None) -> Column:
    last = F.col("_last").getField(name)
    if told is None:
        return last.alias(name)
    missing = F.array_contains(F.col("_last").getField(CDC).getField("unavailable"), told)
    return (
        F.when(F.coalesce(missing, F.lit(False)), F.col(quoted(f"_sent_{name}")).getField("sent"))
        .otherwise(last)
        .alias(name)
    )


def _still_missing(facts: Facts) -> Column:
    """What is told of the change, with only those columns named as unavailable that no change of the batch had."""
    cdc = F.col("_last").getField(CDC)
    if not facts.unavailable:
        return cdc
    found = [F.when(F.col(quoted(f"_sent_{name}")).isNotNull(), F.lit(name)) for name in sorted(facts.unavailable)]
    left = F.array_except(cdc.getField("unavailable"), F.array_compact(F.array(*found)))
    return cdc.withField("unavailable", left)
