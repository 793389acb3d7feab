"""Rows from Debezium's messages: the columns of the table, and beside them what happened, where and when."""

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
    """Decodes changes, whatever form each has: JSON with or without its schema, or Avro by its writer's id.

    A change gives a row, also a truncate, whose columns are all null; one that cannot be read has a problem. Messages
    that are no changes are left out: tombstones, heartbeats, and records of transactions and logical messages.
    Those of a schema that the registry does not know are refused for a minute, and then taken for new ones again.
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
        """As the protocol says."""
        return T.StructType([*self._columns.fields, T.StructField(CDC, CDC_TYPE)])

    def decode(self, messages: DataFrame) -> DataFrame:
        """As the protocol says."""
        for number in self._unknown.forget_due():
            del self._hopeless[number]
            self._plan.drop()
        plan = self._plan.get()
        printed = messages.select("*", plan.print)
        read = printed.filter(plan.is_change).select("*", plan.shape).select("*", *plan.reads)
        made = read.select("*", *plan.parts).select("*", *plan.made)
        return made.select(*MESSAGE_COLUMNS, _SHAPE, *plan.cells, plan.problem)

    def fields(self) -> Sequence[Column]:
        """As the protocol says."""
        return self._plan.get().fields

    def learn(self, messages: DataFrame) -> None:
        """As the protocol says."""
        known = [*self._prints, *self._no_changes, *self._hopeless]
        printed = messages.select("key", "value", "offset", fingerprint(F.col("key"), F.col("value")).alias(_PRINT))
        strange = printed.filter(F.col(_PRINT).isNotNull() & ~F.col(_PRINT).isin(*known)).limit(MOST_STRANGE)
        samples = strange.groupBy(_PRINT).agg(F.min(F.struct("offset", "key", "value")).alias("first"))
        # In the order of the topic: of two types of a column, the one that came first has its name.
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
        """Where the shape is kept: with one that can be read together with it, if there is one."""
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
        """The index of the shape that a message has; null for what is hopeless or not known yet."""
        found = F.lit(None).cast("int")
        for index in range(len(self._shapes)):
            prints = [number for number, place in self._prints.items() if place == index]
            found = F.when(F.col(_PRINT).isin(*prints), index).otherwise(found)
        return found

    def _own_cells(self, shapes: Sequence[ShapeRows]) -> dict[str, Column]:
        """The values of the rows by column, whatever shape each comes from."""
        cells = {shape.index: shape.cells() for shape in shapes}
        return {field.name: _of_shape(_of_name(cells, field.name), field) for field in self._columns.fields}

    def _told(self, shapes: Sequence[ShapeRows]) -> Column:
        """What is told of the changes, in one column, which is copied as one piece from here on."""
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
    """The value by the shape that the message has, null for shapes without it."""
    found: Any = F
    for index, cell in cells.items():
        found = found.when(_is_of(index), cell)
    return found if cells else F.lit(None).cast(field.dataType)


@dataclass(frozen=True)
class _Plan:
    """The columns that decode: to tell shapes apart, read each once, take the row's image, then row and problem.

    They hold until a shape is learnt, or until a schema that the registry did not know is due to be asked for again.
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
