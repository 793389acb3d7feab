"""Shapes of a topic's messages, identified by a fingerprint of the bytes before each message's data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordUndecodable, SchemaError
from penstock.schemas import SchemaRegistry
from penstock.spark.avro.marked import AvroJson, is_whole, marked_record
from penstock.spark.debezium.columns import folded, lake_name
from penstock.spark.debezium.values import read_type, struct_of
from penstock.spark.debezium.wire import Wire, from_avro, from_connect, without_logical_types

Encoding = Literal["json", "bare", "avro"]

_HEADER: Final = 5
_WRAPPED: Final = '{"schema":'
_SPLIT: Final = ',"payload":'
_BROKEN: Final = "penstock.broken"
_CONNECTOR: Final = "io.debezium.connector."
_SOURCE: Final = struct_of(
    {
        "ts_ms": T.LongType(),
        "ts_us": T.LongType(),
        "snapshot": T.StringType(),
        "sequence": T.StringType(),
        "lsn": T.LongType(),
        "txId": T.LongType(),
        "file": T.StringType(),
        "pos": T.LongType(),
        "row": T.IntegerType(),
    }
)
_ENVELOPE: Final = ("before", "after", "source", "op", "transaction")
_TRANSACTION: Final = struct_of({"id": T.StringType(), "total_order": T.LongType()})


@dataclass(frozen=True)
class Shape:
    """Instructions to read the messages of one fingerprint.

    Without a row type, the messages are not changes, but heartbeats and the like.
    """

    encoding: Encoding
    row: Wire | None
    key: Wire | None
    source: frozenset[str] = frozenset(_SOURCE.names)
    value_schema: AvroJson = None
    key_schema: AvroJson = None
    connector: str = ""
    heads: frozenset[int] = frozenset()
    """Lengths of the schema part before the payload, for JSON in the layout that Connect writes."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the message key."""
        return tuple(lake_name(wire.column_name(name)) for name, wire in self.key.fields) if self.key else ()

    def joined(self, other: Shape) -> Shape | None:
        """Return a shape that reads the messages of both shapes, or None.

        JSON is read by name, so shapes with compatible common columns can be joined. Frequent schema changes then do
        not make queries more expensive to plan. The shape of truncates, which have no key, can be joined to a shape
        with a key. If a column had several names that are equal in the lake, the shapes stay separate, each with its
        own name.
        """
        if other in (self, replace(self, key=None, key_schema=None)):
            return self
        if self.encoding == "avro" or other.key not in (self.key, None) or bool(self.heads) != bool(other.heads):
            return None
        if self.row is None or other.row is None:
            return None
        mine, others = dict(self.row.fields), dict(other.row.fields)
        as_joined = replace(other, row=self.row, key=self.key, heads=self.heads)
        if as_joined != self or any(mine.get(name, wire) != wire for name, wire in others.items()):
            return None
        fields = {**mine, **others}
        if len({folded(wire.column_name(name)) for name, wire in fields.items()}) < len(fields):
            return None
        row = replace(self.row, fields=tuple(fields.items()))
        return replace(self, row=row, heads=self.heads | other.heads)

    def read(self, value: Column) -> Column:
        """Return the parsed message value."""
        if self.encoding == "avro":
            return marked_record(value, _HEADER, self.value_schema, only_wanted(self.value_schema))
        return F.from_json(self._text(value), self._json_type(), {"columnNameOfCorruptRecord": _BROKEN})

    def is_damaged(self, read: Column) -> Column:
        """Whether the result of `read` is incomplete."""
        if self.encoding == "avro":
            return ~F.coalesce(is_whole(read), F.lit(False))
        return read.getField(_BROKEN).isNotNull() | self.part(read, "op").isNull()

    def part(self, read: Column, name: str) -> Column:
        """Return a field of the envelope."""
        root = "row" if self.encoding == "avro" else "payload" if self._is_wrapped else None
        return (read.getField(root) if root else read).getField(name)

    def source_part(self, source: Column, name: str) -> Column:
        """Return a field of the envelope's source, null if this kind of database does not have the field."""
        if name not in self.source:
            return F.lit(None).cast(_SOURCE[name].dataType)
        return source.getField(name).cast(_SOURCE[name].dataType)

    def key_part(self, key: Column, name: str) -> Column:
        """Return a field of the message key."""
        if self.encoding == "avro":
            return marked_record(key, _HEADER, self.key_schema, self.key_schema).getField("row").getField(name)
        fields = [T.StructField(each, read_type(wire)) for each, wire in (self.key or Wire("struct")).fields]
        wrapped = [T.StructField("payload", T.StructType(fields))]
        read = F.from_json(key.cast("string"), T.StructType(fields if self.encoding == "bare" else wrapped))
        return (read if self.encoding == "bare" else read.getField("payload")).getField(name)

    def _json_type(self) -> T.StructType:
        row = read_type(self.row or Wire("struct"))
        envelope = [
            T.StructField("before", row),
            T.StructField("after", row),
            T.StructField("source", _SOURCE),
            T.StructField("op", T.StringType()),
            T.StructField("transaction", _TRANSACTION),
        ]
        broken = T.StructField(_BROKEN, T.StringType())
        if self._is_wrapped:
            return T.StructType([T.StructField("payload", T.StructType(envelope)), broken])
        return T.StructType([*envelope, broken])

    @property
    def _is_wrapped(self) -> bool:
        return self.encoding == "json" and not self.heads

    def _text(self, value: Column) -> Column:
        """Return the JSON to parse, without the schema part, which is known and much longer than the payload."""
        if not self.heads:
            return value.cast("string")
        head = _length_of_head(value, sorted(self.heads))
        return F.substring(value, head + 1, F.octet_length(value) - head - 1).cast("string")


def _length_of_head(value: Column, heads: list[int]) -> Column:
    """Return the length of the message's schema part: the first length followed by the payload."""
    split, last = F.lit(bytearray(_SPLIT.encode())), F.lit(heads[-1])
    found = (F.when(F.substring(value, head - len(_SPLIT) + 1, len(_SPLIT)) == split, head) for head in heads[:-1])
    return F.coalesce(*found, last)


def fingerprint(key: Column, value: Column) -> Column:
    """Return a number shared by messages of one shape, or null for a message without a value."""
    is_avro = F.substring(value, 1, 1) == F.lit(bytearray(b"\x00"))
    by_ids = F.xxhash64(F.substring(value, 1, _HEADER), F.substring(key, 1, _HEADER))
    text = F.concat_ws("\n", _head(value, _bare_kind), _head(key, F.json_object_keys))
    return F.when(value.isNotNull(), F.when(is_avro, by_ids).otherwise(F.xxhash64(text)))


def _head(part: Column, bare: Callable[[Column], Column]) -> Column:
    """Return the schema part of a JSON message, or the distinguishing features of a message without schema."""
    text = part.cast("string")
    is_wrapped = F.startswith(text, F.lit(_WRAPPED)) & F.contains(text, F.lit(_SPLIT))
    return F.when(is_wrapped, F.substring_index(text, _SPLIT, 1)).otherwise(F.to_json(bare(text)))


def _bare_kind(text: Column) -> Column:
    """Return whether the text has an `op`, and whether the `op` is `m`.

    Quotes inside strings are escaped, so only fields match.
    """
    return F.array(F.contains(text, F.lit('"op":"')), F.contains(text, F.lit('"op":"m"')))


@dataclass(frozen=True)
class ShapeReader:
    """Determines the shape of a message from the message, the registry, or the given columns."""

    registry: SchemaRegistry
    columns: T.StructType | None = None

    def shape(self, key: bytes | None, value: bytes) -> Shape:
        """Return the shape of a message. Raise RecordUndecodable or another Terminal error if there is none."""
        if value.startswith(b"\x00"):
            return self._avro(key, value)
        data, key_data = _parsed(value), _parsed(key) if key else None
        if set(data) >= {"schema", "payload"} and isinstance(data["schema"], dict):
            envelope = from_connect(data["schema"])
            key_wire = from_connect(key_data["schema"]) if key_data and key_data.get("schema") else None
            return Shape("json", _row(envelope), key_wire, connector=_connector(envelope), heads=_heads(value))
        return self._bare(data, key_data)

    def _avro(self, key: bytes | None, value: bytes) -> Shape:
        schema = self._schema(value)
        envelope = from_avro(schema)
        key_schema = self._schema(key) if key else None
        source = envelope.get("source")
        return Shape(
            "avro",
            _row(envelope),
            from_avro(key_schema) if key_schema else None,
            frozenset(name for name, _ in source.fields) if source else frozenset(),
            without_logical_types(schema),
            without_logical_types(key_schema),
            _connector(envelope),
        )

    def _schema(self, message: bytes) -> AvroJson:
        if len(message) < _HEADER:
            raise RecordUndecodable("the message is too short to carry a schema id")
        return json.loads(self.registry.by_id(int.from_bytes(message[1:_HEADER], "big")).text)

    def _bare(self, data: Mapping[str, Any], key: Mapping[str, Any] | None) -> Shape:
        if not {"op", "source"} <= set(data) or data["op"] == "m":
            if {"ts_ms", "status", "op"} & set(data):
                return Shape("bare", None, None)
            raise RecordUndecodable("the message is no change of Debezium: it has no op and no source")
        if self.columns is None:
            raise SchemaError(
                "the message has no schema part, and no columns are given",
                hint="name them with `schema:` in the source, or let the connector send schemas",
            )
        row = Wire("struct", fields=tuple(_given(self.columns)))
        wires = dict(row.fields)
        key_row = Wire("struct", fields=tuple((name, wires[name]) for name in key or () if name in wires))
        return Shape("bare", row, key_row, connector=str(data["source"].get("connector", "")))


def _heads(value: bytes) -> frozenset[int]:
    """Return the length of the part before the payload; empty if the message differs from Connect's layout."""
    before, split, _ = value.partition(_SPLIT.encode())
    return frozenset([len(before) + len(split)] if value.startswith(_WRAPPED.encode()) and split else [])


def _parsed(message: bytes) -> dict[str, Any]:
    try:
        data = json.loads(message)
    except ValueError as error:
        raise RecordUndecodable(f"the message is neither JSON nor Avro with a schema id: {error}") from error
    if not isinstance(data, dict):
        raise RecordUndecodable("the message is no JSON object")
    return data


def _row(envelope: Wire) -> Wire | None:
    """Return the row type of an envelope, or None for other messages."""
    return (envelope.get("after") or envelope.get("before")) if envelope.get("op") else None


def _connector(envelope: Wire) -> str:
    """Return the kind of database, from the source's type name: `io.debezium.connector.postgresql.Source`."""
    source = envelope.get("source")
    return source.name.removeprefix(_CONNECTOR).partition(".")[0] if source else ""


def only_wanted(envelope: Mapping[str, Any]) -> AvroJson:
    """Return an envelope's schema without unused fields, so that Avro skips them."""
    fields = [_of_source(field) if field["name"] == "source" else field for field in envelope["fields"]]
    return {**envelope, "fields": [field for field in fields if field["name"] in _ENVELOPE]}


def _of_source(field: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = field["type"]
    if not isinstance(kind, dict) or "fields" not in kind:
        return field
    wanted = [each for each in kind["fields"] if each["name"] in _SOURCE.names]
    return {**field, "type": {**kind, "fields": wanted}}


def _given(columns: T.StructType) -> Iterator[tuple[str, Wire]]:
    """Yield columns given as DDL, in the wire types of a connector with Penstock's settings."""
    for field in columns.fields:
        yield field.name, _given_type(field.dataType)


def _given_type(kind: T.DataType) -> Wire:
    match kind:
        case T.DecimalType():
            digits = {"length": str(kind.precision), "scale": str(kind.scale), "type": "NUMERIC"}
            return Wire("string", parameters={f"__debezium.source.column.{key}": text for key, text in digits.items()})
        case T.ArrayType():
            return Wire("array", items=_given_type(kind.elementType))
        case T.MapType():
            return Wire("map", items=_given_type(kind.valueType))
        case T.StructType():
            return Wire("struct", fields=tuple(_given(kind)))
        case _ if kind in _GIVEN:
            return _GIVEN[kind]
        case _:
            raise SchemaError(f"{kind.simpleString()} is no type of a captured column", hint="use string instead")


_GIVEN: Mapping[T.DataType, Wire] = {
    T.ByteType(): Wire("int8"),
    T.ShortType(): Wire("int16"),
    T.IntegerType(): Wire("int32"),
    T.LongType(): Wire("int64"),
    T.FloatType(): Wire("float"),
    T.DoubleType(): Wire("double"),
    T.BooleanType(): Wire("boolean"),
    T.StringType(): Wire("string"),
    T.BinaryType(): Wire("bytes"),
    T.DateType(): Wire("int32", "io.debezium.time.Date"),
    T.TimestampType(): Wire("string", "io.debezium.time.ZonedTimestamp"),
    T.TimestampNTZType(): Wire("int64", "io.debezium.time.MicroTimestamp"),
}
