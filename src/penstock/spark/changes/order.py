"""Which of two changes of a row is the newer one, by where they stand in the database's own log.

Changes come in the order of their commits. `commit` is the position of the commit before a change's own, `lsn` that of
the change itself. A row of a snapshot has no commit; it shows what was committed up to its `lsn`. A change right after
a connector's first snapshot has none either, and may stand before the snapshot in the log if its transaction was open
by then: such a change is newer than every snapshot's row that came before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.internal_names import internal

ORDER: Final = internal("order")
_SEEN: Final = internal("seen")

Place = tuple[int, int]
"""Where a change stands in the database's log: the position of its commit, then its own."""


def in_order(changes: DataFrame, key: Sequence[Column], *, lifts: bool) -> DataFrame:
    """The changes with a value by which those of a row, which have one key, are sorted.

    Where changes without a commit came together with snapshots, `lifts` puts each above the snapshots that it followed.
    """
    if not lifts:
        return changes.withColumn(ORDER, _order(_zero()))
    cdc = F.col(CDC)
    so_far = Window.partitionBy(*key).orderBy(cdc.getField("offset"))
    newest = F.max(F.when(cdc.getField("snapshot"), cdc.getField("lsn"))).over(so_far)
    return changes.withColumn(_SEEN, newest).withColumn(ORDER, _order(F.col(_SEEN))).drop(_SEEN)


def _order(seen: Column) -> Column:
    """The value; `seen` is the newest snapshot before a change."""
    commit, snapshot, lsn, row, offset = _fields(F.col(CDC), "commit", "snapshot", "lsn", "row", "offset")
    first = F.when(snapshot, lsn).otherwise(F.greatest(lsn, seen))
    return F.struct(
        F.coalesce(commit, first, _zero()).alias("commit"),
        (~snapshot).alias("streamed"),
        F.coalesce(lsn, _zero()).alias("lsn"),
        F.coalesce(row, F.lit(0)).alias("row"),
        offset.alias("offset"),
    )


def position() -> list[Column]:
    """The two columns that are a change's place."""
    cdc = F.col(CDC)
    lsn = F.coalesce(cdc.getField("lsn"), F.lit(0))
    return [F.coalesce(cdc.getField("commit"), lsn).alias("commit"), lsn.alias("lsn")]


def is_newer(new: Column, old: Column) -> Column:
    """Whether a change may take the place of what is stored, by what is told of both; the same change once more may."""
    came_before = (new.getField("partition") == old.getField("partition")) & (
        new.getField("offset") < old.getField("offset")
    )
    is_first = new.getField("commit").isNull() & ~came_before
    is_later = is_first | (new.getField("at") > old.getField("at"))
    after_snapshot = old.getField("snapshot") & ~new.getField("snapshot") & is_later
    return (_place(new) >= _place(old)) | after_snapshot


def _place(cdc: Column) -> Column:
    """The position alone: a change that is repeated has the same one under another offset."""
    commit, lsn, row = _fields(cdc, "commit", "lsn", "row")
    return F.struct(
        F.coalesce(commit, lsn, _zero()).alias("commit"),
        F.coalesce(lsn, _zero()).alias("lsn"),
        F.coalesce(row, F.lit(0)).alias("row"),
    )


def _fields(cdc: Column, *names: str) -> list[Column]:
    return [cdc.getField(name) for name in names]


def _zero() -> Column:
    return F.lit(0).cast("bigint")
