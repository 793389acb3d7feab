"""Every version of every row: from when to when it was valid, and which operation made it.

A row has one open version at most, and versions follow each other without gaps. A deletion is a version too, of
operation `d` (`t` for a truncate), open until the row comes back: it holds the place in the database's log below which
nothing is taken any more. One merge closes open versions and adds new ones, so readers see both or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.changes.batch import Facts, is_missing, refuse_keyless
from penstock.spark.changes.moved import with_old_values
from penstock.spark.changes.near import near
from penstock.spark.changes.order import ORDER, in_order, is_newer
from penstock.spark.changes.sink import ChangeSink
from penstock.spark.changes.truncates import LSN, TruncateMemory, Truncates
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.kept import kept
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position

FROM: Final = "_valid_from"
TO: Final = "_valid_to"
OPERATION: Final = "_op"
_STORED: Final = "_stored"
_VERSIONS: Final = "penstock_versions"


class HistorySink(ChangeSink):
    """Keeps all versions of one table's rows; a batch that comes again adds nothing."""

    def __init__(self, session: SparkSession, table: LakeTable, *, remember_days: int = 30) -> None:
        super().__init__(session, table)
        self._truncates = TruncateMemory(session, table, remember_days)
        self._session = session

    def landed(self) -> Position | None:
        """As the protocol says; truncates of too long ago are forgotten."""
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
        """The key of rows that are there, for a batch that has only a truncate."""
        if not self._table.exists():
            return ()
        cdc = F.col(CDC)
        with_keys = self._table.read(session).filter(F.size(cdc.getField("keys")) > 0)
        [(found,)] = with_keys.agg(F.max_by(cdc.getField("keys"), cdc.getField("lsn"))).collect()
        return tuple(found or ())

    def _apply(self, changes: DataFrame, facts: Facts, truncates: Truncates | None) -> None:
        rows = changes.filter(f"{CDC}.op <> 't'").withColumns(
            {OPERATION: F.col(CDC).getField("op"), FROM: F.col(CDC).getField("at"), TO: F.lit(None).cast("timestamp")}
        )
        new = self._table.fitted(rows)
        if facts.moves:
            new = with_old_values(new, self._table.read(changes.sparkSession), facts)
        if truncates:
            new = new.unionByName(self._truncations(new, truncates, facts), allowMissingColumns=True)
        stored = self._open_versions(new, facts.keys)
        events = new.withColumn(_STORED, F.lit(False)).unionByName(stored, allowMissingColumns=True)
        with kept(versions(events, facts, truncates=truncates is not None)) as made:
            # A truncate ends as many versions as there are rows.
            ending = near(made.filter(_STORED), facts.keys, made.count() if truncates else facts.changes)
            made.createOrReplaceTempView(_VERSIONS)
            changes.sparkSession.sql(self._statement(facts.keys, ending))

    def _truncations(self, new: DataFrame, truncates: Truncates, facts: Facts) -> DataFrame:
        """A deletion of every row that is older than a truncate, by the first one after it."""
        keys, lsn = list(map(quoted, facts.keys)), F.col(CDC).getField("lsn").alias(LSN)
        is_there = f"{TO} IS NULL AND NOT {OPERATION} IN ('d', 't') AND {CDC}.lsn < {truncates.lsns[-1]}L"
        rows = self._table.read(new.sparkSession).filter(is_there).select(*keys, lsn).union(new.select(*keys, lsn))
        later = F.filter(F.array(*map(F.lit, truncates.lsns)).cast("array<bigint>"), lambda each: each > F.col(LSN))
        ended = rows.select(*keys, F.array_min(later).alias(LSN)).filter(F.col(LSN).isNotNull()).distinct()
        at = F.col(CDC).getField("at").alias(FROM)
        told = truncates.told.dropDuplicates([LSN]).select(LSN, CDC, F.lit("t").alias(OPERATION), at)
        return ended.join(told, LSN).drop(LSN)

    def _open_versions(self, new: DataFrame, keys: Sequence[str]) -> DataFrame:
        """The open versions of the rows that change."""
        table = self._table.read(new.sparkSession).filter(F.col(TO).isNull())
        wanted = new.select(*map(quoted, keys)).distinct()
        return table.join(F.broadcast(wanted), list(keys), "left_semi").withColumn(_STORED, F.lit(True))

    def _statement(self, keys: Sequence[str], ending: Sequence[str] | None) -> str:
        """Where no stored version ends, nothing of the table needs to be looked at."""
        same = [f"t.{quoted(key)} <=> s.{quoted(key)}" for key in keys]
        ended = " AND ".join([*same, *(["false"] if ending is None else ending)])
        columns = [quoted(column.name) for column in self._table.columns]
        names = ", ".join(columns)
        values = ", ".join(f"s.{name}" for name in columns)
        return (
            f"MERGE INTO {self._table.path} t USING {_VERSIONS} s ON {ended} AND t.{TO} IS NULL AND s.{_STORED} "  # noqa: S608 - names are quoted
            f"WHEN MATCHED THEN UPDATE SET t.{TO} = s.{TO} "
            f"WHEN NOT MATCHED AND NOT s.{_STORED} THEN INSERT ({names}) VALUES ({values})"
        )


def versions(events: DataFrame, facts: Facts, *, truncates: bool = False) -> DataFrame:
    """Stored open versions and new changes, as the versions that they make; what is not newer is left out."""
    keys = [F.col(quoted(key)) for key in facts.keys]
    ordered = in_order(events, facts.keys, lifts=facts.lifts)
    by_key = Window.partitionBy(*keys)
    base = F.first(F.when(F.col(_STORED), F.struct(CDC)), ignorenulls=True).over(by_key)
    is_kept = f"{_STORED} OR _base IS NULL OR {is_newer('', '_base')}"
    known = ordered.withColumn("_base", base).filter(is_kept)
    place = [F.col(ORDER).getField(name) for name in ("commit", "streamed", "lsn", "row")]
    once = known.withColumn(
        "_nth", F.row_number().over(Window.partitionBy(*keys, *place).orderBy(~F.col(_STORED), ORDER))
    ).filter("_nth = 1")
    in_time = by_key.orderBy(~F.col(_STORED), ORDER)
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    living = _without_idle_ends(once, in_time) if truncates or facts.deletes else once
    told = living.withColumn(FROM, F.max(FROM).over(so_far))
    closed = _carried(told, facts, so_far).withColumn(TO, F.lead(FROM).over(in_time))
    return closed.filter(f"NOT {_STORED} OR {TO} IS NOT NULL").drop(ORDER, "_base", "_nth")


def _without_idle_ends(events: DataFrame, in_time: WindowSpec) -> DataFrame:
    """A row that is deleted cannot end again, and a truncate ends nothing where no row was."""
    is_idle = f"{OPERATION} IN ('d', 't') AND _before IN ('d', 't') OR {OPERATION} = 't' AND _before IS NULL"
    before = F.lag(OPERATION).over(in_time)
    return events.withColumn("_before", before).filter(f"{_STORED} OR NOT coalesce({is_idle}, false)").drop("_before")


def _carried(events: DataFrame, facts: Facts, so_far: WindowSpec) -> DataFrame:
    """A value that was not sent again is the one before it; where there is none, it stays named as unavailable."""
    told = {column.name: missing for column in events.schema if (missing := facts.told_missing(column))}
    if not told:
        return events
    sent = {name: F.last(_sent(name, missing), ignorenulls=True).over(so_far) for name, missing in told.items()}
    found = events.withColumns({f"_sent_{name}": value for name, value in sent.items()})
    names = [F.when(F.col(quoted(f"_sent_{name}")).isNotNull(), F.lit(missing)) for name, missing in told.items()]
    left = F.array_except(F.col(CDC).getField("unavailable"), F.array_compact(F.array(*names)))
    values = {name: F.col(quoted(f"_sent_{name}")).getField("value") for name in told}
    return found.withColumns({**values, CDC: F.col(CDC).withField("unavailable", left)}).drop(
        *(f"_sent_{name}" for name in told)
    )


def _sent(name: str, told: str) -> Column:
    """A value that is known, in a struct, so that null is one too."""
    value = F.col(quoted(name))
    return F.when(~is_missing(told) | value.isNotNull(), F.struct(value.alias("value")))
