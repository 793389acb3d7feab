"""Columns of a lake table, independent of its format."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.spark.failures import spark_failures
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.delta_log import is_delta_table
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import read_notes


def table_columns(session: SparkSession, table: LakeTable) -> T.StructType | None:
    """Return the current columns; None before the table's first batch."""
    files = files_at(table.lake, session)
    if is_delta_table(files, table.path):
        with spark_failures(f"reading table {table.name}"):
            return session.read.format("delta").load(table.path).schema
    notes = read_notes(files, table)
    return notes.columns if notes else None
