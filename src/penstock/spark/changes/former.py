"""Recently deleted rows, read from older versions of their table."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.spark.changes.batch import Facts
from penstock.spark.changes.delta_rows import DeltaRows
from penstock.spark.changes.memory import KEY, PLACE, key_text
from penstock.spark.changes.order import position
from penstock.spark.changes.table import ChangeTable
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.internal_names import internal

_KEY: Final = internal("key")
_PLACE: Final = internal("place")
_MOST_VERSIONS: Final = 20
_SAFE: Final = "INTERVAL 50 MINUTES"
"""How long the files of a version certainly exist: vacuum retains old files for at least an hour."""


def with_deleted(stored: DataFrame, table: ChangeTable, deletions: DataFrame, facts: Facts) -> DataFrame:
    """Return the table's rows plus the rows removed by these deletions.

    Each removed row appears twice: in its last state, and as a deletion at the position of the deletion.
    """
    found = stored
    deletions = deletions.withColumnsRenamed({KEY: _KEY, PLACE: _PLACE})
    for version in _versions(stored.sparkSession, table):
        then = table.read(stored.sparkSession, version)
        if not set(facts.keys) <= set(then.columns):
            continue
        before = then.withColumn(_KEY, key_text(then, facts.keys)).join(deletions, _KEY)
        rows = before.filter(F.struct(*position()) < F.col(_PLACE)).localCheckpoint()
        if rows.isEmpty():
            continue
        deletions = deletions.join(rows, [_KEY, _PLACE], "left_anti").localCheckpoint()
        gone = F.col(CDC).withField("op", F.lit("d")).withField("lsn", F.col(_PLACE).getField("lsn"))
        for each in (rows, rows.withColumn(CDC, gone)):
            found = found.unionByName(_as_stored(each.drop(_KEY, _PLACE), stored, facts), allowMissingColumns=True)
        if deletions.isEmpty():
            break
    return found


def _as_stored(rows: DataFrame, stored: DataFrame, facts: Facts) -> DataFrame:
    """Return rows of an older version with the table's present types."""
    kinds = {field.name: field.dataType for field in stored.schema.fields}
    casts = {
        field.name: ChangeTable.cast_to(field.name, kinds[field.name], facts.keys)
        for field in rows.schema.fields
        if kinds.get(field.name, field.dataType) != field.dataType
    }
    return rows.withColumns(casts) if casts else rows


def _versions(session: SparkSession, table: ChangeTable) -> list[int]:
    """Return the versions that precede each of the last commits, newest first."""
    history = DeltaRows(session, table.table.path).commits(_MOST_VERSIONS)
    commits = history.where(f"version > 0 AND timestamp > current_timestamp() - {_SAFE}").orderBy(F.desc("version"))
    return [row["version"] - 1 for row in commits.select("version").collect()]
