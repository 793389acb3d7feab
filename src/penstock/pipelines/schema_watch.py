"""Publish the schemas of captured tables to the catalog whenever they change.

A background chore inspects the newest message of each table every few seconds, so the stream is never delayed. A schema
is noted as published once all in-sync replicas have its event; after a crash in between, the event is sent again. While
the registry or the topic is unavailable, the newest schema waits and is published afterwards.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from penstock.config import Settings
from penstock.errors import RecordUndecodable, SchemaError
from penstock.events.record import ConsumerRecord
from penstock.events.schema_change import TableField, TableSchema, schema_event_avro
from penstock.kafka.offsets import Offsets
from penstock.kafka.producer import Producer
from penstock.kafka.span import Span, newest_span, read_span
from penstock.kafka.topics import ensure_topic
from penstock.schemas import Schema
from penstock.spark.debezium.described import table_schema
from penstock.spark.debezium.shapes import ShapeReader
from penstock.spark.files import Files

_POSTGRES = "postgresql"
_log = logging.getLogger(__name__)
_LOOKED_AT = 20
"""Number of messages inspected per partition, because the newest message may be a tombstone."""


@dataclass(frozen=True)
class Told:
    """Schema of a table, with the timestamp of the message."""

    schema: TableSchema
    at: int


class SchemaWatch:
    """Publishes the schemas of the tables in some topics. `look` is called periodically.

    Logs a warning when a table was altered. Without a target topic, nothing is sent.
    """

    def __init__(
        self, settings: Settings, topics: tuple[str, ...], reader: ShapeReader, notes: Notes, target: str | None
    ) -> None:
        self._settings = settings
        self._topics = topics
        self._reader = reader
        self._notes = notes
        self._target = target
        self._ends: Offsets = {}
        self._producer: Producer | None = None

    def look(self) -> None:
        """Publish every schema different from the last published schema of the table."""
        span = newest_span(self._settings, self._topics, _LOOKED_AT)
        moved = {place: start for place, start in span.starts.items() if span.ends[place] != self._ends.get(place)}
        for found in newest_schemas(read_span(self._settings, Span(moved, span.ends)), self._reader):
            if not self._notes.has(found.schema):
                self._warn(found.schema)
                self._tell(found)
                self._notes.note(found.schema)
        self._ends = span.ends

    def close(self) -> None:
        """Close the producer."""
        if self._producer is not None:
            self._producer.close()

    def _warn(self, schema: TableSchema) -> None:
        before = self._notes.last(schema.table)
        if before is not None and (warning := alteration(before, schema)):
            _log.warning(warning)

    def _tell(self, found: Told) -> None:
        if self._target is None:
            return
        if self._producer is None:
            ensure_topic(self._settings, self._target)
            schema = Schema.from_text(schema_event_avro(), source=self._target)
            self._producer = Producer(self._target, schema, settings=self._settings)
        self._producer.send_sync(found.schema.event(found.at), key=found.schema.urn)


def alteration(before: TableSchema, after: TableSchema) -> str:
    """Return the warning for an altered table, with the remedy; empty if sent rows are still up to date.

    A database does not send rows filled with values by ALTER TABLE, such as a default.
    """
    altered = after.altered_from(before)
    if not altered:
        return ""
    capture, _, table = after.table.partition(".")
    way_out = f"penstock cdc resnapshot {capture} {table}" if after.connector == _POSTGRES else "a new snapshot"
    return (
        f"table {table} was altered ({', '.join(altered)}): where the statement changed rows, mirrors keep their old "
        f"values until the rows are sent again, by `{way_out}`"
    )


def newest_schemas(records: Iterable[ConsumerRecord], reader: ShapeReader) -> Iterator[Told]:
    """Yield the schema of each table's newest change. Unreadable changes are skipped; dead letters report them."""
    newest: dict[str, ConsumerRecord] = {}
    for record in records:
        if record.value is not None and _is_newer(record, newest.get(record.topic)):
            newest[record.topic] = record
    for topic, record in newest.items():
        with suppress(RecordUndecodable, SchemaError):
            if (schema := table_schema(topic, reader.shape(record.key, record.value))) is not None:
                yield Told(schema, record.timestamp or 0)


def _is_newer(record: ConsumerRecord, other: ConsumerRecord | None) -> bool:
    return other is None or (record.timestamp or 0) >= (other.timestamp or 0)


class Notes:
    """Last published schema of each table, in a file next to the pipeline's progress."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path
        self._told: dict[str, str] | None = None

    def has(self, schema: TableSchema) -> bool:
        """Whether the schema equals the table's last published schema."""
        return self._read().get(schema.table) == _text(schema)

    def last(self, table: str) -> TableSchema | None:
        """Return the last published schema of a table."""
        told = self._read().get(table)
        if told is None:
            return None
        content = json.loads(told)
        return TableSchema(content["connector"], table, tuple(TableField(**each) for each in content["fields"]))

    def note(self, schema: TableSchema) -> None:
        """Record a schema as published."""
        self._told = {**self._read(), schema.table: _text(schema)}
        self._files.write(self._path, json.dumps(self._told).encode())

    def _read(self) -> dict[str, str]:
        if self._told is None:
            self._told = json.loads(self._files.read(self._path) or b"{}")
        return self._told


def _text(schema: TableSchema) -> str:
    return json.dumps(asdict(schema))
