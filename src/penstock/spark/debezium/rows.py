"""Rows from Debezium's messages: the columns of the table, and beside them what happened, where and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordUndecodable, SchemaError, SchemaNotFound, Terminal
from penstock.schemas import SchemaRegistry
from penstock.spark.debezium.columns import united
from penstock.spark.debezium.shape_rows import CDC, CDC_TYPE, ShapeRows
from penstock.spark.debezium.shapes import Shape, ShapeReader, fingerprint
from penstock.spark.debezium.values import PLACEHOLDER
from penstock.spark.decoding import MESSAGE_COLUMNS, MOST_STRANGE, PARSED, PROBLEM, problem
from penstock.spark.failures import UNKNOWN_SCHEMA
from penstock.spark.learnt import Cached, Unknown

_PRINT: Final = "_print"
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
        read = printed.filter(plan.is_change).select("*", *plan.reads)
        return read.select("*", *plan.images).select(*MESSAGE_COLUMNS, plan.parsed, plan.problem)

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
            self._columns = united([self._columns, columns])

    def _place(self, shape: Shape) -> int:
        """Where the shape is kept: with one that can be read together with it, if there is one."""
        for index, known in enumerate(self._shapes):
            if both := known.joined(shape):
                self._shapes[index] = both
                return index
        self._shapes.append(shape)
        return len(self._shapes) - 1

    def _rows(self) -> list[ShapeRows]:
        return [ShapeRows(shape, index, self._placeholder) for index, shape in enumerate(self._shapes)]

    def _is_of(self, shape: ShapeRows) -> Column:
        return F.col(_PRINT).isin(*(number for number, index in self._prints.items() if index == shape.index))

    def _make_plan(self) -> _Plan:
        shapes = self._rows()
        return _Plan(
            fingerprint(F.col("key"), F.col("value")).alias(_PRINT),
            F.col(_PRINT).isNotNull() & ~F.col(_PRINT).isin(*self._no_changes),
            [F.when(self._is_of(shape), shape.read()).alias(shape.read_column) for shape in shapes],
            [F.when(self._is_of(shape), shape.image()).alias(shape.image_column) for shape in shapes],
            self._parsed(shapes).alias(PARSED),
            self._problem(shapes).alias(PROBLEM),
            [F.col(PARSED).getField(name).alias(name) for name in self.schema.names],
        )

    def _parsed(self, shapes: Sequence[ShapeRows]) -> Column:
        found = F.lit(None).cast(self.schema)
        for shape in shapes:
            found = F.when(self._is_of(shape), shape.parsed(self._columns)).otherwise(found)
        return found

    def _problem(self, shapes: Sequence[ShapeRows]) -> Column:
        found = F.raise_error(F.lit(f"{UNKNOWN_SCHEMA} of Debezium"))
        for number, error in self._hopeless.items():
            found = F.when(F.col(_PRINT) == number, problem(error.code, F.lit(error.message))).otherwise(found)
        for shape in shapes:
            found = F.when(self._is_of(shape), shape.problem()).otherwise(found)
        return found


@dataclass(frozen=True)
class _Plan:
    """The columns that decode: to tell shapes apart, read each once, take the row's image, then row and problem.

    They hold until a shape is learnt, or until a schema that the registry did not know is due to be asked for again.
    """

    print: Column
    is_change: Column
    reads: Sequence[Column]
    images: Sequence[Column]
    parsed: Column
    problem: Column
    fields: Sequence[Column]
