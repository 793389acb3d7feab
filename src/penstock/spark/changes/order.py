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
from penstock.spark.decoding import quoted

ORDER: Final = "_order"
_SEEN: Final = "_seen"

Place = tuple[int, int]
"""Where a change stands in the database's log: the position of its commit, then its own."""


def in_order(changes: DataFrame, keys: Sequence[str], *, lifts: bool) -> DataFrame:
    """The changes with a value by which those of a row are sorted.

    Where changes without a commit came together with snapshots, `lifts` puts each above the snapshots that it followed.
    """
    if not lifts:
        return changes.withColumn(ORDER, F.expr(_order("0L")))
    cdc = F.col(CDC)
    so_far = Window.partitionBy(*map(quoted, keys)).orderBy(cdc.getField("offset"))
    newest = F.max(F.when(cdc.getField("snapshot"), cdc.getField("lsn"))).over(so_far)
    return changes.withColumn(_SEEN, newest).withColumn(ORDER, F.expr(_order(_SEEN))).drop(_SEEN)


def _order(seen: str) -> str:
    """The SQL of the value; `seen` is the newest snapshot before a change."""
    first = f"if({CDC}.snapshot, {CDC}.lsn, greatest({CDC}.lsn, {seen}))"
    place = (f"coalesce({CDC}.commit, {first}, 0L)", f"NOT {CDC}.snapshot", f"coalesce({CDC}.lsn, 0L)")
    names = ("commit", "streamed", "lsn", "row", "offset")
    values = (*place, f"coalesce({CDC}.row, 0)", f"{CDC}.offset")
    pairs = ", ".join(f"'{name}', {value}" for name, value in zip(names, values, strict=True))
    return f"named_struct({pairs})"


def position() -> list[Column]:
    """The two columns that are a change's place."""
    cdc = F.col(CDC)
    lsn = F.coalesce(cdc.getField("lsn"), F.lit(0))
    return [F.coalesce(cdc.getField("commit"), lsn).alias("commit"), lsn.alias("lsn")]


def is_newer(change: str, stored: str) -> str:
    """The SQL of whether a change may take the place of what is stored; the same change once more may."""
    new, old = _cdc(change), _cdc(stored)
    came_before = f"{new}.partition = {old}.partition AND {new}.offset < {old}.offset"
    is_first = f"{new}.commit IS NULL AND NOT ({came_before})"
    after_snapshot = f"{old}.snapshot AND NOT {new}.snapshot AND ({is_first} OR {new}.at > {old}.at)"
    return f"({_place(change)} >= {_place(stored)} OR ({after_snapshot}))"


def _place(row: str) -> str:
    """The position alone: a change that is repeated has the same one under another offset."""
    cdc = _cdc(row)
    commit = f"coalesce({cdc}.commit, {cdc}.lsn, 0L)"
    return f"named_struct('commit', {commit}, 'lsn', coalesce({cdc}.lsn, 0L), 'row', coalesce({cdc}.row, 0))"


def _cdc(row: str) -> str:
    """What is told of the change, of a row by its alias or of the only one."""
    return f"{row}.{CDC}" if row else CDC
