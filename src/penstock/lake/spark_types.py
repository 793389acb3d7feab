"""Conversion of Spark's types in table notes to Arrow types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

_PLAIN: Mapping[str, Callable[[], pa.DataType]] = {
    "string": pa.string,
    "boolean": pa.bool_,
    "byte": pa.int8,
    "short": pa.int16,
    "integer": pa.int32,
    "long": pa.int64,
    "float": pa.float32,
    "double": pa.float64,
    "binary": pa.binary,
    "date": pa.date32,
    "timestamp": lambda: pa.timestamp("us", "UTC"),
    "timestamp_ntz": lambda: pa.timestamp("us"),
    "void": pa.null,
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def arrow_schema(struct: Mapping[str, Any]) -> pa.Schema:
    """Convert the JSON of Spark's StructType to an Arrow schema. Raise KeyError for an unknown type."""
    return pa.schema([pa.field(field["name"], _type(field["type"])) for field in struct["fields"]])


def _type(spark: str | Mapping[str, Any]) -> pa.DataType:
    if isinstance(spark, str):
        decimal = _DECIMAL.fullmatch(spark)
        return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _PLAIN[spark]()
    match spark["type"]:
        case "struct":
            return pa.struct(list(arrow_schema(spark)))
        case "array":
            return pa.list_(_type(spark["elementType"]))
        case "map":
            return pa.map_(_type(spark["keyType"]), _type(spark["valueType"]))
        case other:
            raise KeyError(other)
