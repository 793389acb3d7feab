"""Export of query results to files. A file appears completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet, types

from penstock.errors import UsageError
from penstock.lake.engine import Answer
from penstock.schemas.to_json import to_json


def check_target(file: Path) -> None:
    """Reject an invalid target file before the query runs."""
    if file.suffix not in _FORMATS:
        raise UsageError(f"{file}: an answer is written as {' or '.join(_FORMATS)}", hint="name the file so")
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no directory {file.parent}", hint="make it first")


def write_answer(answer: Answer, file: Path) -> int:
    """Write all rows to a `.csv` or `.parquet` file, replacing an existing file. Return the number of rows."""
    make, text_only = _FORMATS[file.suffix]
    schema = _text_schema(answer.rows.schema) if text_only else answer.rows.schema
    count = 0
    with _new_file(file) as new, make(str(new), schema) as writer:
        for batch in answer.batches():
            writer.write_batch(_as_text(batch, schema) if text_only else batch)
            count += batch.num_rows
    return count


def _text_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text in place of types unknown to CSV."""
    return pa.schema([field if _is_plain(field.type) else pa.field(field.name, pa.string()) for field in schema])


def _is_plain(kind: pa.DataType) -> bool:
    return not (types.is_nested(kind) or types.is_binary(kind) or types.is_interval(kind))


def _as_text(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        column if column.type == field.type else pa.array(map(_text, column.to_pylist()), pa.string())
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case bytes():
            return value.hex()
        case dict() | list():
            return json.dumps(to_json(value), default=str, ensure_ascii=False)
        case _:
            return str(value)


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    new = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        yield new
        new.replace(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}", hint="is there room, and the right to write?") from error
    finally:
        new.unlink(missing_ok=True)


_FORMATS = {".csv": (csv.CSVWriter, True), ".parquet": (parquet.ParquetWriter, False)}
