"""Shapes of JSON messages: a tree built from an Avro schema or Spark types, with the matching Spark types.

`read_type` is the type requested from Spark's parser, `row_type` the type of the resulting rows. The types differ where
JSON has no native form (bytes, dates, times): the parser reads text, which is then converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import types as T  # noqa: N812 - the conventional alias

from penstock.errors import SchemaError
from penstock.schemas import Schema
from penstock.schemas.avro.model import (
    MISSING,
    ArrayType,
    EnumType,
    Field,
    FixedType,
    MapType,
    Missing,
    Primitive,
    RecordType,
    Type,
    UnionType,
    is_recursive,
    type_name,
)
from penstock.schemas.avro.sizes import require_columns


@dataclass(frozen=True)
class Leaf:
    """Single value: its name in messages, its Spark type, and the conversion if the value is read as text."""

    name: str
    type: T.DataType
    reading: str = ""
    symbols: tuple[str, ...] = ()

    @property
    def read_type(self) -> T.DataType:
        """The type requested from Spark's parser."""
        if is_decimal(self):
            return T.VariantType()
        return T.StringType() if self.reading else self.type


@dataclass(frozen=True)
class Items:
    """JSON array."""

    items: Shape
    nullable: bool = True


@dataclass(frozen=True)
class Entries:
    """JSON object with arbitrary keys and values of one shape."""

    values: Shape
    nullable: bool = True


@dataclass(frozen=True)
class Member:
    """Field of a record. A required field must be present and not null."""

    name: str
    shape: Shape
    required: bool
    default: object = MISSING


@dataclass(frozen=True)
class Record:
    """JSON object with named fields."""

    members: tuple[Member, ...] = field(default=())


Shape = Leaf | Items | Entries | Record

TEXT: Final = Leaf("string", T.StringType())

_PRIMITIVES: Mapping[str, Leaf] = {
    "boolean": Leaf("boolean", T.BooleanType()),
    "int": Leaf("int", T.IntegerType()),
    "long": Leaf("long", T.LongType()),
    "float": Leaf("float", T.FloatType()),
    "double": Leaf("double", T.DoubleType()),
    "bytes": Leaf("bytes", T.BinaryType(), "bytes"),
    "string": TEXT,
}
_LOGICAL: Mapping[str, Leaf] = {
    "date": Leaf("date", T.DateType(), "date"),
    "timestamp-millis": Leaf("timestamp", T.TimestampType(), "timestamp-millis"),
    "timestamp-micros": Leaf("timestamp", T.TimestampType(), "timestamp-micros"),
    "local-timestamp-millis": Leaf("local timestamp", T.TimestampNTZType(), "local-timestamp-millis"),
    "local-timestamp-micros": Leaf("local timestamp", T.TimestampNTZType(), "local-timestamp-micros"),
    "time-millis": Leaf("int", T.IntegerType()),
    "time-micros": Leaf("long", T.LongType()),
    "uuid": TEXT,
}
_SPARK: Mapping[type[T.DataType], Leaf] = {
    T.StringType: TEXT,
    T.BooleanType: _PRIMITIVES["boolean"],
    T.ByteType: Leaf("tinyint", T.ByteType()),
    T.ShortType: Leaf("smallint", T.ShortType()),
    T.IntegerType: _PRIMITIVES["int"],
    T.LongType: _PRIMITIVES["long"],
    T.FloatType: _PRIMITIVES["float"],
    T.DoubleType: _PRIMITIVES["double"],
    T.BinaryType: _PRIMITIVES["bytes"],
    T.DateType: _LOGICAL["date"],
    T.TimestampType: _LOGICAL["timestamp-millis"],
    T.TimestampNTZType: _LOGICAL["local-timestamp-millis"],
}


def shape_of_schema(schema: Schema) -> Record:
    """Return the shape of an Avro schema's records. Raise SchemaError if records cannot become rows."""
    if not isinstance(schema.type, RecordType):
        raise SchemaError(f"the schema is of type {type_name(schema.type)}, not a record", hint="rows need a record")
    if is_recursive(schema.type):
        raise SchemaError(
            f"the schema {schema.name} holds itself, so its rows would have no end", hint="use format: raw"
        )
    require_columns(schema.type)
    return _record(schema.type)


def shape_of_ddl(ddl: str) -> Record:
    """Return the shape of Spark DDL, such as `id BIGINT NOT NULL, name STRING`."""
    struct = T.DataType.fromDDL(ddl)
    if not isinstance(struct, T.StructType):
        raise SchemaError(f"{ddl!r} names no columns", hint="write a name and a type for each: id BIGINT, name STRING")
    return shape_of_struct(struct)


def shape_of_struct(struct: T.StructType) -> Record:
    """Return the shape of a Spark struct. NOT NULL columns are required."""
    return Record(tuple(Member(item.name, _of_spark(item.dataType), not item.nullable) for item in struct.fields))


def read_type(shape: Shape) -> T.DataType:
    """Return the type requested from Spark's JSON parser."""
    return _spark_type(shape, lambda leaf: leaf.read_type)


def row_type(shape: Record) -> T.StructType:
    """Return the type of the resulting rows."""
    found = _spark_type(shape, lambda leaf: leaf.type)
    assert isinstance(found, T.StructType)  # noqa: S101 - a record's type is a struct
    return found


def is_decimal(shape: Shape) -> bool:
    """Whether a shape is a decimal."""
    return isinstance(shape, Leaf) and shape.reading == "decimal"


def has_decimals(shape: Shape) -> bool:
    """Whether any part of the shape is a decimal."""
    match shape:
        case Leaf():
            return is_decimal(shape)
        case Items(items=inner) | Entries(values=inner):
            return has_decimals(inner)
        case Record(members=members):
            return any(has_decimals(member.shape) for member in members)


def has_readings(shape: Shape) -> bool:
    """Whether any part of the shape is converted after parsing, or has a default."""
    match shape:
        case Leaf(reading=reading):
            return bool(reading)
        case Items(items=inner) | Entries(values=inner):
            return has_readings(inner)
        case Record(members=members):
            return any(has_readings(member.shape) or member.default is not MISSING for member in members)


def _spark_type(shape: Shape, leaf_type: Callable[[Leaf], T.DataType]) -> T.DataType:
    match shape:
        case Leaf():
            return leaf_type(shape)
        case Items(items=items):
            return T.ArrayType(_spark_type(items, leaf_type))
        case Entries(values=values):
            return T.MapType(T.StringType(), _spark_type(values, leaf_type))
        case Record(members=members):
            return T.StructType([T.StructField(each.name, _spark_type(each.shape, leaf_type)) for each in members])


def _of_spark(spark_type: T.DataType) -> Shape:
    match spark_type:
        case T.StructType():
            return shape_of_struct(spark_type)
        case T.ArrayType(elementType=items, containsNull=nullable):
            return Items(_of_spark(items), nullable)
        case T.MapType(valueType=values, valueContainsNull=nullable):
            return Entries(_of_spark(values), nullable)
        case T.DecimalType():
            return Leaf("decimal", spark_type, "decimal")
        case _ if type(spark_type) in _SPARK:
            return _SPARK[type(spark_type)]
        case _:
            raise SchemaError(f"{spark_type.simpleString()} has no form in JSON", hint="read it as STRING")


def _record(record: RecordType) -> Record:
    return Record(tuple(_member(item) for item in record.fields))


def _member(item: Field) -> Member:
    shape, nullable = _of_avro(item.type, item.name)
    default = _default(item.default, shape) if item.default is not None else Missing.MISSING
    return Member(item.name, shape, required=not nullable and default is MISSING, default=default)


def _default(value: object, shape: Shape) -> object:
    """Return a default in JSON form. Avro stores a decimal's default as the bytes of the unscaled number."""
    match shape, value:
        case Leaf(type=T.DecimalType() as kind), str():
            return f"{int.from_bytes(value.encode('latin-1'), 'big', signed=True)}e-{kind.scale}"
        case Items(items=inner), list():
            return [_default(item, inner) for item in value]
        case Entries(values=inner), dict():
            return {key: _default(item, inner) for key, item in value.items()}
        case Record(members=members), dict():
            return {each.name: _default(value[each.name], each.shape) for each in members if each.name in value}
        case _:
            return value


def _of_avro(avro_type: Type, name: str) -> tuple[Shape, bool]:
    """Return the shape, and whether null is allowed."""
    match avro_type:
        case UnionType(branches=branches):
            return _union(branches, name)
        case RecordType():
            return _record(avro_type), False
        case ArrayType(items=items):
            return Items(*_of_avro(items, name)), False
        case MapType(values=values):
            return Entries(*_of_avro(values, name)), False
        case EnumType(symbols=symbols):
            return Leaf("string", T.StringType(), symbols=symbols), False
        case FixedType() | Primitive():
            return _leaf(avro_type, name), False


def _union(branches: tuple[Type, ...], name: str) -> tuple[Shape, bool]:
    others = [branch for branch in branches if type_name(branch) != "null"]
    if len(others) != 1:
        names = ", ".join(type_name(branch) for branch in branches)
        raise SchemaError(f"field {name} is a union of {names}: a column has one type", hint="leave null and one type")
    return _of_avro(others[0], name)[0], len(others) < len(branches)


def _leaf(avro_type: FixedType | Primitive, name: str) -> Leaf:
    logical = avro_type.logical
    if logical is not None and logical.name == "decimal":
        return Leaf("decimal", T.DecimalType(logical.precision, logical.scale), "decimal")
    if logical is not None and logical.name in _LOGICAL:
        return _LOGICAL[logical.name]
    base = "bytes" if isinstance(avro_type, FixedType) else avro_type.name
    if base not in _PRIMITIVES:
        raise SchemaError(f"field {name} is always null", hint="give it a type")
    return _PRIMITIVES[base]
