"""A table as it is now: the last change of each row, merged by key.

Every row carries the position of its last change, and a change takes its place only if it is not older. So a batch
that comes again changes nothing, and no memory of batches is needed to write each of them once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.changes.batch import Facts, last_of_each, literal, refuse_keyless
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

_CHANGES: Final = "penstock_changes"
_DELETED: Final = "_deleted"
_IS_DELETE: Final = f"s.{CDC}.op = 'd'"


class MirrorSink(ChangeSink):
    """Merges changes into one table; deleted rows go, or stay with `_deleted` set."""

    def __init__(
        self, session: SparkSession, table: LakeTable, *, deletes: Deletes = "hard", remember_days: int = 30
    ) -> None:
        super().__init__(session, table)
        self._memory = DeleteMemory(session, table, remember_days)
        self._deletes = deletes
        self._session = session

    def landed(self) -> Position | None:
        """As the protocol says; what was deleted too long ago is forgotten."""
        self._memory.forget(self._session)
        return super().landed()

    def _take(self, changes: DataFrame, facts: Facts) -> None:
        if facts.truncated is not None:
            self._truncate(changes.sparkSession, facts.truncated)
        rows = changes.filter(f"{CDC}.op <> 't' AND coalesce({CDC}.lsn >= {facts.truncated or 0}L, true)")
        if not facts.keys:
            refuse_keyless(rows, self._table.table.name)
            return
        if facts.moves:
            fitted = self._table.fitted(rows)
            rows = with_old_values(fitted, self._before(fitted, facts), facts)
        fitted = self._table.fitted(self._marked(last_of_each(rows, facts)))
        with kept(self._memory.without_stale(fitted, facts)) as last:
            if self._deletes == "hard" and facts.deletes:
                self._memory.note(last, facts)
            self._merge(last, facts)

    def _before(self, changes: DataFrame, facts: Facts) -> DataFrame:
        """The stored rows; also those that an earlier batch deleted under keys which are changed, as this one tells."""
        stored = self._table.read(changes.sparkSession)
        deletions = self._memory.at(without_deletion(changes)) if self._deletes == "hard" else None
        return stored if deletions is None else with_deleted(stored, self._table, deletions, facts)

    def _marked(self, last: DataFrame) -> DataFrame:
        """Where deleted rows stay, a column says which they are."""
        return last.withColumn(_DELETED, F.expr(f"{CDC}.op = 'd'")) if self._deletes == "soft" else last

    def _truncate(self, session: SparkSession, lsn: int) -> None:
        """A truncate waits for all changes before it, so every older row has an older position."""
        soft = f"UPDATE {self._table.path} SET {_DELETED} = true"  # noqa: S608 - a path of ours
        hard = f"DELETE FROM {self._table.path}"  # noqa: S608 - as above
        self._memory.note_truncate(session, lsn)
        if self._table.exists():
            session.sql(f"{soft if self._deletes == 'soft' else hard} WHERE {CDC}.lsn < {lsn}L")

    def _merge(self, last: DataFrame, facts: Facts) -> None:
        around = near(last, facts.keys, facts.changes)
        if around is not None:
            last.createOrReplaceTempView(_CHANGES)
            last.sparkSession.sql(self._statement(last.columns, facts, around))

    def _statement(self, columns: Sequence[str], facts: Facts, around: Sequence[str]) -> str:
        same = [f"t.{quoted(key)} <=> s.{quoted(key)}" for key in facts.keys]
        return "\n".join(
            [
                f"MERGE INTO {self._table.path} t USING {_CHANGES} s ON {' AND '.join([*same, *around])}",
                *self._clauses(columns, facts),
            ]
        )

    def _clauses(self, columns: Sequence[str], facts: Facts) -> Iterator[str]:
        newer = is_newer("s", "t")
        updates = ", ".join(f"t.{name} = {value}" for name, value in self._updates(columns, facts))
        names = ", ".join(map(quoted, columns))
        values = ", ".join(f"s.{quoted(name)}" for name in columns)
        marked = f"UPDATE SET t.{_DELETED} = true, t.{CDC} = s.{CDC}"
        yield f"WHEN MATCHED AND {newer} AND {_IS_DELETE} THEN {marked if self._deletes == 'soft' else 'DELETE'}"
        yield f"WHEN MATCHED AND {newer} THEN UPDATE SET {updates}"
        unless = f" AND NOT {_IS_DELETE}" if self._deletes == "hard" else ""
        yield f"WHEN NOT MATCHED{unless} THEN INSERT ({names}) VALUES ({values})"  # noqa: S608 - names are quoted

    def _updates(self, columns: Sequence[str], facts: Facts) -> Iterator[tuple[str, str]]:
        """A value that was not sent again stays; a column that rows no longer have becomes null."""
        for column in self._table.columns:
            name = quoted(column.name)
            given = f"s.{name}" if column.name in columns else "NULL"
            if column.name == CDC and facts.unavailable:
                given = _without_known(column)
            if told := facts.told_missing(column):
                missing = f"array_contains(s.{CDC}.unavailable, {literal(told)})"
                given = f"CASE WHEN coalesce({missing}, false) THEN t.{name} ELSE {given} END"
            yield name, given


def _without_known(cdc: T.StructField) -> str:
    """The SQL of what is told of a change, where only what the stored row lacks too is named as unavailable."""
    kind = cdc.dataType
    assert isinstance(kind, T.StructType)  # noqa: S101 - it is the column that tells of changes
    both = f"s.{CDC}.unavailable, t.{CDC}.unavailable"
    unknown = f"CASE WHEN arrays_overlap({both}) THEN array_intersect({both}) END"
    parts = (f"'{name}', {unknown if name == 'unavailable' else f's.{CDC}.{quoted(name)}'}" for name in kind.names)
    return f"named_struct({', '.join(parts)})"
