"""Write rows to a topic as Avro or JSON, at least once; the header `penstock.origin` has each record's origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above
from pyspark.sql.avro.functions import to_avro

from penstock.config import Settings
from penstock.errors import ConfigError, PenstockError, Problem, RecordTooLarge, SchemaIncompatible
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.kafka.configs import record_limit
from penstock.kafka.topics import MAX_LETTER_BYTES, ensure_topic
from penstock.schemas import IdWidth, Schema, connect_registry, subject_name
from penstock.schemas.avro.model import RecordType, Type, UnionType, type_name
from penstock.schemas.evolution import reasons_against
from penstock.schemas.registry.admin import RegistryAdmin
from penstock.schemas.wire import header as wire_header
from penstock.spark.avro.fitting import misfit, refuse_unfit
from penstock.spark.avro.types import schema_of_columns
from penstock.spark.carrying import with_origin
from penstock.spark.client_options import java_client_options
from penstock.spark.decoding import KAFKA, origin_of, quoted, without_origin
from penstock.spark.failures import spark_failures
from penstock.spark.headers import HEADERS, ORIGIN, header, own_headers
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch, Rest, WriteAgain

_SENDING: Mapping[str, str] = {
    # Few large requests: the end of a batch flushes all records, so no record waits for a full request.
    "kafka.linger.ms": "50",
    "kafka.batch.size": str(512 * 1024),
    "kafka.compression.type": "lz4",
    # The topic limits the size of a record, not the client's default of 1 MiB.
    "kafka.max.request.size": str(MAX_LETTER_BYTES),
    "kafka.buffer.memory": str(2 * MAX_LETTER_BYTES),
}
_RECORD_BYTES = 128
_HEADER_BYTES = 12
"""Maximum overhead in bytes of a record that is alone in its batch, and of each header."""

TopicFormat = Literal["avro", "json"]


@dataclass(frozen=True)
class TopicTarget:
    """Destination topic, record format, and settings for creating a missing topic."""

    topic: str
    format: TopicFormat = "avro"
    key: str | None = None
    schema: Schema | None = None
    partitions: int | None = None
    replication: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)


class KafkaSink:
    """Sink of a query into a topic.

    A missing schema is derived from the rows and registered under `<topic>-value` before the first record is written.
    An incompatible schema raises SchemaIncompatible and stops the query before anything reaches the topic.
    """

    can_screen = True

    def __init__(self, settings: Settings, target: TopicTarget) -> None:
        self._settings = settings
        self._target = target
        self._made: dict[T.StructType, list[Column]] = {}
        self._sizes_checked_in = 0
        """The last batch with a record that the brokers rejected as too large."""

    def check(self, schema: T.StructType) -> None:
        """Reject a missing key column, rows incompatible with the schema, and an incompatible schema."""
        columns = without_origin(schema)
        if self._target.key is not None and self._target.key not in columns.names:
            hint = f"the rows have {', '.join(columns.names)}"
            raise ConfigError([Problem(f"topic {self._target.topic}", f"there is no column {self._target.key}", hint)])
        if self._target.format == "avro":
            if self._target.schema is not None:
                refuse_unfit(columns, self._target.schema)
            self._check_schema(self._schema(columns))

    def landed(self) -> Position | None:
        """Create the topic if it is missing. Return None: a topic has no position, so a batch may be written again."""
        ensure_topic(self._settings, self._target.topic, self._target.partitions, self._target.replication)
        return None

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return the problem of a value forbidden by the configured Avro schema."""
        given = self._target.schema
        return misfit(without_origin(schema), given) if self._target.format == "avro" and given else None

    def form(self, rows: DataFrame) -> DataFrame:
        """Return the columns of records: key, value and headers."""
        carrying = with_origin(rows)
        schema = carrying.schema
        if schema not in self._made:
            self._made[schema] = self._make(schema)
        return carrying.select(*self._made[schema])

    def _make(self, schema: T.StructType) -> list[Column]:
        """Return a record's columns, cached per schema: building columns takes much of a small batch's time."""
        columns = without_origin(schema)
        value = self._avro(columns) if self._target.format == "avro" else F.to_json(_struct(columns)).cast("binary")
        return [_key(columns, self._target.key).alias("key"), value.alias("value"), _headers(schema).alias("headers")]

    def write(self, formed: DataFrame, batch: Batch) -> Rest | None:
        """Write the rows at least once. The returned `Rest` reports rows larger than the topic allows."""
        if self._sizes_checked_in == batch.number:
            return self._send_small(formed)
        try:
            self._send(formed)
        except RecordTooLarge as rejection:
            # Only the brokers know the compressed size of a record, so sizes are checked only after a rejection.
            self._sizes_checked_in = batch.number
            raise WriteAgain from rejection
        return None

    def _send_small(self, formed: DataFrame) -> Rest:
        """Write the rows that the topic allows; report the others."""
        limit = self._limit()
        fits = _record_size() <= limit
        self._send(formed.filter(fits))
        too_large = self._too_large(formed.filter(~fits), limit)
        return lambda: too_large

    def _send(self, formed: DataFrame) -> None:
        further = {name: str(value) for name, value in self._target.options.items()}
        options = {**_SENDING, **java_client_options(self._settings), **further, "topic": self._target.topic}
        with spark_failures(f"writing to topic {self._target.topic}"):
            formed.write.format("kafka").mode("append").options(**options).save()

    def _limit(self) -> int:
        """Return the maximum record size in bytes allowed by the topic and the client."""
        client = self._target.options.get("kafka.max.request.size", MAX_LETTER_BYTES)
        return min(record_limit(self._settings, self._target.topic), int(str(client)))

    def _too_large(self, formed: DataFrame, limit: int) -> dict[Origin, PenstockError]:
        """Return the origins of rows too large for the topic, each with an error."""
        own = F.filter(F.col("headers"), lambda each: each.getField("key") == ORIGIN)
        origin = F.try_element_at(own, F.lit(-1)).getField("value").cast("string")
        with spark_failures(f"looking for records that are too large for {self._target.topic}"):
            found = formed.select(origin.alias("origin"), _record_size().alias("size")).collect()
        return {self._origin(row["origin"]): self._refusal(row["size"], limit) for row in found}

    def _refusal(self, size: int, limit: int) -> RecordTooLarge:
        return RecordTooLarge(
            f"the record has {size:,} bytes, topic {self._target.topic} allows {limit:,}",
            hint="raise max.message.bytes of the topic, or make rows smaller",
        )

    def _origin(self, text: str | None) -> Origin:
        if text is None:
            raise RecordTooLarge(
                f"a row of many messages is too large for topic {self._target.topic}",
                hint="raise max.message.bytes of the topic, or make rows smaller",
            )
        topic, partition, offset = text.rsplit("/", 2)
        return Origin(TopicName(topic), Partition(int(partition)), Offset(int(offset)))

    def _avro(self, columns: T.StructType) -> Column:
        schema = self._schema(columns)
        return F.concat(F.lit(bytearray(self._register(schema))), to_avro(_checked(columns, schema), schema.text))

    def _schema(self, columns: T.StructType) -> Schema:
        return self._target.schema or schema_of_columns(columns, self._target.topic)

    def _register(self, schema: Schema) -> bytes:
        registry, width = connect_registry(self._settings), IdWidth(self._settings.schema_ids)
        registered = registry.register(subject_name(self._target.topic, schema), schema)
        return wire_header(schema.fingerprint if width is IdWidth.UUID else registered.schema_id, width)

    def _check_schema(self, schema: Schema) -> None:
        """Check the schema's compatibility in the registry, without registering the schema."""
        if self._settings.registry_api != "confluent":
            return
        subject, admin = subject_name(self._target.topic, schema), RegistryAdmin(self._settings)
        versions = admin.history(subject)
        if versions and not admin.accepts(subject, schema):
            reasons = [
                reason.misreading.message for reason in reasons_against(schema, versions, admin.compatibility(subject))
            ]
            raise SchemaIncompatible(
                f"the rows' schema may not follow the versions of {subject}: {'; '.join(reasons)}",
                hint="change the transform, or write to another topic",
                reasons=reasons,
            )


def _record_size() -> Column:
    """Return the maximum size of a record in bytes before compression."""
    key, value = (F.coalesce(F.octet_length(name), F.lit(0)) for name in ("key", "value"))
    each = F.transform(
        F.col("headers"),
        lambda header: (
            F.octet_length(header.getField("key"))
            + F.coalesce(F.octet_length(header.getField("value")), F.lit(0))
            + _HEADER_BYTES
        ),
    )
    headers = F.aggregate(F.coalesce(each, F.array().cast("array<int>")), F.lit(0), lambda left, right: left + right)
    return key + value + headers + _RECORD_BYTES


def _key(columns: T.StructType, name: str | None) -> Column:
    if name is None:
        return F.lit(None).cast("binary")
    key = F.col(quoted(name))
    return key if isinstance(columns[name].dataType, T.BinaryType) else key.cast("string").cast("binary")


def _headers(rows: T.StructType) -> Column:
    """Return the message's own headers plus the origin; rows made of many messages have neither."""
    if KAFKA not in rows.names:
        return F.lit(None).cast(HEADERS)
    message = F.col(KAFKA)
    place = origin_of(*(message.getField(name) for name in ("topic", "partition", "offset")))
    others = F.filter(own_headers(message.getField("headers")), lambda each: each.getField("key") != ORIGIN)
    return F.concat(others, F.array(header(ORIGIN, place)))


def _struct(columns: T.StructType) -> Column:
    return F.struct(*(F.col(quoted(name)) for name in columns.names))


def _checked(columns: T.StructType, schema: Schema) -> Column:
    """Return the row as a struct; a forbidden null raises an error with the column's name instead of Avro's error."""
    fields = schema.type.fields if isinstance(schema.type, RecordType) else []
    required = {field.name for field in fields if not _may_be_null(field.type)} & set(columns.names)
    return F.struct(
        *(_not_null(name).alias(name) if name in required else F.col(quoted(name)) for name in columns.names)
    )


def _not_null(name: str) -> Column:
    return F.coalesce(F.col(quoted(name)), F.raise_error(F.lit(f"column {name} is null, and its schema forbids that")))


def _may_be_null(avro_type: Type) -> bool:
    branches = avro_type.branches if isinstance(avro_type, UnionType) else (avro_type,)
    return any(type_name(branch) == "null" for branch in branches)
