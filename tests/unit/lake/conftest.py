"""Lakes written without Spark, as other programs write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli.answer_view import first_rows
from penstock.config import load_settings
from penstock.lake.lake import Lake
from penstock.lake.question import ask

Ask = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(load_settings(env={}, options={"lake": str(tmp_path)}).settings)


@pytest.fixture
def answer(lake: Lake) -> Ask:
    """The rows of the answer to a question."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        with ask(lake, sql) as found:
            return first_rows(found, 0).rows

    return rows


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a Parquet file below the lake."""

    def write_file(path: str, /, **columns: Any) -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)
        return file

    return write_file


@pytest.fixture
def note(tmp_path: Path) -> Callable[..., None]:
    """Note a table's columns, as the Parquet sink does."""

    def write_notes(table: str, partition_by: list[str], /, **types: Any) -> None:
        columns = {
            "type": "struct",
            "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()],
        }
        path = tmp_path / "_penstock" / table / "table.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"format": "parquet", "columns": columns, "partition_by": partition_by}))

    return write_notes
