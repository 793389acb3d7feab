"""Table discovery from file names, as pure functions over any listing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NewType

from penstock.lake.store import StoredFile
from penstock.spark.lake.delta_log import LOG, is_commit
from penstock.spark.lake.table import INTERNAL

TableName = NewType("TableName", str)

NOTES = "table.json"
_QUERIES = "queries"
_LEDGER = "ledger"


@dataclass
class TableFiles:
    """Files of a table: data, Delta log, and notes of its writers."""

    name: TableName
    data: list[StoredFile] = field(default_factory=list)
    is_delta: bool = False
    has_commit: bool = False
    notes: StoredFile | None = None
    ledger: list[tuple[str, StoredFile]] = field(default_factory=list)
    writers: set[str] = field(default_factory=set)

    @property
    def is_there(self) -> bool:
        """Whether the table can be read. A Delta log whose first commit was interrupted has no table."""
        return self.has_commit if self.is_delta else bool(self.data or self.notes)


def inventory(files: Iterable[StoredFile]) -> dict[TableName, TableFiles]:
    """Return the tables formed by these files, by name."""
    tables: dict[TableName, TableFiles] = {}
    for file in files:
        head, _, rest = file.path.partition("/")
        if head == INTERNAL:
            _take_note(tables, rest, file)
        else:
            _take_file(tables, file)
    return dict(sorted((name, table) for name, table in tables.items() if table.is_there))


def is_table_name(name: str) -> bool:
    """Whether a table can have this name. Names that lead out of the lake or to internal files are invalid."""
    return not any(_is_inner(piece) or not piece for piece in name.split("/"))


def folders(path: str) -> tuple[tuple[str, str], ...]:
    """Return the Hive-style folders of a path: `Event_Type=View/Day=1/a.parquet` is Event_Type: View, Day: 1."""
    pairs = (piece.partition("=") for piece in path.split("/")[:-1])
    return tuple((name, value) for name, equals, value in pairs if equals)


def _take_file(tables: dict[TableName, TableFiles], file: StoredFile) -> None:
    pieces = file.path.split("/")
    depth = next(i for i, piece in enumerate(pieces) if _is_inner(piece) or i == len(pieces) - 1)
    name, inside = TableName("/".join(pieces[:depth])), pieces[depth:]
    if not name:
        return
    if inside[0] == LOG:
        table = _table(tables, name)
        table.is_delta, table.has_commit = True, table.has_commit or is_commit(inside[1])
    elif file.path.endswith(".parquet") and not any(_is_hidden(piece) for piece in inside):
        _table(tables, name).data.append(file)


def _take_note(tables: dict[TableName, TableFiles], path: str, file: StoredFile) -> None:
    """Record a note: `<table>/table.json` or `<table>/queries/<query>/…`, where the ledger lists the batches."""
    pieces = path.split("/")
    if pieces[-1] == NOTES and _QUERIES not in pieces:
        _table(tables, TableName("/".join(pieces[:-1]))).notes = file
    elif _QUERIES in pieces:
        at = pieces.index(_QUERIES)
        table, (query, *inside) = _table(tables, TableName("/".join(pieces[:at]))), pieces[at + 1 :]
        table.writers.add(query)
        if inside[:1] == [_LEDGER] and path.endswith(".json"):
            table.ledger.append((query, file))


def _table(tables: dict[TableName, TableFiles], name: TableName) -> TableFiles:
    return tables.setdefault(name, TableFiles(name))


def _is_inner(piece: str) -> bool:
    """Whether the table's root is above this piece of a path."""
    return "=" in piece or _is_hidden(piece)


def _is_hidden(piece: str) -> bool:
    return piece.startswith(("_", "."))
