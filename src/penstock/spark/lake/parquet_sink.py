"""Rows into a Parquet table, exactly once for any reader.

A reader of plain Parquet takes whatever files are in the table's folders, so a file may appear there only when it is
certain that its messages will never be written again:

 1  the table's columns are noted, if the rows bring new ones
 2  Spark writes the batch to a place outside of the table
 3  one entry in the ledger lists every file and where it belongs: from here on, the batch is in the table
 4  the files are moved into the table's folders, by name, so that a move can be repeated
 5  the entry is marked as finished

A crash before step 3 leaves files that nobody sees, and the batch comes again. After a crash from step 3 on, `landed`
finishes the moves and tells the position, so the batch does not come again. While step 4 runs, a reader may see a part
of a batch, but never a row twice.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import LedgerLost
from penstock.spark.decoding import KAFKA, without_origin
from penstock.spark.files import FoundFile
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.evolution import conformed
from penstock.spark.lake.layout import Layout, writers
from penstock.spark.lake.ledger import Entry, Ledger, Move
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, next_notes, read_notes, write_notes
from penstock.spark.position import Position
from penstock.spark.sink import Batch


class ParquetSink:
    """One query's way into one Parquet table; see the module for the steps and what each of them promises."""

    def __init__(self, session: SparkSession, table: LakeTable, query: str) -> None:
        self._files = files_at(table.lake, session)
        self._table = table
        self._query = query
        self._staging = f"{table.state(query)}/staging"
        self._ledger = Ledger(self._files, f"{table.state(query)}/ledger")
        self._notes: TableNotes | None = None
        self._layout = Layout(table.target_bytes)

    def check(self, schema: T.StructType) -> None:
        """As the protocol says."""
        next_notes(self._table, read_notes(self._files, self._table), without_origin(schema))

    def landed(self) -> Position | None:
        """As the protocol says."""
        self._notes = read_notes(self._files, self._table)
        entry = self._ledger.last()
        if entry is None:
            self._refuse_unknown_files()
        elif entry.moves:
            self._move(entry)
        self._files.remove(self._staging)
        return entry.end if entry else None

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        plain = rows.drop(KAFKA)
        return conformed(plain, next_notes(self._table, self._notes, plain.schema).columns)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """As the protocol says: exactly once."""
        self._note_columns(formed.schema)
        staged = self._stage(formed, batch)
        entry = Entry(batch.number, batch.end, tuple(self._moves(staged, batch)))
        self._ledger.add(entry)
        self._move(entry)
        self._files.remove(f"{self._staging}/{batch.number}")

    def _note_columns(self, schema: T.StructType) -> None:
        notes = next_notes(self._table, self._notes, schema)
        if notes != self._notes:
            write_notes(self._files, self._table, notes)
            self._notes = notes

    def _stage(self, rows: DataFrame, batch: Batch) -> list[FoundFile]:
        place = f"{self._staging}/{batch.number}"
        writing = rows.coalesce(writers(rows.sparkSession, batch.size)).write.partitionBy(*self._table.partition_by)
        writing.option("maxRecordsPerFile", self._layout.rows_per_file).parquet(place)
        staged = [found for found in self._files.below(place) if _is_data(found.path)]
        self._layout.learn(sum(found.size for found in staged), batch.size)
        return staged

    def _moves(self, staged: list[FoundFile], batch: Batch) -> list[Move]:
        return [
            Move(
                f"{self._staging}/{batch.number}/{found.path}",
                f"{self._table.path}/{_folder(found.path)}{_file_name(self._query, batch.number, index)}",
            )
            for index, found in enumerate(staged)
        ]

    def _move(self, entry: Entry) -> None:
        for move in entry.moves:
            self._files.move(*move)
        self._ledger.finish(entry)

    def _refuse_unknown_files(self) -> None:
        own = [found.path for found in self._files.below(self._table.path) if _is_own(found.path, self._query)]
        if own:
            raise LedgerLost(
                f"table {self._table.name} has {len(own)} files of {self._query}, but their ledger is gone",
                hint=f"restore {self._table.state(self._query)}, or give the pipeline another name or table",
            )


def _is_data(path: str) -> bool:
    return path.endswith(".parquet") and not any(piece.startswith(("_", ".")) for piece in path.split("/"))


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _file_name(query: str, number: int, index: int) -> str:
    return f"part-{query}-{number}-{index:04}.parquet"


def _is_own(path: str, query: str) -> bool:
    return path[path.rfind("/") + 1 :].startswith(f"part-{query}-")
