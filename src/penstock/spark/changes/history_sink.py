"""History sink: every version of every row, with validity period and operation.

A row has at most one open version, and versions follow each other without gaps. A deletion is a version too, with
operation `d` (`t` for a truncate). The deletion stays open until the row returns, and stores the log position below
which changes are ignored. A single merge closes open versions and adds new ones, so readers see both or neither.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.changes.batch import Facts, is_missing, own, refuse_keyless
from penstock.spark.changes.delta_rows import Clause, DeltaRows, changed, stored
from penstock.spark.changes.moved import with_old_values
from penstock.spark.changes.near import near
from penstock.spark.changes.order import ORDER, in_order, is_newer
from penstock.spark.changes.sink import ChangeSink
from penstock.spark.changes.truncates import LSN, TruncateMemory, Truncates
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.internal_names import internal
from penstock.spark.kept import kept
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position

FROM: Final = "_valid_from"
TO: Final = "_valid_to"
OPERATION: Final = "_op"
_STORED: Final = internal("stored")
_BASE: Final = internal("base")
_NTH: Final = internal("nth")
_BEFORE: Final = internal("before")
_ENDS: Final = ("d", "t")
_MAY_BE_OUTSIDE: Final = (T.DateType, T.TimestampType, T.TimestampNTZType, T.DecimalType)
"""Key types that cannot represent infinity or NaN."""


class HistorySink(ChangeSink):
    """Stores all versions of the rows of one table. A repeated batch adds nothing."""

    def __init__(self, session: SparkSession, table: LakeTable, *, remember_days: int = 30) -> None:
        super().__init__(session, table, (FROM, TO, OPERATION))
        self._truncates = TruncateMemory(session, table, remember_days)
        self._session = session

    def landed(self) -> Position | None:
        """Return an empty position, so that the query reads from the start.

        Also expire truncates older than `remember_days`.
        """
        self._truncates.forget(self._session)
        return super().landed()

    def _take(self, changes: DataFrame, facts: Facts) -> None:
        truncates = self._truncates.take(changes, facts)
        if not facts.keys:
            refuse_keyless(changes, self._table.table.name)
        keys = facts.keys or self._known_keys(changes.sparkSession)
        if keys:
            self._apply(changes, replace(facts, keys=keys), truncates)

    def _known_keys(self, session: SparkSession) -> tuple[str, ...]:
        """Return the key of the stored rows, for a batch that contains only a truncate."""
        if not self._table.exists():
            return ()
        cdc = F.col(CDC)
        with_keys = self._table.read(session).filter(F.size(cdc.getField("keys")) > 0)
        [(found,)] = with_keys.agg(F.max_by(cdc.getField("keys"), cdc.getField("lsn"))).collect()
        return tuple(found or ())

    def _apply(self, changes: DataFrame, facts: Facts, truncates: Truncates | None) -> None:
        rows = changes.filter(F.col(CDC).getField("op") != "t").withColumns(
            {OPERATION: F.col(CDC).getField("op"), FROM: F.col(CDC).getField("at"), TO: F.lit(None).cast("timestamp")}
        )
        new = self._table.fitted(rows, facts.keys)
        facts = facts.of_types(new.schema)
        if truncates:
            facts = replace(facts, outside=tuple(key for key in facts.keys if _may_be_outside(new, key)))
        if facts.moves:
            new = with_old_values(new, self._table.read(changes.sparkSession), facts)
        if truncates:
            new = new.unionByName(self._truncations(new, truncates, facts), allowMissingColumns=True)
        open_ones = self._open_versions(new, facts)
        events = new.withColumn(_STORED, F.lit(False)).unionByName(open_ones, allowMissingColumns=True)
        with kept(versions(events, facts, truncates=truncates is not None)) as made:
            # A truncate closes as many versions as the table has rows.
            ending = near(made.filter(F.col(_STORED)), facts.keys, made.count() if truncates else facts.changes)
            # If no stored version is closed, the merge need not read the table.
            near_by = [F.lit(False)] if ending is None else ending
            DeltaRows(changes.sparkSession, self._table.table.path).merge(
                made, self._ended(facts, near_by), self._clauses()
            )

    def _truncations(self, new: DataFrame, truncates: Truncates, facts: Facts) -> DataFrame:
        """Return a deletion for every row older than a truncate, with the data of the first truncate after the row."""
        keys, lsn = list(map(quoted, facts.keys)), F.col(CDC).getField("lsn")
        texts = [internal(f"outside {number}") for number in range(len(facts.outside))]
        outside = (text.alias(name) for text, name in zip(facts.identity()[len(keys) :], texts, strict=True))
        wanted: list[Column] = [*map(own, facts.keys), *outside, lsn.alias(LSN)]
        is_there = F.col(TO).isNull() & ~F.col(OPERATION).isin(*_ENDS) & (lsn < truncates.lsns[-1])
        rows = self._table.read(new.sparkSession).filter(is_there).select(*wanted).union(new.select(*wanted))
        later = F.filter(F.array(*map(F.lit, truncates.lsns)).cast("array<bigint>"), lambda each: each > F.col(LSN))
        ended = rows.select(*keys, *texts, F.array_min(later).alias(LSN)).filter(F.col(LSN).isNotNull()).distinct()
        at = F.col(CDC).getField("at").alias(FROM)
        told = truncates.told.dropDuplicates([LSN]).select(LSN, CDC, F.lit("t").alias(OPERATION), at)
        joined: DataFrame = ended.join(told, LSN).drop(LSN)
        return joined.withColumn(CDC, _with_outside(F.col(CDC), facts.outside, texts)).drop(*texts)

    def _open_versions(self, new: DataFrame, facts: Facts) -> DataFrame:
        """Return the open versions of the changed rows."""
        names = [internal(f"wanted {number}") for number in range(len(facts.identity()))]
        wanted = new.select(*map(Column.alias, facts.identity(), names)).distinct()
        same = reduce(and_, map(Column.eqNullSafe, facts.identity(), map(own, names)))
        table = self._table.read(new.sparkSession).filter(F.col(TO).isNull())
        return table.join(F.broadcast(wanted), same, "left_semi").withColumn(_STORED, F.lit(True))

    def _ended(self, facts: Facts, ending: list[Column]) -> Column:
        """Return the merge condition: the change closes this stored version."""
        same = map(Column.eqNullSafe, facts.identity(stored), facts.identity(changed))
        return reduce(and_, [*same, *ending, stored(TO).isNull(), changed(_STORED)])

    def _clauses(self) -> list[Clause]:
        values = {column.name: changed(column.name) for column in self._table.columns}
        return [Clause("update", None, {TO: changed(TO)}), Clause("insert", ~changed(_STORED), values)]


def _may_be_outside(rows: DataFrame, key: str) -> bool:
    return isinstance(rows.schema[key].dataType, _MAY_BE_OUTSIDE)


def _with_outside(cdc: Column, keys: tuple[str, ...], texts: list[str]) -> Column:
    """Return a truncate's metadata for a row whose key has values outside the range of the type."""
    if not keys:
        return cdc
    pairs = F.array(*(F.struct(F.lit(key), F.col(text)) for key, text in zip(keys, texts, strict=True)))
    known = F.map_filter(F.map_from_entries(pairs), lambda _, text: text.isNotNull())
    return cdc.withField("outside", F.when(F.size(known) > 0, known))


def versions(events: DataFrame, facts: Facts, *, truncates: bool = False) -> DataFrame:
    """Turn stored open versions and new changes into versions; changes that are not newer are dropped."""
    key = facts.identity()
    ordered = in_order(events, key, lifts=facts.lifts)
    by_key = Window.partitionBy(*key)
    base = F.first(F.when(F.col(_STORED), F.col(CDC)), ignorenulls=True).over(by_key)
    is_kept = F.col(_STORED) | F.col(_BASE).isNull() | is_newer(F.col(CDC), F.col(_BASE))
    known = ordered.withColumn(_BASE, base).filter(is_kept)
    place = [F.col(ORDER).getField(name) for name in ("commit", "streamed", "lsn", "row")]
    once = known.withColumn(
        _NTH, F.row_number().over(Window.partitionBy(*key, *place).orderBy(~F.col(_STORED), ORDER))
    ).filter(F.col(_NTH) == 1)
    in_time = by_key.orderBy(~F.col(_STORED), ORDER)
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    living = _without_idle_ends(once, in_time) if truncates or facts.deletes else once
    told = living.withColumn(FROM, F.max(FROM).over(so_far))
    closed = _carried(told, facts, so_far).withColumn(TO, F.lead(FROM).over(in_time))
    return closed.filter(~F.col(_STORED) | F.col(TO).isNotNull()).drop(ORDER, _BASE, _NTH)


def _without_idle_ends(events: DataFrame, in_time: WindowSpec) -> DataFrame:
    """Drop deletions of deleted rows, and truncates where no row existed."""
    operation, before = F.col(OPERATION), F.col(_BEFORE)
    is_idle = (operation.isin(*_ENDS) & before.isin(*_ENDS)) | ((operation == "t") & before.isNull())
    marked = events.withColumn(_BEFORE, F.lag(OPERATION).over(in_time))
    return marked.filter(F.col(_STORED) | ~F.coalesce(is_idle, F.lit(False))).drop(_BEFORE)


def _carried(events: DataFrame, facts: Facts, so_far: WindowSpec) -> DataFrame:
    """Fill values that were not sent again from the previous version. Without a known value, they stay unavailable."""
    told = {column.name: missing for column in events.schema if (missing := facts.told_missing(column))}
    if not told:
        return events
    sent = {name: F.last(_sent(name, missing), ignorenulls=True).over(so_far) for name, missing in told.items()}
    found = events.withColumns({_sent_name(name): value for name, value in sent.items()})
    names = [F.when(own(_sent_name(name)).isNotNull(), F.lit(missing)) for name, missing in told.items()]
    left = F.array_except(F.col(CDC).getField("unavailable"), F.array_compact(F.array(*names)))
    values = {name: own(_sent_name(name)).getField("value") for name in told}
    return found.withColumns({**values, CDC: F.col(CDC).withField("unavailable", left)}).drop(*map(_sent_name, told))


def _sent_name(name: str) -> str:
    return internal(f"sent {name}")


def _sent(name: str, told: str) -> Column:
    """Return a known value wrapped in a struct, because null is a value too."""
    value = F.col(quoted(name))
    return F.when(~is_missing(told) | value.isNotNull(), F.struct(value.alias("value")))
