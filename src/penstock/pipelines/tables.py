"""Expansion of a change pipeline into a pipeline per table, based on the topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from penstock.config import Settings
from penstock.errors import ConfigError, Problem
from penstock.kafka.admin import Admin
from penstock.kafka.start import find_partitions
from penstock.pipelines.pipeline import DeclaredSink, Pipeline
from penstock.pipelines.sinks.base import SourceTable
from penstock.pipelines.source import CHANGES

_TABLE_TOPIC = re.compile(r"(?P<prefix>[^.]+)\.(?P<schema>.+)\.(?P<table>[^.]+)")


def by_table(pipeline: Pipeline, base: Settings) -> list[Pipeline]:
    """Return a pipeline per table. Pipelines without changes stay unchanged; a single topic is a single table."""
    source = pipeline.source
    if source.format != CHANGES or source.topic is not None:
        return [_for_table(pipeline, source.topic)] if source.format == CHANGES and source.topic else [pipeline]
    with Admin(source.settings(base)) as admin:
        topics = sorted({partition.topic for partition in find_partitions(admin, source.names)})
    tables = [topic for topic in topics if _TABLE_TOPIC.fullmatch(topic)]
    _refuse_mixture(pipeline, tables)
    return [_for_table(pipeline, topic) for topic in tables]


def _for_table(pipeline: Pipeline, topic: str) -> Pipeline:
    found = _TABLE_TOPIC.fullmatch(topic)
    table = SourceTable(found["schema"], found["table"]) if found else SourceTable("", topic)
    source = pipeline.source.model_copy(update={"topic": topic, "topics": None, "pattern": None})
    sinks = tuple(_for_sink(sink, table, alone=pipeline.source.topic is not None) for sink in pipeline.sinks)
    return replace(pipeline, source=source, sinks=sinks, table=table)


def _for_sink(sink: DeclaredSink, table: SourceTable, *, alone: bool) -> DeclaredSink:
    name = table.fill(sink.name)
    own = name if alone or name != sink.name else f"{name}-{table}"
    return replace(sink, name=own, config=sink.config.for_table(table))


def _refuse_mixture(pipeline: Pipeline, tables: Sequence[str]) -> None:
    """Reject a sink that would mix several tables in a single table."""
    problems = [
        Problem(
            pipeline.file.place(("sinks", index, "config", "table")),
            f"{len(tables)} tables would be written into one",
            "write {table} where the table's name is to stand: shop/{table}",
        )
        for index, sink in enumerate(pipeline.sinks)
        if len(tables) > 1 and sink.config.mixes_tables
    ]
    if problems:
        raise ConfigError(problems)
