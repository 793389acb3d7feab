"""The `schema:` of a source or a sink: an Avro file beside the pipeline's own, or columns in Spark's DDL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.schemas import Schema

_AVRO = ".avsc"


@dataclass(frozen=True)
class Ddl:
    """Columns as Spark's SQL declares them: `id BIGINT NOT NULL, name STRING`."""

    text: str


RowSchema = Schema | Ddl


def load_schema(text: str, directory: Path) -> RowSchema:
    """The schema that a text means; what has several words and is no Avro file is DDL."""
    is_file = text.endswith(_AVRO) or len(text.split()) == 1
    return Schema.from_file(directory / text) if is_file else Ddl(text)
