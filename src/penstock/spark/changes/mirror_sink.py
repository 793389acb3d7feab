"""Mirror sink: the current state of a table, with the last change of each row merged by key.

Every row stores the log position of its last change. A change is applied only if its position is not older. A repeated
batch therefore has no effect, and the sink needs no record of written batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Final, Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.spark.changes.batch import Facts, last_of_each, refuse_keyless
from penstock.spark.changes.delta_rows import Clause, DeltaRows, changed, stored
from penstock.spark.changes.former import with_deleted
from penstock.spark.changes.memory import DeleteMemory
from penstock.spark.changes.moved import with_old_values, without_deletion
from penstock.spark.changes.near import near
from penstock.spark.changes.order import is_newer
from penstock.spark.changes.sink import ChangeSink
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.kept import kept
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position

Deletes = Literal["hard", "soft"]

_DELETED: Final = "_deleted"


class MirrorSink(ChangeSink):
    """Merges changes into one table. Deleted rows are removed, or kept with `_deleted` set."""

    def __init__(
        self, session: SparkSession, table: LakeTable, *, deletes: Deletes = "hard", remember_days: int = 30
    ) -> None:
        super().__init__(session, table, (_DELETED,) if deletes == "soft" else ())
        self._memory = DeleteMemory(session, table, remember_days)
        self._deletes = deletes
        self._session = session

    def landed(self) -> Position | None:
        """Return an empty position, so that the query reads from the start.

        Also expire deletions older than `remember_days`.
        """
        self._memory.forget(self._session)
        return super().landed()

    def _take(self, changes: DataFrame, facts: Facts) -> None:
        if facts.truncated is not None:
            self._truncate(changes.sparkSession, facts.truncated)
        op, lsn = F.col(CDC).getField("op"), F.col(CDC).getField("lsn")
        rows = changes.filter((op != "t") & F.coalesce(lsn >= (facts.truncated or 0), F.lit(True)))
        if not facts.keys:
            refuse_keyless(rows, self._table.table.name)
            return
        # Fitted first: text from `outside` tells rows apart whose key became text.
        rows = self._table.fitted(self._arranged(rows, facts), facts.keys)
        facts = facts.of_types(rows.schema)
        if facts.moves:
            rows = with_old_values(rows, self._before(rows, facts), facts)
        with kept(self._memory.without_stale(last_of_each(rows, facts), facts)) as last:
            if self._deletes == "hard" and facts.deletes:
                self._memory.note(last, facts)
            self._merge(last, facts)

    def _before(self, changes: DataFrame, facts: Facts) -> DataFrame:
        """Return the stored rows, including rows deleted by an earlier batch because of a key update."""
        rows = self._table.read(changes.sparkSession)
        deletions = self._memory.at(without_deletion(changes)) if self._deletes == "hard" else None
        return rows if deletions is None else with_deleted(rows, self._table, deletions, facts)

    def _arranged(self, rows: DataFrame, facts: Facts) -> DataFrame:
        """Return the rows with key columns first, and with the mark of deleted rows if they are kept.

        Delta collects statistics of a table's first columns only.
        """
        others = [name for name in rows.columns if name not in {*facts.keys, CDC}]
        arranged = rows.select(*map(quoted, [*facts.keys, *others, CDC]))
        is_delete = F.col(CDC).getField("op") == "d"
        return arranged.withColumn(_DELETED, is_delete) if self._deletes == "soft" else arranged

    def _truncate(self, session: SparkSession, lsn: int) -> None:
        """Delete all rows older than a truncate.

        A truncate waits for all earlier changes, so every older row has a lower position.
        """
        self._memory.note_truncate(session, lsn)
        if not self._table.exists():
            return
        rows, is_older = DeltaRows(session, self._table.table.path), F.col(CDC).getField("lsn") < lsn
        if self._deletes == "soft":
            rows.update(is_older, {_DELETED: F.lit(True)})
        else:
            rows.delete(is_older)

    def _merge(self, last: DataFrame, facts: Facts) -> None:
        around = near(last, facts.keys, facts.changes)
        if around is None:
            return
        same = map(Column.eqNullSafe, facts.identity(stored), facts.identity(changed))
        clauses = list(self._clauses(last.columns, facts))
        DeltaRows(last.sparkSession, self._table.table.path).merge(last, reduce(and_, [*same, *around]), clauses)

    def _clauses(self, columns: Sequence[str], facts: Facts) -> Iterator[Clause]:
        newer, is_delete = is_newer(changed(CDC), stored(CDC)), changed(CDC).getField("op") == "d"
        if self._deletes == "soft":
            yield Clause("update", newer & is_delete, {_DELETED: F.lit(True), CDC: changed(CDC)})
        else:
            yield Clause("delete", newer & is_delete)
        yield Clause("update", newer, dict(self._updates(columns, facts)))
        yield Clause(
            "insert", ~is_delete if self._deletes == "hard" else None, {name: changed(name) for name in columns}
        )

    def _updates(self, columns: Sequence[str], facts: Facts) -> Iterator[tuple[str, Column]]:
        """Yield the new value of each column: unavailable values stay, columns missing from the rows become null."""
        for column in self._table.columns:
            given = changed(column.name) if column.name in columns else F.lit(None).cast(column.dataType)
            if column.name == CDC and facts.unavailable:
                given = given.withField("unavailable", _unknown())
            if told := facts.told_missing(column):
                missing = F.array_contains(changed(CDC).getField("unavailable"), told)
                given = F.when(F.coalesce(missing, F.lit(False)), stored(column.name)).otherwise(given)
            yield column.name, given


def _unknown() -> Column:
    """Return the columns that remain unavailable after an update: those missing from the stored row too."""
    new, old = (cdc.getField("unavailable") for cdc in (changed(CDC), stored(CDC)))
    return F.when(F.arrays_overlap(new, old), F.array_intersect(new, old))
