"""Outputs of a pipeline and their inputs, as reported to a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import types as T  # noqa: N812 - the usual alias

from penstock.kafka.admin import Admin
from penstock.kafka.start import find_partitions
from penstock.pipelines.build import Builder
from penstock.pipelines.check import no_messages
from penstock.pipelines.sinks.base import Target
from penstock.pipelines.source import CHANGES
from penstock.spark.decoding import without_origin
from penstock.spark.failures import spark_failures
from penstock.spark.queries.batch import good_rows


class Column(NamedTuple):
    """Column: name, Spark type, and whether null is allowed."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class Product:
    """Topic or table written by a pipeline: columns (if known), and the source topics of the rows."""

    pipeline: str
    owner: str | None
    target: Target
    columns: tuple[Column, ...] | None
    topics: tuple[str, ...]


def products_of(builder: Builder) -> list[Product]:
    """Return the persistent outputs of a pipeline."""
    spec, topics, rows = builder.pipeline.spec, _topics(builder), _row_columns(builder)
    sinks = [(sink, sink.config.writes) for sink in builder.pipeline.sinks]
    found = [(target, sink.config.stored_columns(builder.site(sink)) or rows) for sink, target in sinks if target]
    return [Product(spec.name, spec.owner, target, _columns(schema), topics) for target, schema in found]


def _topics(builder: Builder) -> tuple[str, ...]:
    """Return the source topics. Patterns are resolved against the current topics."""
    with Admin(builder.settings) as admin:
        return tuple(sorted({place.topic for place in find_partitions(admin, builder.pipeline.source.names)}))


def _row_columns(builder: Builder) -> T.StructType | None:
    """Return the columns after all transforms. Columns of changes are unknown until the first changes arrive."""
    if builder.pipeline.source.format == CHANGES:
        return None
    with spark_failures("looking at columns"):
        decoder = builder.decoder()
        rows = good_rows(decoder, decoder.decode(no_messages(builder.session)))
        return without_origin(builder.transform()(rows).schema)


def _columns(schema: T.StructType | None) -> tuple[Column, ...] | None:
    if schema is None:
        return None
    return tuple(Column(field.name, field.dataType.simpleString(), field.nullable) for field in schema.fields)
