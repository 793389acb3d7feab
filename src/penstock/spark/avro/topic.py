"""Avro of one topic whose schema nobody names: it is looked for when messages come."""

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
    """Rows in the form of the newest schema under `<topic>-value`.

    Where the registry has none, or knows schemas by their ids only, it is the form of the schema that reads most of
    those that messages were written with. Nothing is asked before the first batch, so a registry that is away then is
    waited for like everything else that a batch needs.
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
        """As the protocol says."""
        return self._found().schema

    def decode(self, messages: DataFrame) -> DataFrame:
        """As the protocol says; UnknownSchemas if only the messages can tell."""
        return self._found().decode(messages)

    def fields(self) -> Sequence[Column]:
        """As the protocol says."""
        return self._found().fields()

    def learn(self, messages: DataFrame) -> None:
        """As the protocol says."""
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
