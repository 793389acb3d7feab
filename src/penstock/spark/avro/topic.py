"""Avro decoder for a topic without a configured schema, which is determined when messages arrive."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the conventional alias

from penstock.errors import RegistryRefused, SchemaError, SchemaNotFound
from penstock.schemas import IdWidth, Schema, SchemaRegistry
from penstock.spark.avro.rows import AvroRows
from penstock.spark.avro.writers import readable
from penstock.spark.failures import UnknownSchemas

_NOTHING = '{"type": "record", "name": "nothing", "fields": []}'


class TopicAvro:
    """Decoder with the newest schema under `<topic>-value`.

    If the registry has no such subject, or supports lookups by id only, the reader schema is the writer schema that can
    read most of the writer schemas seen. The registry is not contacted before the first batch, so an unavailable
    registry is retried like every other dependency of a batch.
    """

    def __init__(
        self, session: SparkSession, registry: SchemaRegistry, topic: str, widths: Collection[IdWidth] = tuple(IdWidth)
    ) -> None:
        self._session = session
        self._registry = registry
        self._topic = topic
        self._widths = widths
        self._rows: AvroRows | None = None
        self._seen = self._decoder(Schema.from_text(_NOTHING))
        self._has_subject = False

    @property
    def schema(self) -> T.StructType:
        """The columns of the reader schema."""
        return self._found().schema

    def decode(self, messages: DataFrame) -> DataFrame:
        """Return the decoded messages. Raise UnknownSchemas if the schema depends on the messages."""
        return self._found().decode(messages)

    def fields(self) -> Sequence[Column]:
        """Return the expressions that take the row's columns from the result of `decode`."""
        return self._found().fields()

    def learn(self, messages: DataFrame) -> None:
        """Look up unseen schema ids, and choose the reader schema if the topic has no subject."""
        if not self._has_subject:
            self._seen.learn(messages)
            self._rows = self._decoder(self._widest())
        self._found().learn(messages)

    def _found(self) -> AvroRows:
        if self._rows is None:
            self._rows = self._by_subject()
            self._has_subject = True
        return self._rows

    def _by_subject(self) -> AvroRows:
        try:
            return self._decoder(None)
        except (SchemaError, RegistryRefused) as error:
            raise UnknownSchemas from error

    def _decoder(self, reader: Schema | None) -> AvroRows:
        subjects = [f"{self._topic}-value"]
        return AvroRows(self._session, self._registry, subjects=subjects, reader=reader, widths=self._widths)

    def _widest(self) -> Schema:
        found = self._seen.written
        if not found:
            raise SchemaNotFound(
                f"the registry has no schema under {self._topic}-value, and knows none that its messages name",
                hint="is it the right registry? with a schema under that name, messages of no known schema are refused",
            )
        return max(reversed(found), key=lambda reader: sum(not readable(writer, reader) for writer in found))
