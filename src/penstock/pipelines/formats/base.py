"""What a format of messages is: whether it takes a schema, and how it makes a decoder."""

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
    """The messages that a decoder is wanted for: their topics, by name or `^pattern`, and the schema that was given."""

    session: SparkSession
    settings: Settings
    topics: tuple[str, ...]
    schema: RowSchema | None


@dataclass(frozen=True)
class Format:
    """A format; a decoder is made for every query, since it learns while the query runs."""

    schema: SchemaUse
    decoder: Callable[[Messages], Decoder]
