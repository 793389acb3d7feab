"""Which of two changes of a row is the newer one, by where they stand in the database's own log.

Changes come in the order of their commits. `commit` is the position of the commit before a change's own, `lsn` that of
the change itself. A row of a snapshot has no commit; it shows what was committed up to its `lsn`. A change right after
the first snapshot has none either, and may stand before the snapshot in the log if its transaction was open by then:
such a change is always newer than the snapshot's row.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.debezium.shape_rows import CDC

ORDER: Final = "_order"

Place = tuple[int, int]
"""Where a change stands in the database's log: the position of its commit, then its own."""


def order(row: str = "", latest_snapshot: int = 0) -> str:
    """The SQL of a value by which changes of one row are sorted; `latest_snapshot` is the newest one among them."""
    cdc = _cdc(row)
    first = f"if({cdc}.snapshot, {cdc}.lsn, greatest({cdc}.lsn, {latest_snapshot}L))"
    place = (f"coalesce({cdc}.commit, {first}, 0L)", f"NOT {cdc}.snapshot", f"coalesce({cdc}.lsn, 0L)")
    names = ("commit", "streamed", "lsn", "row", "offset")
    values = (*place, f"coalesce({cdc}.row, 0)", f"{cdc}.offset")
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
    after_snapshot = f"{old}.snapshot AND NOT {new}.snapshot AND ({new}.commit IS NULL OR {new}.at > {old}.at)"
    return f"({_place(change)} >= {_place(stored)} OR ({after_snapshot}))"


def _place(row: str) -> str:
    """The position alone: a change that is repeated has the same one under another offset."""
    cdc = _cdc(row)
    commit = f"coalesce({cdc}.commit, {cdc}.lsn, 0L)"
    return f"named_struct('commit', {commit}, 'lsn', coalesce({cdc}.lsn, 0L), 'row', coalesce({cdc}.row, 0))"


def _cdc(row: str) -> str:
    """What is told of the change, of a row by its alias or of the only one."""
    return f"{row}.{CDC}" if row else CDC
