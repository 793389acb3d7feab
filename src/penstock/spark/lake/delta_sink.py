"""Write rows to a Delta table, exactly once: a single commit of the log contains a batch and the resulting position.

A Delta reader sees all of a batch or nothing. Every commit contains the query's name and position, so after a crash the
table itself reports the progress. Delta skips a number that a query has already used. A successor claims a number
before it starts, so a driver that was presumed dead is detected at its next commit, even if its Java process is still
running.

Delta's log store for S3 has no conditional put (and the one for local disks checks before it renames): two drivers that
commit at once may overwrite each other's commit. On S3, exactly once therefore needs one driver for each table.
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
    """Sink of a query into a Delta table."""

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
        """Reject a table of a different format, and columns incompatible with the table."""
        refuse_other_format(self._files, self._table, "delta")
        next_notes(self._table, self._read_notes(), without_origin(schema))

    def landed(self) -> Position | None:
        """Claim the table and return the position of the query's last commit.

        Afterwards, Delta skips the batches of a previous driver, unless both commit at once on S3. Delta itself leaves
        no unfinished work after a crash.
        """
        self._notes, self._number = self._read_notes(), 0
        if self._notes is None:
            return None
        return self._claim(next_notes(self._table, self._notes, self._notes.columns).columns)

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return the problem of values that cannot name a folder, or that readers of the log cannot parse."""
        found = [
            unnameable(self._table.partition_by, schema, self._table.path),
            unreadable(self._table.partition_by, schema),
        ]
        problems = [each for each in found if each is not None]
        return F.coalesce(*problems) if problems else None

    def form(self, rows: DataFrame) -> DataFrame:
        """Return the rows with the table's columns, and with null for empty folder values."""
        plain = rows.drop(KAFKA)
        columns = next_notes(self._table, self._notes, plain.schema).columns
        return with_folders(conformed(plain, columns), self._table.partition_by)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """Commit the rows exactly once; raise TakenOver if a different driver owns the table."""
        self._append(formed.coalesce(writers(self._session, batch.size)), self._number + 1, batch.lands_at)
        self._require_own_commit()
        self._number += 1
        self._notes = next_notes(self._table, self._notes, formed.schema)

    def _require_own_commit(self) -> None:
        """Raise unless this driver made the query's newest commit: Delta silently skips a number already taken.

        The error is QueryInterrupted before the driver's first commit, and TakenOver afterwards.
        """
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
        """Commit the next number, so that Delta skips commits of previous drivers. Return the position."""
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
        """Return the table properties to set if the rows create the table."""
        return {}

    def _read_notes(self) -> TableNotes | None:
        if not is_delta_table(self._files, self._table.path):
            return None
        with spark_failures(f"reading table {self._table.name}"):
            columns = self._session.read.format("delta").load(self._table.path).schema
            detail = self._session.sql(f"DESCRIBE DETAIL {delta_path(self._table)}").select("partitionColumns")
            return TableNotes(columns, tuple(detail.collect()[0][0]))

    def _last_commit(self) -> Commit:
        """Return the query's newest commit; raise LedgerLost if the log has dropped the commit.

        In a long log, commits beyond the newest 50 are read only if the query has ever committed.
        """
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
        """Return the first of these commits that the query made."""
        notes = (note_of(self._files, self._table.path, name) for name in names)
        return next(filter(None, (commit_in(about, self._query) for about in notes if about)), None)

    def _has_committed(self) -> bool:
        """Whether the query has ever committed: a log drops old commits, but keeps the transaction numbers."""
        return bool(self._snapshot().transactions().contains(self._query))

    def _snapshot(self) -> Any:  # noqa: ANN401 - an object of Java
        """Return the table's snapshot as this driver last saw it."""
        java: Any = self._session._jvm  # noqa: SLF001 - PySpark has no public way to a table's log
        log = java.org.apache.spark.sql.delta.DeltaLog.forTable(self._session._jsparkSession, self._table.path)  # noqa: SLF001 - as above
        return log.unsafeVolatileSnapshot()


@dataclass(frozen=True)
class Commit:
    """Note in a commit of Penstock: number, owner, and resulting position."""

    number: int
    owner: str
    end: Position


NO_COMMIT = Commit(0, "", Position({}, {}))


def commit_in(about: str, query: str) -> Commit | None:
    """Parse a commit's note; return None for commits of foreign writers."""
    try:
        data = json.loads(about)
    except ValueError:
        return None
    is_own = isinstance(data, dict) and data.get("query") == query
    return Commit(data["number"], data["owner"], Position.from_data(data["end"])) if is_own else None


def delta_path(table: LakeTable) -> str:
    """Return the table's name in SQL."""
    escaped = table.path.replace("`", "``")
    return f"delta.`{escaped}`"
