"""The `schema:` of a source or sink: an Avro file relative to the pipeline's file, or columns in Spark DDL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.schemas import Schema

_AVRO = ".avsc"


@dataclass(frozen=True)
class Ddl:
    """Columns in Spark SQL syntax: `id BIGINT NOT NULL, name STRING`."""

    text: str


RowSchema = Schema | Ddl


def load_schema(text: str, directory: Path) -> RowSchema:
    """Return the schema for a text. A single word or a name ending in `.avsc` is an Avro file; anything else is DDL."""
    is_file = text.endswith(_AVRO) or len(text.split()) == 1
    return Schema.from_file(directory / text) if is_file else Ddl(text)
