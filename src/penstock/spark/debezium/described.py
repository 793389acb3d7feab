"""Schema of a captured table in the database, derived from the shape of its messages."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.events.schema_change import TableField, TableSchema
from penstock.spark.debezium.shapes import Shape
from penstock.spark.debezium.values import meaning
from penstock.spark.debezium.wire import Wire


def table_schema(table: str, shape: Shape) -> TableSchema | None:
    """Return the schema of a table, or None if the messages are not changes."""
    return TableSchema(shape.connector, table, tuple(_fields(shape.row))) if shape.row else None


def _fields(row: Wire) -> Iterator[TableField]:
    for name, wire in row.fields:
        yield TableField(wire.column_name(name), _type(wire), wire.optional)


def _type(wire: Wire) -> str:
    """Return the type's name in the database, or the lake type if the messages do not contain the name."""
    if not wire.source_type:
        return meaning(wire).type.simpleString()
    digits = f"({wire.digits[0]},{wire.digits[1]})" if wire.digits else ""
    return f"{wire.source_type.lower()}{digits}{'[]' if wire.kind == 'array' else ''}"
