"""Rows from Debezium messages: the table's columns plus `_cdc` with operation, position and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordUndecodable, SchemaError, SchemaNotFound, Terminal
from penstock.schemas import SchemaRegistry
from penstock.spark.debezium.columns import spelled, united
from penstock.spark.debezium.shape_rows import CDC, CDC_TYPE, ShapeRows
from penstock.spark.debezium.shapes import Shape, ShapeReader, fingerprint
from penstock.spark.debezium.values import PLACEHOLDER
from penstock.spark.decoding import MESSAGE_COLUMNS, MOST_STRANGE, PROBLEM, problem, quoted
from penstock.spark.failures import UNKNOWN_SCHEMA
from penstock.spark.learnt import Cached, Unknown

_PRINT: Final = "_print"
_SHAPE: Final = "_shape"
_TOLD: Final = "_told"
_MOST_SHAPES: Final = 1_000


class DebeziumRows:
    """Decoder for changes in any form: JSON with or without schema, or Avro with the writer's schema id.

    Every change becomes a row. A truncate has null in all columns, and an unreadable message has a problem. Messages
    without changes are dropped: tombstones, heartbeats, transaction records and logical messages. Messages with a
    schema missing from the registry are rejected for a minute; then the registry is asked again.
    """

    def __init__(
        self, registry: SchemaRegistry, *, columns: T.StructType | None = None, placeholder: str = PLACEHOLDER
    ) -> None:
        self._reader = ShapeReader(registry, columns)
        self._placeholder = placeholder
        self._shapes: list[Shape] = []
        self._columns = T.StructType([])
        self._keys: frozenset[str] = frozenset()
        self._prints: dict[int, int] = {}
        self._no_changes: set[int] = set()
        self._hopeless: dict[int, Terminal] = {}
        self._unknown: Unknown[int] = Unknown()
        self._plan = Cached(self._make_plan)

    @property
    def schema(self) -> T.StructType:
        """The columns learned so far, and `_cdc`."""
        return T.StructType([*self._columns.fields, T.StructField(CDC, CDC_TYPE)])

    def decode(self, messages: DataFrame) -> DataFrame:
        """Return the messages with their problem and the decoded cells."""
        for number in self._unknown.forget_due():
            del self._hopeless[number]
            self._plan.drop()
        plan = self._plan.get()
        printed = messages.select("*", plan.print)
        read = printed.filter(plan.is_change).select("*", plan.shape).select("*", *plan.reads)
        made = read.select("*", *plan.parts).select("*", *plan.made)
        return made.select(*MESSAGE_COLUMNS, _SHAPE, *plan.cells, plan.problem)

    def fields(self) -> Sequence[Column]:
        """Return the expressions that take the row's columns from the result of `decode`."""
        return self._plan.get().fields

    def learn(self, messages: DataFrame) -> None:
        """Learn the shapes of messages with new fingerprints, and add their columns."""
        known = [*self._prints, *self._no_changes, *self._hopeless]
        printed = messages.select("key", "value", "offset", fingerprint(F.col("key"), F.col("value")).alias(_PRINT))
        strange = printed.filter(F.col(_PRINT).isNotNull() & ~F.col(_PRINT).isin(*known)).limit(MOST_STRANGE)
        samples = strange.groupBy(_PRINT).agg(F.min(F.struct("offset", "key", "value")).alias("first"))
        # Learn in topic order: among several types of a column, the first type gets the plain name.
        for number, (_, key, value) in samples.orderBy("first").limit(_MOST_SHAPES).collect():
            self._learn(number, bytes(key) if key is not None else None, bytes(value))
        if len(self._hopeless) > _MOST_SHAPES:
            raise RecordUndecodable("very many messages are no changes of Debezium", hint="is the topic Debezium's?")

    def _learn(self, number: int, key: bytes | None, value: bytes) -> None:
        self._plan.drop()
        try:
            shape = self._reader.shape(key, value)
            columns = ShapeRows(shape, 0, self._placeholder).columns()
        except (RecordUndecodable, SchemaError) as error:
            self._hopeless[number] = error
            if isinstance(error, SchemaNotFound):
                self._unknown.note([number])
            return
        if shape.row is None:
            self._no_changes.add(number)
        else:
            self._prints[number] = self._place(shape)
            self._keys |= {spelled(self._columns.names, key) for key in shape.keys}
            self._columns = united([self._columns, columns], self._keys)

    def _place(self, shape: Shape) -> int:
        """Store a shape, joined with a known shape if both can be read together. Return the index."""
        for index, known in enumerate(self._shapes):
            if both := known.joined(shape):
                self._shapes[index] = both
                return index
        self._shapes.append(shape)
        return len(self._shapes) - 1

    def _rows(self) -> list[ShapeRows]:
        known = {field.name: field.dataType for field in self._columns.fields}
        return [
            ShapeRows(shape, index, self._placeholder, known, self._keys) for index, shape in enumerate(self._shapes)
        ]

    def _make_plan(self) -> _Plan:
        shapes = self._rows()
        own = self._own_cells(shapes)
        return _Plan(
            fingerprint(F.col("key"), F.col("value")).alias(_PRINT),
            F.col(_PRINT).isNotNull() & ~F.col(_PRINT).isin(*self._no_changes),
            self._shape_of_print().alias(_SHAPE),
            [shape.read(_is_of(shape.index)) for shape in shapes],
            [column for shape in shapes for column in shape.parts()],
            [column for shape in shapes for column in shape.made()],
            [*(column.alias(_cell(name)) for name, column in own.items()), self._told(shapes).alias(_TOLD)],
            self._problem(shapes).alias(PROBLEM),
            [*(F.col(quoted(_cell(name))).alias(name) for name in own), F.col(_TOLD).alias(CDC)],
        )

    def _shape_of_print(self) -> Column:
        """Return the index of a message's shape, or null for unreadable and unknown messages."""
        found = F.lit(None).cast("int")
        for index in range(len(self._shapes)):
            prints = [number for number, place in self._prints.items() if place == index]
            found = F.when(F.col(_PRINT).isin(*prints), index).otherwise(found)
        return found

    def _own_cells(self, shapes: Sequence[ShapeRows]) -> dict[str, Column]:
        """Return the values of the rows by column, from messages of any shape."""
        cells = {shape.index: shape.cells() for shape in shapes}
        return {field.name: _of_shape(_of_name(cells, field.name), field) for field in self._columns.fields}

    def _told(self, shapes: Sequence[ShapeRows]) -> Column:
        """Return the change metadata as a single column, so that later steps copy one value."""
        told = {shape.index: shape.told() for shape in shapes}
        cells = (_of_shape(_of_name(told, field.name), field).alias(field.name) for field in CDC_TYPE.fields)
        return F.struct(*cells)

    def _problem(self, shapes: Sequence[ShapeRows]) -> Column:
        found = F.raise_error(F.lit(f"{UNKNOWN_SCHEMA} of Debezium"))
        for number, error in self._hopeless.items():
            found = F.when(F.col(_PRINT) == number, problem(error.code, F.lit(error.message))).otherwise(found)
        for shape in shapes:
            found = F.when(_is_of(shape.index), shape.problem()).otherwise(found)
        return found


def _cell(name: str) -> str:
    return f"_cell_{name}"


def _is_of(index: int) -> Column:
    return F.col(_SHAPE) == index


def _of_name(cells: Mapping[int, Mapping[str, Column]], name: str) -> dict[int, Column]:
    return {index: found[name] for index, found in cells.items() if name in found}


def _of_shape(cells: Mapping[int, Column], field: T.StructField) -> Column:
    """Return the value for the message's shape, null for shapes without the column."""
    found: Any = F
    for index, cell in cells.items():
        found = found.when(_is_of(index), cell)
    return found if cells else F.lit(None).cast(field.dataType)


@dataclass(frozen=True)
class _Plan:
    """Column expressions of the decoder: distinguish shapes, parse once, extract the image, build row and problem.

    A plan is valid until a shape is learned, or until a schema missing from the registry is due for a retry.
    """

    print: Column
    is_change: Column
    shape: Column
    reads: Sequence[Column]
    parts: Sequence[Column]
    made: Sequence[Column]
    cells: Sequence[Column]
    problem: Column
    fields: Sequence[Column]
