"""Avro schemas for the columns of rows, to write rows to a topic."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import types as T  # noqa: N812 - the conventional alias

from penstock.errors import SchemaError
from penstock.schemas import Schema

_PLAIN: Mapping[type[T.DataType], Any] = {
    T.BooleanType: "boolean",
    T.ByteType: "int",
    T.ShortType: "int",
    T.IntegerType: "int",
    T.LongType: "long",
    T.FloatType: "float",
    T.DoubleType: "double",
    T.StringType: "string",
    T.BinaryType: "bytes",
    T.DateType: {"type": "int", "logicalType": "date"},
    T.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    T.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def schema_of_columns(columns: T.StructType, name: str) -> Schema:
    """Return a record schema with a nullable field for each column.

    Null is the default of each field, so fields can be added and removed.
    """
    return Schema.from_text(json.dumps(_record(columns, avro_name(name))))


def avro_name(text: str) -> str:
    """Convert a text to a valid Avro name: `shop.orders-eu` becomes `shop_orders_eu`."""
    cleaned = re.sub(r"\W", "_", text, flags=re.ASCII)
    return cleaned if cleaned and not cleaned[0].isdigit() else f"_{cleaned}"


def _record(columns: T.StructType, name: str) -> dict[str, Any]:
    for field in columns.fields:
        if not _NAME.fullmatch(field.name):
            raise SchemaError(
                f"column {field.name!r} cannot be an Avro field",
                hint="rename it in the pipeline: letters, digits and '_', not beginning with a digit",
            )
    fields = [_field(field, f"{name}_{field.name}") for field in columns.fields]
    return {"type": "record", "name": name, "fields": fields}


def _field(field: T.StructField, name: str) -> dict[str, Any]:
    return {"name": field.name, "type": ["null", _avro(field.dataType, name)], "default": None}


def _avro(data_type: T.DataType, name: str) -> Any:  # noqa: ANN401 - a schema is strings, lists and dicts
    match data_type:
        case T.StructType():
            return _record(data_type, name)
        case T.ArrayType(elementType=items):
            return {"type": "array", "items": ["null", _avro(items, name)]}
        case T.MapType(valueType=values):
            return {"type": "map", "values": ["null", _avro(values, name)]}
        case T.DecimalType():
            digits = {"precision": data_type.precision, "scale": data_type.scale}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        case _ if type(data_type) in _PLAIN:
            return _PLAIN[type(data_type)]
        case _:
            raise SchemaError(f"{data_type.simpleString()} has no form in Avro", hint="cast it in the pipeline")
