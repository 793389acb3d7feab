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

from penstock.spark.changes.batch import Facts, refuse_keyless
from penstock.spark.changes.order import ORDER, is_newer, order
from penstock.spark.changes.sink import ChangeSink
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.kept import kept

FROM: Final = "_valid_from"
TO: Final = "_valid_to"
OPERATION: Final = "_op"
_STORED: Final = "_stored"
_VERSIONS: Final = "penstock_versions"


class HistorySink(ChangeSink):
    """Keeps all versions of one table's rows; a batch that comes again adds nothing."""

    def _take(self, changes: DataFrame, facts: Facts) -> None:
        if not facts.keys:
            refuse_keyless(changes, self._table.table.name)
        keys = facts.keys or self._known_keys(changes.sparkSession)
        if keys:
            self._apply(changes, replace(facts, keys=keys))

    def _known_keys(self, session: SparkSession) -> tuple[str, ...]:
        """The key of rows that are there, for a batch that has only a truncate."""
        if not self._table.exists():
            return ()
        found = session.read.format("delta").load(self._table.table.path).select(f"{CDC}.keys").head()
        return tuple(found[0]) if found else ()

    def _apply(self, changes: DataFrame, facts: Facts) -> None:
        rows = changes.filter(f"{CDC}.op <> 't'").withColumns(
            {OPERATION: F.col(CDC).getField("op"), FROM: F.col(CDC).getField("at"), TO: F.lit(None).cast("timestamp")}
        )
        new = self._table.fitted(rows)
        if facts.truncated is not None:
            new = new.unionByName(self._truncations(changes, new, facts), allowMissingColumns=True)
        stored = self._open_versions(new, facts.keys)
        events = new.withColumn(_STORED, F.lit(False)).unionByName(stored, allowMissingColumns=True)
        with kept(versions(events, facts)) as made:
            made.createOrReplaceTempView(_VERSIONS)
            changes.sparkSession.sql(self._statement(facts.keys))

    def _truncations(self, changes: DataFrame, new: DataFrame, facts: Facts) -> DataFrame:
        """A deletion of every row that is older than the truncate."""
        keys = list(map(quoted, facts.keys))
        table = new.sparkSession.read.format("delta").load(self._table.table.path)
        is_there = f"{TO} IS NULL AND NOT {OPERATION} IN ('d', 't') AND {CDC}.lsn < {facts.truncated}L"
        older = table.filter(is_there).select(*keys).union(new.filter(f"{CDC}.lsn < {facts.truncated}L").select(*keys))
        truncate = changes.filter(f"{CDC}.op = 't' AND {CDC}.lsn = {facts.truncated}L").limit(1)
        told = truncate.select(F.col(CDC), F.lit("t").alias(OPERATION), F.col(CDC).getField("at").alias(FROM))
        return older.distinct().crossJoin(told)

    def _open_versions(self, new: DataFrame, keys: Sequence[str]) -> DataFrame:
        """The open versions of the rows that change."""
        table = new.sparkSession.read.format("delta").load(self._table.table.path).filter(F.col(TO).isNull())
        wanted = new.select(*map(quoted, keys)).distinct()
        return table.join(F.broadcast(wanted), list(keys), "left_semi").withColumn(_STORED, F.lit(True))

    def _statement(self, keys: Sequence[str]) -> str:
        same = " AND ".join(f"t.{quoted(key)} <=> s.{quoted(key)}" for key in keys)
        names = ", ".join(map(quoted, self._table.columns))
        values = ", ".join(f"s.{quoted(name)}" for name in self._table.columns)
        return (
            f"MERGE INTO {self._table.path} t USING {_VERSIONS} s ON {same} AND t.{TO} IS NULL AND s.{_STORED} "  # noqa: S608 - names are quoted
            f"WHEN MATCHED THEN UPDATE SET t.{TO} = s.{TO} "
            f"WHEN NOT MATCHED AND NOT s.{_STORED} THEN INSERT ({names}) VALUES ({values})"
        )


def versions(events: DataFrame, facts: Facts) -> DataFrame:
    """Stored open versions and new changes, as the versions that they make; what is not newer is left out."""
    keys = [F.col(quoted(key)) for key in facts.keys]
    ordered = events.withColumn(ORDER, F.expr(order(latest_snapshot=facts.latest_snapshot)))
    by_key = Window.partitionBy(*keys)
    base = F.first(F.when(F.col(_STORED), F.struct(CDC)), ignorenulls=True).over(by_key)
    is_kept = f"{_STORED} OR _base IS NULL OR {is_newer('', '_base')}"
    known = ordered.withColumn("_base", base).filter(is_kept)
    place = [F.col(ORDER).getField(name) for name in ("commit", "streamed", "lsn", "row")]
    once = known.withColumn(
        "_nth", F.row_number().over(Window.partitionBy(*keys, *place).orderBy(~F.col(_STORED), ORDER))
    )
    in_time = by_key.orderBy(~F.col(_STORED), ORDER)
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = once.filter("_nth = 1").withColumn(FROM, F.max(FROM).over(so_far))
    filled = told.withColumns(
        {name: _carried(name, missing, so_far) for name in told.columns if (missing := facts.told_missing(name))}
    )
    closed = filled.withColumn(TO, F.lead(FROM).over(in_time))
    return closed.filter(f"NOT {_STORED} OR {TO} IS NOT NULL").drop(ORDER, "_base", "_nth")


def _carried(name: str, told: str, so_far: WindowSpec) -> Column:
    """A value that was not sent again is the one before it."""
    missing = F.coalesce(F.array_contains(F.col(CDC).getField("unavailable"), told), F.lit(False)) & ~F.col(_STORED)
    sent = F.when(~missing, F.struct(F.col(quoted(name)).alias("value")))
    return F.last(sent, ignorenulls=True).over(so_far).getField("value")
