"""Memory of deletions: without it, repeating an older change would restore a deleted row.

The memory is stored next to the table and written first. A crash between the two writes is harmless: the memory only
rejects changes older than the deletion, and the batch is repeated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.changes.batch import Facts, own
from penstock.spark.changes.noted import forget_noted, note
from penstock.spark.changes.order import Place, position
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.hadoop_files import files_at
from penstock.spark.internal_names import internal
from penstock.spark.lake.delta_log import is_delta_table
from penstock.spark.lake.table import LakeTable

KEY: Final = "_key"
PLACE: Final = "_place"
_OF_ROW: Final = internal("key")
_NOW: Final = internal("now")
_WHOLE_TABLE: Final = "*"
_START: Final[Place] = (0, 0)
_NESTED: Final = (T.BinaryType, T.ArrayType, T.MapType, T.StructType)
_EXACT: Final = dict.fromkeys(("timestampFormat", "timestampNTZFormat"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
_FORGET_SECONDS: Final = 24 * 3600
"""How often a running mirror expires old deletions."""


def memory_path(table: LakeTable) -> str:
    """Return the path of a table's deletion memory."""
    return f"{table.internal}/deletes"


class DeleteMemory:
    """Deleted rows and the log positions of their deletions, stored for a number of days."""

    def __init__(self, session: SparkSession, table: LakeTable, days: int) -> None:
        self._files = files_at(table.lake, session)
        self._path = memory_path(table)
        self._days = days
        self._is_there: bool | None = None
        self._newest_place: Place | None = None
        self._forgot_at = time.monotonic()

    def note(self, last: DataFrame, facts: Facts) -> None:
        """Store the deletions in `last`."""
        deleted = last.filter(F.col(CDC).getField("op") == "d")
        self._add(deleted.select(key_text(deleted, facts.keys).alias(KEY), *position()), facts.last_delete)

    def note_truncate(self, session: SparkSession, lsn: int) -> None:
        """Store a truncate: the deletion of all rows with a lower `lsn`.

        The commit position is not compared. A truncate waits for all other transactions, and rows inserted later in the
        truncate's transaction have an equal commit position.
        """
        place = F.lit(lsn).cast("bigint")
        all_rows = session.range(1).select(F.lit(_WHOLE_TABLE).alias(KEY), place.alias("commit"), place.alias("lsn"))
        self._add(all_rows, (lsn, lsn))

    def _add(self, deleted: DataFrame, newest: Place) -> None:
        before = self._newest(deleted.sparkSession)
        note(deleted, self._path)
        self._is_there, self._newest_place = True, max(before, newest)
        if time.monotonic() - self._forgot_at > _FORGET_SECONDS:
            self.forget(deleted.sparkSession)

    def without_stale(self, last: DataFrame, facts: Facts) -> DataFrame:
        """Drop changes older than a deletion of their row. Only late or repeated changes can be older."""
        session = last.sparkSession
        if facts.first >= self._newest(session):
            return last
        changes = last.withColumns({_OF_ROW: key_text(last, facts.keys), _NOW: F.struct(*position())})
        newest = self._deletions(session).groupBy(KEY).agg(F.max(PLACE).alias(PLACE))
        newest = newest.withColumnsRenamed({KEY: internal(KEY), PLACE: internal(PLACE)})
        is_stale = (F.col(_OF_ROW) == F.col(internal(KEY))) & (F.col(_NOW) < F.col(internal(PLACE)))
        kept = changes.join(newest, is_stale, "left_anti")
        _, truncated = self._newest_of(self._deletions(session).filter(F.col(KEY) == _WHOLE_TABLE))
        return kept.filter(F.col(_NOW).getField("lsn") >= truncated).drop(_OF_ROW, _NOW)

    def at(self, lsns: DataFrame) -> DataFrame | None:
        """Return the deletions at these log positions with row keys, or None if there are none."""
        if not self._exists():
            return None
        one_row = self._deletions(lsns.sparkSession).filter(F.col(KEY) != _WHOLE_TABLE)
        found = one_row.withColumn("lsn", F.col(PLACE).getField("lsn")).join(lsns, "lsn", "left_semi").drop("lsn")
        deletions = found.distinct().localCheckpoint()
        return None if deletions.isEmpty() else deletions

    def _newest(self, session: SparkSession) -> Place:
        """Return the position of the newest deletion; read once, then cached."""
        if self._newest_place is None:
            self._newest_place = self._newest_of(self._deletions(session)) if self._exists() else _START
        return self._newest_place

    def _newest_of(self, deletions: DataFrame) -> Place:
        [(newest,)] = deletions.agg(F.max(PLACE)).collect()
        return (newest["commit"], newest["lsn"]) if newest else _START

    def _deletions(self, session: SparkSession) -> DataFrame:
        return session.read.format("delta").load(self._path).select(KEY, F.struct("commit", "lsn").alias(PLACE))

    def forget(self, session: SparkSession) -> None:
        """Delete entries older than the configured days, the longest possible replay."""
        self._forgot_at = time.monotonic()
        if self._exists():
            forget_noted(session, self._path, self._days)

    def _exists(self) -> bool:
        if self._is_there is None:
            self._is_there = is_delta_table(self._files, self._path)
        return self._is_there


def key_text(rows: DataFrame, keys: Sequence[str]) -> Column:
    """Return a row's key as text, equal for an integer and its text form, and exact to the microsecond.

    For a key value outside the range of its type, the text comes from `_cdc.outside`.
    """
    outside = F.col(CDC).getField("outside")
    texts = (
        own(key).alias(key)
        if isinstance(rows.schema[key].dataType, _NESTED)
        else F.coalesce(own(key).cast("string"), F.try_element_at(outside, F.lit(key))).alias(key)
        for key in keys
    )
    return F.to_json(F.struct(*texts), _EXACT)
