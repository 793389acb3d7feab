"""Rows into a Delta table, exactly once: a batch and the position that it leads to are one commit of the table's log.

A reader of Delta sees all of a batch or nothing. Every commit carries the query's name and position, so after a crash
the table itself tells how far it is. Delta takes each of a query's numbers once, so a driver that was taken for dead,
while its Java was still at work, cannot commit after its successor has begun: that one takes a number first.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import LedgerLost, QueryInterrupted, TakenOver
from penstock.spark.decoding import KAFKA, without_origin
from penstock.spark.failures import spark_failures
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.delta_log import commits, is_delta_table, is_first, note_of, versions_below
from penstock.spark.lake.evolution import conformed
from penstock.spark.lake.folders import unnameable, unreadable, with_folders
from penstock.spark.lake.formats import refuse_other_format
from penstock.spark.lake.layout import writers
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, next_notes
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch

_NEWEST: Final = 50


class DeltaSink:
    """One query's way into one Delta table."""

    can_screen = False

    def __init__(self, session: SparkSession, table: LakeTable, query: str) -> None:
        self._session = session
        self._files = files_at(table.lake, session)
        self._table = table
        self._query = query
        self._owner = uuid.uuid4().hex
        self._number = 0
        self._notes: TableNotes | None = None

    def check(self, schema: T.StructType) -> None:
        """As the protocol says."""
        refuse_other_format(self._files, self._table, "delta")
        next_notes(self._table, self._read_notes(), without_origin(schema))

    def landed(self) -> Position | None:
        """As the protocol says; Delta leaves nothing half done, and from now on no other driver's batch can land."""
        self._notes, self._number = self._read_notes(), 0
        if self._notes is None:
            return None
        return self._claim(next_notes(self._table, self._notes, self._notes.columns).columns)

    def unfit(self, schema: T.StructType) -> Column | None:
        """As the protocol says: values that cannot name a folder, or that readers of the log cannot read."""
        found = [
            unnameable(self._table.partition_by, schema, self._table.path),
            unreadable(self._table.partition_by, schema),
        ]
        problems = [each for each in found if each is not None]
        return F.coalesce(*problems) if problems else None

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        plain = rows.drop(KAFKA)
        columns = next_notes(self._table, self._notes, plain.schema).columns
        return with_folders(conformed(plain, columns), self._table.partition_by)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """As the protocol says: exactly once."""
        self._append(formed.coalesce(writers(self._session, batch.size)), self._number + 1, batch.lands_at)
        self._require_own_commit()
        self._number += 1
        self._notes = next_notes(self._table, self._notes, formed.schema)

    def _require_own_commit(self) -> None:
        """Raise unless the newest commit of the query is this driver's: Delta silently skips a number that is taken."""
        newest = self._first_own(versions_below(self._snapshot().version()))
        if newest is not None and newest.owner == self._owner:
            return
        if not self._number:
            raise QueryInterrupted(f"table {self._table.name} was made by another driver of {self._query}")
        raise TakenOver(
            f"another driver writes to table {self._table.name} for {self._query}",
            hint="stop one of the two; a query is run by one driver at a time",
        )

    def _claim(self, columns: T.StructType) -> Position | None:
        """Take the next number, so that a driver that had it in mind cannot commit any more; gives the position."""
        nothing = self._session.createDataFrame([], columns)
        while True:
            last = self._last_commit()
            self._append(nothing, last.number + 1, last.end)
            claimed = self._last_commit()
            if claimed.owner == self._owner:
                self._number = claimed.number
                return claimed.end if claimed.end.offsets else None

    def _append(self, rows: DataFrame, number: int, end: Position) -> None:
        """Commit rows; Delta does nothing if the number is taken."""
        about = json.dumps({"query": self._query, "number": number, "owner": self._owner, "end": end.as_data()})
        writing = rows.write.format("delta").mode("append").partitionBy(*self._table.partition_by)
        once = writing.options(**self._properties(rows.schema), txnAppId=self._query, txnVersion=number)
        with spark_failures(f"writing table {self._table.name}"):
            once.option("mergeSchema", "true").option("userMetadata", about).save(self._table.path)

    def _properties(self, schema: T.StructType) -> Mapping[str, str]:  # noqa: ARG002 - for sinks of tables that have some
        """What Delta is told of the table if these rows are its first."""
        return {}

    def _read_notes(self) -> TableNotes | None:
        if not is_delta_table(self._files, self._table.path):
            return None
        with spark_failures(f"reading table {self._table.name}"):
            columns = self._session.read.format("delta").load(self._table.path).schema
            detail = self._session.sql(f"DESCRIBE DETAIL {delta_path(self._table)}").select("partitionColumns")
            return TableNotes(columns, tuple(detail.collect()[0][0]))

    def _last_commit(self) -> Commit:
        """The query's newest commit; of a long log, what is older is only read if one of the query's is there."""
        names = commits(self._files, self._table.path)
        newest, older = names[:_NEWEST], names[_NEWEST:]
        found = self._first_own(newest)
        if found is None and not any(map(is_first, newest)) and self._has_committed():
            found = self._first_own(older)
            if found is None:
                raise LedgerLost(
                    f"table {self._table.name} has records of {self._query}, but its log no longer tells which",
                    hint="give the pipeline another name or table",
                )
        return found or NO_COMMIT

    def _first_own(self, names: Iterable[str]) -> Commit | None:
        """The first of these commits that is the query's."""
        notes = (note_of(self._files, self._table.path, name) for name in names)
        return next(filter(None, (commit_in(about, self._query) for about in notes if about)), None)

    def _has_committed(self) -> bool:
        """Whether the query ever made a commit: a table's log forgets old ones, but not that they were made."""
        return bool(self._snapshot().transactions().contains(self._query))

    def _snapshot(self) -> Any:  # noqa: ANN401 - an object of Java
        """The table as this driver has seen it last."""
        java: Any = self._session._jvm  # noqa: SLF001 - PySpark has no public way to a table's log
        log = java.org.apache.spark.sql.delta.DeltaLog.forTable(self._session._jsparkSession, self._table.path)  # noqa: SLF001 - as above
        return log.unsafeVolatileSnapshot()


@dataclass(frozen=True)
class Commit:
    """What a commit of ours notes: its number, who made it, and the position that it leads to."""

    number: int
    owner: str
    end: Position


NO_COMMIT = Commit(0, "", Position({}, {}))


def commit_in(about: str, query: str) -> Commit | None:
    """What a commit's note says, if it is one of this query's; others may write to the table too."""
    try:
        data = json.loads(about)
    except ValueError:
        return None
    is_own = isinstance(data, dict) and data.get("query") == query
    return Commit(data["number"], data["owner"], Position.from_data(data["end"])) if is_own else None


def delta_path(table: LakeTable) -> str:
    """The table as SQL names it."""
    escaped = table.path.replace("`", "``")
    return f"delta.`{escaped}`"
