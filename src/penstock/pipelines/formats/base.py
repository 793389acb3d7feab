"""Description of a message format: use of a schema, and creation of decoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.pipelines.row_schema import RowSchema
from penstock.pipelines.spec import SchemaUse
from penstock.spark.decoding import Decoder


@dataclass(frozen=True)
class Messages:
    """Messages to decode: topics, by name or `^pattern`, and the schema from the file."""

    session: SparkSession
    settings: Settings
    topics: tuple[str, ...]
    schema: RowSchema | None


@dataclass(frozen=True)
class Format:
    """Message format. Every query gets a separate decoder, because decoders learn while the query runs."""

    schema: SchemaUse
    decoder: Callable[[Messages], Decoder]
