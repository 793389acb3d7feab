"""JSON objects as messages."""

from __future__ import annotations

from penstock.pipelines.formats.base import Format, Messages
from penstock.pipelines.row_schema import Ddl
from penstock.schemas import Schema
from penstock.spark.decoding import Decoder
from penstock.spark.failures import spark_failures
from penstock.spark.json.rows import JsonRows
from penstock.spark.json.shape import Record, shape_of_ddl, shape_of_schema


def _decoder(messages: Messages) -> Decoder:
    return JsonRows(_shape(messages.schema))


def _shape(schema: Schema | Ddl | None) -> Record:
    match schema:
        case Schema():
            return shape_of_schema(schema)
        case Ddl(text=text):
            with spark_failures("reading the DDL"):
                return shape_of_ddl(text)
        case None:
            raise AssertionError("the file is not read without a schema")


FORMAT = Format(schema="required", decoder=_decoder)
