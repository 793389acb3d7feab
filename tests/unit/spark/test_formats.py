from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import QueryFailed
from penstock.spark.files import LocalFiles
from penstock.spark.lake.formats import refuse_other_format
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, write_notes


def test_a_table_of_one_format_is_not_written_in_the_other(tmp_path: Path) -> None:
    files, plain, delta = LocalFiles(), LakeTable(str(tmp_path), "plain"), LakeTable(str(tmp_path), "delta")
    refuse_other_format(files, plain, "parquet")
    refuse_other_format(files, plain, "delta")
    write_notes(files, plain, TableNotes(T.StructType([]), ()))
    files.write(f"{delta.path}/_delta_log/{0:020}.json", b"{}")

    refuse_other_format(files, plain, "parquet")
    refuse_other_format(files, delta, "delta")
    with pytest.raises(QueryFailed, match="table plain is parquet already, and cannot be delta"):
        refuse_other_format(files, plain, "delta")
    with pytest.raises(QueryFailed, match="table delta is delta already, and cannot be parquet"):
        refuse_other_format(files, delta, "parquet")
