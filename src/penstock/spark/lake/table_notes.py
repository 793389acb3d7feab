"""Notes about a Parquet table: columns and partition columns, which the files do not reveal reliably."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import ConfigError, Problem
from penstock.spark.files import Files
from penstock.spark.lake.evolution import evolved
from penstock.spark.lake.folders import folder_problems
from penstock.spark.lake.table import LakeTable


@dataclass(frozen=True)
class TableNotes:
    """Columns and partition columns of a table."""

    columns: T.StructType
    partition_by: tuple[str, ...]


def read_notes(files: Files, table: LakeTable) -> TableNotes | None:
    """Return the notes about a table; None before the first batch."""
    text = files.read(_path(table))
    if text is None:
        return None
    data = json.loads(text)
    return TableNotes(T.StructType.fromJson(data["columns"]), tuple(data["partition_by"]))


def write_notes(files: Files, table: LakeTable, notes: TableNotes) -> None:
    """Write the notes about a table, before files with new columns appear."""
    data = {"format": "parquet", "columns": notes.columns.jsonValue(), "partition_by": notes.partition_by}
    files.write(_path(table), json.dumps(data, indent=2).encode())


def next_notes(table: LakeTable, known: TableNotes | None, rows: T.StructType) -> TableNotes:
    """Return the notes after rows of this schema are added; reject incompatible columns and changed partitioning."""
    problems = [Problem(f"table {table.name}", each) for each in folder_problems(table.partition_by, rows)]
    if problems:
        raise ConfigError(problems)
    if known is not None and known.partition_by != table.partition_by:
        before, now = (", ".join(names) or "nothing" for names in (known.partition_by, table.partition_by))
        hint = "folders cannot change; write to a new table"
        raise ConfigError([Problem(f"table {table.name}", f"it is partitioned by {before}, not by {now}", hint)])
    return TableNotes(evolved(known.columns if known else T.StructType(), rows, table.name), table.partition_by)


def _path(table: LakeTable) -> str:
    return f"{table.internal}/table.json"
