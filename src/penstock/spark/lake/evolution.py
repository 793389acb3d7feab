"""Schema evolution of a table: a pure decision, and the conversion of rows to the table's columns.

New columns are added, also within structs. A column missing from the rows becomes null. A narrower number is written as
the table's wider type. Any other change of type is rejected with the reason: no reader could read the old and the new
files together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import SchemaIncompatible
from penstock.spark.decoding import quoted

_WIDER: Mapping[type[T.DataType], tuple[type[T.DataType], ...]] = {
    T.ByteType: (T.ShortType, T.IntegerType, T.LongType),
    T.ShortType: (T.IntegerType, T.LongType),
    T.IntegerType: (T.LongType, T.DoubleType),
    T.FloatType: (T.DoubleType,),
}


def evolved(table: T.StructType, rows: T.StructType, name: str) -> T.StructType:
    """Return the table's columns after rows of this schema are added. Raise SchemaIncompatible with all reasons."""
    reasons = list(_reasons(table, rows, ""))
    if reasons:
        raise SchemaIncompatible(
            f"table {name} cannot take these rows: {'; '.join(reasons)}",
            hint="cast the column in the pipeline to the table's type, or write to a new table",
            reasons=reasons,
        )
    return _merged(table, rows)


def conformed(rows: DataFrame, table: T.StructType) -> DataFrame:
    """Return the rows with exactly the table's columns, order and types."""
    have = {field.name: field.dataType for field in rows.schema.fields}
    return rows.select(
        *(
            _conformed(F.col(quoted(field.name)), have.get(field.name), field.dataType).alias(field.name)
            for field in table
        )
    )


def _reasons(table: T.StructType, rows: T.StructType, path: str) -> Iterator[str]:
    known = {field.name: field for field in table.fields}
    folded = {field.name.lower(): field.name for field in table.fields}
    for field in rows.fields:
        place = f"{path}{field.name}"
        if field.name in known:
            yield from _type_reasons(known[field.name].dataType, field.dataType, place)
        elif field.name.lower() in folded:
            yield f"column {place} differs from {path}{folded[field.name.lower()]} only by case"
        elif isinstance(field.dataType, T.NullType):
            yield f"column {place} is always null, so it has no type"


def _type_reasons(table: T.DataType, rows: T.DataType, place: str) -> Iterator[str]:
    match table, rows:
        case T.StructType(), T.StructType():
            yield from _reasons(table, rows, f"{place}.")
        case T.ArrayType(), T.ArrayType():
            yield from _type_reasons(table.elementType, rows.elementType, f"{place}[]")
        case T.MapType(), T.MapType():
            yield from _type_reasons(table.keyType, rows.keyType, f"{place} key")
            yield from _type_reasons(table.valueType, rows.valueType, f"{place}[]")
        case _ if not _takes(table, rows):
            yield f"column {place} is {table.simpleString()} in the table's files and {rows.simpleString()} in the rows"


def _takes(table: T.DataType, rows: T.DataType) -> bool:
    """Whether the table's type contains every value of the rows' type."""
    match table, rows:
        case T.DecimalType(), T.DecimalType():
            whole = table.precision - table.scale >= rows.precision - rows.scale
            return whole and table.scale >= rows.scale
        case _, T.NullType():
            return True
        case _:
            return type(table) is type(rows) or type(table) in _WIDER.get(type(rows), ())


def _merged(table: T.StructType, rows: T.StructType) -> T.StructType:
    incoming = {field.name: field.dataType for field in rows.fields}
    known = [
        T.StructField(field.name, _merged_type(field.dataType, incoming.get(field.name))) for field in table.fields
    ]
    names = {field.name for field in table.fields}
    added = [T.StructField(field.name, nullable(field.dataType)) for field in rows.fields if field.name not in names]
    return T.StructType(known + added)


def _merged_type(table: T.DataType, rows: T.DataType | None) -> T.DataType:
    match table, rows:
        case T.StructType(), T.StructType():
            return _merged(table, rows)
        case T.ArrayType(), T.ArrayType():
            return T.ArrayType(_merged_type(table.elementType, rows.elementType))
        case T.MapType(), T.MapType():
            return T.MapType(table.keyType, _merged_type(table.valueType, rows.valueType))
        case _:
            return table


def nullable(data_type: T.DataType) -> T.DataType:
    """Return the type with every field nullable: a field required today may be missing tomorrow."""
    match data_type:
        case T.StructType():
            return T.StructType([T.StructField(field.name, nullable(field.dataType)) for field in data_type.fields])
        case T.ArrayType():
            return T.ArrayType(nullable(data_type.elementType))
        case T.MapType():
            return T.MapType(data_type.keyType, nullable(data_type.valueType))
        case _:
            return data_type


def _conformed(column: Column, have: T.DataType | None, want: T.DataType) -> Column:
    match have, want:
        case None, _:
            return F.lit(None).cast(want)
        case _ if nullable(have) == want:
            return column
        case T.StructType(), T.StructType():
            types = {field.name: field.dataType for field in have.fields}
            fields = [
                _conformed(column.getField(each.name), types.get(each.name), each.dataType).alias(each.name)
                for each in want.fields
            ]
            return F.when(column.isNotNull(), F.struct(*fields))
        case T.ArrayType(elementType=inner), T.ArrayType(elementType=wanted):
            return F.transform(column, lambda item: _conformed(item, inner, wanted))
        case T.MapType(valueType=inner), T.MapType(valueType=wanted):
            return F.transform_values(column, lambda _key, item: _conformed(item, inner, wanted))
        case _:
            return column.cast(want)
