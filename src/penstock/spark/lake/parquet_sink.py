"""Write rows to a Parquet table, exactly once for any reader.

A reader of plain Parquet reads every file in the table's folders, so a file may appear there only when its messages are
certain never to be written again:

 1  the table's columns are recorded, if the rows add new columns
 2  Spark writes the batch to a staging directory outside the table
 3  messages of rows without a valid folder are kept as dead letters
 4  a ledger entry lists every file and its destination: from here on, the batch is in the table
 5  the files are moved into the table's folders, by name, so that a move can be repeated
 6  the entry is marked as finished

A crash before step 4 leaves invisible files, and the batch is read again. After a crash from step 4 on, `landed`
finishes the moves and returns the position, so the batch is not read again. During step 5, a reader may see part of a
batch, but never a duplicate row.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import LedgerLost, TakenOver
from penstock.spark.decoding import KAFKA, without_origin
from penstock.spark.exclusive_create import require_exclusive_create
from penstock.spark.files import is_local
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.evolution import conformed
from penstock.spark.lake.file_names import file_name, number_of, writer_of
from penstock.spark.lake.folder_numbers import NUMBER, FolderNumbers
from penstock.spark.lake.folders import unnameable, with_folders
from penstock.spark.lake.formats import refuse_other_format
from penstock.spark.lake.layout import Layout, writers
from penstock.spark.lake.ledger import Entry, Ledger, Move, ledger_of
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, next_notes, read_notes, write_notes
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch


class Staged(NamedTuple):
    """Staged file: its path in the staging directory, and its path by folder names."""

    path: str
    named: str


class ParquetSink:
    """Sink of a query into a Parquet table; the module describes the steps and the guarantees."""

    can_screen = True

    def __init__(self, session: SparkSession, table: LakeTable, query: str) -> None:
        self._files = files_at(table.lake, session)
        self._table = table
        self._query = query
        self._all_staging = f"{table.state(query)}/staging"
        self._owner = self._staging = ""
        self._is_store_checked = False
        self._ledger = Ledger(self._files, ledger_of(table, query))
        self._number = 0
        self._notes: TableNotes | None = None
        self._layout = Layout(table.target_bytes)
        self._numbers = FolderNumbers(table.partition_by)

    def check(self, schema: T.StructType) -> None:
        """Reject a table of a different format, and columns incompatible with the table."""
        refuse_other_format(self._files, self._table, "parquet")
        next_notes(self._table, read_notes(self._files, self._table), without_origin(schema))

    def landed(self) -> Position | None:
        """Claim the table, finish moves after a crash, and return the position.

        Afterwards, no batch of a previous driver can land, and files staged by previous drivers are removed.
        """
        self._check_store()
        self._owner = uuid.uuid4().hex
        self._staging = f"{self._all_staging}/{self._owner}"
        while True:
            last = self._ledger.last()
            if last is None or is_local(self._table.lake):
                self._refuse_unknown_files(last)
            if last is not None and last.moves:
                self._move(last)
            # Listed before the claim: files staged later may belong to a successor.
            abandoned = self._files.names(self._all_staging)
            claim = Entry(last.number + 1 if last else 1, self._owner, last.end if last else Position({}, {}))
            if self._ledger.add(claim):
                break
        self._number = claim.number
        for name in abandoned:
            self._files.remove(f"{self._all_staging}/{name}")
        self._notes = read_notes(self._files, self._table)
        return claim.end if claim.end.offsets else None

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return the problem of values that cannot name a folder."""
        return unnameable(self._table.partition_by, schema, self._staging)

    def form(self, rows: DataFrame) -> DataFrame:
        """Return the rows with the table's columns, and with null for empty folder values."""
        plain = rows.drop(KAFKA)
        columns = next_notes(self._table, self._notes, plain.schema).columns
        return with_folders(conformed(plain, columns), self._table.partition_by)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """Write the rows exactly once; raise TakenOver if a second driver has taken the next entry's number."""
        self._note_columns(formed.schema)
        number = self._number + 1
        staged = self._stage(formed, f"{self._staging}/{number}", batch.size)
        batch.before_landing()
        entry = Entry(number, self._owner, batch.lands_at, tuple(self._moves(staged, number)))
        if not self._ledger.add(entry):
            raise TakenOver(
                f"another driver writes to table {self._table.name} for {self._query}",
                hint="stop one of the two; a query is run by one driver at a time",
            )
        self._move(entry)
        self._number = number
        self._files.remove(self._staging)

    def _check_store(self) -> None:
        """Check once that the store rejects a second entry with an existing number."""
        if not self._is_store_checked and not is_local(self._table.lake):
            require_exclusive_create(self._files, self._table.state(self._query))
            self._is_store_checked = True

    def _note_columns(self, schema: T.StructType) -> None:
        notes = next_notes(self._table, self._notes, schema)
        if notes != self._notes:
            write_notes(self._files, self._table, notes)
            self._notes = notes

    def _stage(self, rows: DataFrame, place: str, size: int) -> list[Staged]:
        """Write a batch outside the table: by folder numbers if all folders are known, otherwise by folder names."""
        numbered = self._numbers.numbered(rows, size)
        if numbered is not None:
            paths = self._write_to(place, numbered, [NUMBER], size)
            named = self._numbers.named(paths)
            if named is not None:
                return list(map(Staged, paths, named))
        paths = self._write_to(place, rows, self._table.partition_by, size)
        self._numbers.learn(paths)
        return list(map(Staged, paths, paths))

    def _write_to(self, place: str, rows: DataFrame, folders: Sequence[str], size: int) -> list[str]:
        """Write rows to a directory, and return the relative paths of the files."""
        writing = rows.coalesce(writers(rows.sparkSession, size)).write.partitionBy(*folders)
        writing.option("maxRecordsPerFile", self._layout.rows_per_file).mode("overwrite").parquet(place)
        written = [found for found in self._files.below(place) if _is_data(found.path)]
        self._layout.learn(sum(found.size for found in written), size)
        return [found.path for found in written]

    def _moves(self, staged: list[Staged], number: int) -> list[Move]:
        return [
            Move(
                f"{self._staging}/{number}/{file.path}",
                f"{self._table.path}/{_folder(file.named)}{file_name(self._query, number, index)}",
            )
            for index, file in enumerate(staged)
        ]

    def _move(self, entry: Entry) -> None:
        with self._files.lock(self._table.lock):
            for move in entry.moves:
                self._files.move(*move)
        self._ledger.finish(entry)

    def _refuse_unknown_files(self, last: Entry | None) -> None:
        """Reject a table with files newer than the ledger.

        In an object store, only a missing ledger triggers the check: listing a large table takes long there.
        """
        files = [found.path for found in self._files.below(self._table.path) if writer_of(found.path) == self._query]
        newest = last.number if last else 0
        unknown = [path for path in files if number_of(path) > newest]
        # A different driver may have added the entry of these files since the last entry was read.
        if unknown and self._ledger.last() == last:
            why = f"their ledger ends at batch {newest}" if last else "their ledger is gone"
            raise LedgerLost(
                f"table {self._table.name} has {len(unknown)} files of {self._query}, but {why}",
                hint=f"restore {self._table.state(self._query)}, or give the pipeline another name or table",
            )


def _is_data(path: str) -> bool:
    return path.endswith(".parquet") and not path.startswith("_temporary/")


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]
