"""Format of an existing table. Files of two formats would make the table unreadable."""

from __future__ import annotations

from typing import Literal

from penstock.errors import QueryFailed
from penstock.spark.files import Files
from penstock.spark.lake.delta_log import is_delta_table
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import read_notes

Format = Literal["parquet", "delta"]


def refuse_other_format(files: Files, table: LakeTable, wanted: Format) -> None:
    """Raise QueryFailed if the table exists in a different format."""
    found = "delta" if is_delta_table(files, table.path) else "parquet" if read_notes(files, table) else wanted
    if found != wanted:
        raise QueryFailed(
            f"table {table.name} is {found} already, and cannot be {wanted}",
            hint=f"write to a table of another name, or remove it together with {table.internal}",
        )
