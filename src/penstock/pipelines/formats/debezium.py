"""Changes of database tables in Debezium's format."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the usual alias

from penstock.errors import SchemaError
from penstock.kafka.span import newest_span
from penstock.pipelines.formats.base import Format, Messages
from penstock.pipelines.row_schema import Ddl, RowSchema
from penstock.schemas import Schema, connect_registry
from penstock.spark.debezium.rows import DebeziumRows
from penstock.spark.decoding import Decoder
from penstock.spark.failures import spark_failures
from penstock.spark.kafka_source import KafkaSource, read_range
from penstock.spark.queries.narrowing import OffsetRange

_LOOKED_AT = 20


def _decoder(messages: Messages) -> Decoder:
    """Create a decoder for the row shapes of the newest messages. Further shapes are learnt as they arrive."""
    decoder = DebeziumRows(
        connect_registry(messages.settings), columns=given_columns(messages.session, messages.schema)
    )
    newest = _newest(messages)
    if newest is not None:
        with spark_failures("looking at the newest changes"):
            decoder.learn(newest)
    return decoder


def given_columns(session: SparkSession, schema: RowSchema | None) -> T.StructType | None:
    """Return the columns of changes without a schema in the messages."""
    match schema:
        case Schema():
            raise SchemaError("columns of changes are given as DDL", hint="such as `id INT, total DECIMAL(10,2)`")
        case Ddl(text=text):
            with spark_failures("reading the DDL"):
                return _parsed(session, text)
        case None:
            return None


def _parsed(session: SparkSession, ddl: str) -> T.StructType:
    return session.createDataFrame([], ddl).schema


def _newest(messages: Messages) -> DataFrame | None:
    span = newest_span(messages.settings, messages.topics, _LOOKED_AT)
    source = KafkaSource(messages.settings, messages.topics)
    ranges = [OffsetRange(place, start, span.ends[place]) for place, start in span.starts.items()]
    read = [read_range(messages.session, source, each) for each in ranges]
    return reduce(DataFrame.unionAll, read) if read else None


FORMAT = Format(schema="optional", decoder=_decoder)
