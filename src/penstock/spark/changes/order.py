"""Order of the changes of a row, by position in the database's log.

Changes are ordered by commit. `commit` is the position of the previous commit, `lsn` the position of the change. A
snapshot row has no commit and shows the committed state up to `lsn`. A change right after a connector's first snapshot
has no commit either, and may precede the snapshot in the log if its transaction was open during the snapshot. Such a
change is newer than every snapshot row received earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.internal_names import internal

ORDER: Final = internal("order")
_SEEN: Final = internal("seen")

Place = tuple[int, int]
"""Log position of a change: the commit position, then the change's own position."""


def in_order(changes: DataFrame, key: Sequence[Column], *, lifts: bool) -> DataFrame:
    """Return the changes with a sort value that orders the changes of each row, identified by `key`.

    If changes without a commit arrived together with snapshot rows, `lifts` orders each of the changes after the
    snapshot rows with lower offsets.
    """
    if not lifts:
        return changes.withColumn(ORDER, _order(_zero()))
    cdc = F.col(CDC)
    so_far = Window.partitionBy(*key).orderBy(cdc.getField("offset"))
    newest = F.max(F.when(cdc.getField("snapshot"), cdc.getField("lsn"))).over(so_far)
    return changes.withColumn(_SEEN, newest).withColumn(ORDER, _order(F.col(_SEEN))).drop(_SEEN)


def _order(seen: Column) -> Column:
    """Return the sort value; `seen` is the newest snapshot position before the change."""
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
    """Return the two columns of a change's log position."""
    cdc = F.col(CDC)
    lsn = F.coalesce(cdc.getField("lsn"), F.lit(0))
    return [F.coalesce(cdc.getField("commit"), lsn).alias("commit"), lsn.alias("lsn")]


def is_newer(new: Column, old: Column) -> Column:
    """Whether a change may replace the stored change, by the metadata of both. A repeated change may, too."""
    came_before = (new.getField("partition") == old.getField("partition")) & (
        new.getField("offset") < old.getField("offset")
    )
    is_first = new.getField("commit").isNull() & ~came_before
    is_later = is_first | (new.getField("at") > old.getField("at"))
    after_snapshot = old.getField("snapshot") & ~new.getField("snapshot") & is_later
    return (_place(new) >= _place(old)) | after_snapshot


def _place(cdc: Column) -> Column:
    """Return the log position without the offset: a repeated change has an equal position and a different offset."""
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
