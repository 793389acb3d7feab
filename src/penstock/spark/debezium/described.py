"""The columns of a captured table as the database has them, told by the shape of its messages."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.events.schema_change import TableField, TableSchema
from penstock.spark.debezium.shapes import Shape
from penstock.spark.debezium.values import meaning
from penstock.spark.debezium.wire import Wire


def table_schema(table: str, shape: Shape) -> TableSchema | None:
    """The schema of a table; None if the messages are no changes."""
    return TableSchema(shape.connector, table, tuple(_fields(shape.row))) if shape.row else None


def _fields(row: Wire) -> Iterator[TableField]:
    for name, wire in row.fields:
        yield TableField(wire.column_name(name), _type(wire), wire.optional)


def _type(wire: Wire) -> str:
    """The type's name in the database, or that in the lake where the messages do not tell."""
    if not wire.source_type:
        return meaning(wire).type.simpleString()
    digits = f"({wire.digits[0]},{wire.digits[1]})" if wire.digits else ""
    return f"{wire.source_type.lower()}{digits}{'[]' if wire.kind == 'array' else ''}"
