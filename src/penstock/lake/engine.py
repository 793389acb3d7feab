"""Sandboxed DuckDB engine with access only to registered tables. Only this module uses `duckdb`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NamedTuple, Self

import duckdb
import psutil
import pyarrow as pa

from penstock.errors import LakeUnavailable, PenstockError, QuestionRefused, TableUnreadable
from penstock.lake.asked import Asked, TableRef, read_tree
from penstock.lake.table import Rows

_MEMORY_SHARE = 0.5
_GONE = ("FileNotFoundError", "No such file", "NO_SUCH_KEY", "Path does not exist")
_WHILE_READING = "reading the stream registered as"
_SPILL = "20GB"
_BATCH_ROWS = 10_000


class Answer(NamedTuple):
    """Query result: columns with DuckDB's types, and rows computed on demand."""

    columns: tuple[tuple[str, str], ...]
    rows: pa.RecordBatchReader

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches of some thousand. Raise QuestionRefused for errors during execution."""
        batches = iter(self.rows)
        while (batch := _next(batches)) is not None:
            yield batch


class Engine:
    """In-memory DuckDB without files, network and extensions, limited to half of the machine's memory.

    Larger intermediate results spill to a temporary directory, removed together with the engine.
    """

    def __init__(self) -> None:
        self._spill = tempfile.TemporaryDirectory(prefix="penstock-lake-")
        memory = int(psutil.virtual_memory().total * _MEMORY_SHARE) // 2**20
        self._duckdb = duckdb.connect(
            config={
                "memory_limit": f"{memory}MB",
                "temp_directory": self._spill.name,
                "max_temp_directory_size": _SPILL,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "python_enable_replacements": "false",
            }
        )
        self._duckdb.execute("SET TimeZone = 'UTC'; SET enable_external_access = false")

    def __enter__(self) -> Self:
        """Return the engine, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close DuckDB and remove the temporary directory."""
        self._duckdb.close()
        self._spill.cleanup()

    def read(self, sql: str) -> Asked:
        """Return the names used in a query. Raise QuestionRefused unless the SQL is exactly one SELECT."""
        with refusals():
            statements = self._duckdb.extract_statements(sql)
            if len(statements) != 1:
                raise QuestionRefused(f"{len(statements)} statements were given", hint="ask one question at a time")
            if statements[0].type != duckdb.StatementType.SELECT:
                kind = statements[0].type.name.lower().replace("_", " ")
                raise QuestionRefused(f"this is no question but a statement ({kind})", hint="use SELECT")
            ((tree,),) = self._duckdb.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
        return read_tree(json.loads(tree))

    def add(self, ref: TableRef, rows: Rows) -> None:
        """Register a table for queries. Rows readable only once are copied."""
        held = f"lake {ref.table}"
        self._duckdb.register(held, rows)
        if isinstance(rows, pa.RecordBatchReader):
            with refusals():
                self._duckdb.execute(f"CREATE TABLE {_quoted(f'copy of {held}')} AS FROM {_quoted(held)}")
            held = f"copy of {held}"
        if ref.schema:
            self._duckdb.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted(ref.schema)}")
        place = f"{_quoted(ref.schema)}.{_quoted(ref.name)}" if ref.schema else _quoted(ref.name)
        self._duckdb.execute(f"CREATE OR REPLACE VIEW {place} AS FROM {_quoted(held)}")

    def ask(self, sql: str) -> Answer:
        """Start executing a query. The configuration is locked from here on."""
        with refusals():
            self._duckdb.execute("SET lock_configuration = true")
            asked = self._relation(sql)
            columns = tuple(zip(asked.columns, map(str, asked.types), strict=True))
            return Answer(columns, asked.to_arrow_reader(_BATCH_ROWS))

    def _relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        try:
            return self._duckdb.sql(sql)
        except duckdb.Error:
            self._duckdb.execute(sql)  # raises the same error, with the position in the SQL
            raise


def _next(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Return the next batch, or None at the end. DuckDB's errors during execution arrive through Arrow as OSError."""
    try:
        with refusals():
            return next(batches, None)
    except OSError as error:
        raise _refusal(error) from error


@contextmanager
def refusals() -> Iterator[None]:
    """Translate DuckDB's errors in the block, including the position in the SQL."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        raise _refusal(error) from error


def _refusal(error: Exception) -> PenstockError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    if any(mark in lines[0] for mark in _GONE):
        return LakeUnavailable(lines[0], hint="a writer may have replaced a file meanwhile; ask again")
    if _WHILE_READING in lines[0]:
        return TableUnreadable(lines[0].partition("failed: ")[2], hint="remove or repair the file")
    return QuestionRefused("\n".join(lines), hint=_hint(error))


def _hint(error: Exception) -> str:
    match error:
        case duckdb.PermissionException():
            return "a question can name the lake's tables only: `penstock lake tables`"
        case duckdb.OutOfMemoryException():
            return "ask for less: fewer columns, a filter on the table's partitions, or no ORDER BY"
        case duckdb.BinderException():
            return "`penstock lake show TABLE` lists its columns"
        case _:
            return "the SQL is DuckDB's: https://duckdb.org/docs/sql"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
