"""Rows from Debezium's messages: the columns of the table, and beside them what happened, where and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordInvalid, RecordUndecodable, SchemaError, Terminal
from penstock.schemas import SchemaRegistry
from penstock.spark.debezium.columns import placed, united
from penstock.spark.debezium.shapes import Shape, ShapeReader, fingerprint
from penstock.spark.debezium.values import PLACEHOLDER, Meaning, is_unavailable, meaning, struct_of
from penstock.spark.debezium.wire import Wire
from penstock.spark.decoding import MESSAGE_COLUMNS, PARSED, PROBLEM, problem
from penstock.spark.failures import UNKNOWN_SCHEMA

CDC: Final = "_cdc"
CDC_TYPE: Final = struct_of(
    {
        "op": T.StringType(),
        "at": T.TimestampType(),
        "snapshot": T.BooleanType(),
        "commit": T.LongType(),
        "lsn": T.LongType(),
        "row": T.IntegerType(),
        "tx": T.StringType(),
        "tx_order": T.LongType(),
        "keys": T.ArrayType(T.StringType()),
        "unavailable": T.ArrayType(T.StringType()),
        "outside": T.MapType(T.StringType(), T.StringType()),
    }
)
_PRINT: Final = "_print"
_OPERATIONS: Final = ("r", "c", "u", "d", "t")
_WITH_ROW: Final = ("r", "c", "u")
_MOST_SHAPES: Final = 1_000


class DebeziumRows:
    """Decodes changes, whatever form each has: JSON with or without its schema, or Avro by its writer's id.

    A change gives a row, also a truncate, whose columns are all null; one that cannot be read has a problem. Messages
    that are no changes are left out: tombstones, heartbeats, and records of transactions and logical messages.
    """

    def __init__(
        self, registry: SchemaRegistry, *, columns: T.StructType | None = None, placeholder: str = PLACEHOLDER
    ) -> None:
        self._reader = ShapeReader(registry, columns)
        self._placeholder = placeholder
        self._shapes: dict[int, Shape] = {}
        self._no_changes: set[int] = set()
        self._hopeless: dict[int, Terminal] = {}

    @property
    def schema(self) -> T.StructType:
        """As the protocol says."""
        return T.StructType([*self._columns().fields, T.StructField(CDC, CDC_TYPE)])

    def decode(self, messages: DataFrame) -> DataFrame:
        """As the protocol says."""
        printed = messages.withColumn(_PRINT, fingerprint(F.col("key"), F.col("value")))
        is_change = F.col(_PRINT).isNotNull() & ~F.col(_PRINT).isin(*self._no_changes)
        shapes = [ShapeRows(shape, f"_read{index}", self._placeholder) for index, shape in enumerate(self._known())]
        reads = [
            F.when(F.col(_PRINT) == number, shape.shape.read(F.col("value"))).alias(shape.read_column)
            for number, shape in zip(self._shapes, shapes, strict=True)
        ]
        read = printed.filter(is_change).select("*", *reads)
        by_print = dict(zip(self._shapes, shapes, strict=True))
        return read.select(
            *MESSAGE_COLUMNS, self._parsed(by_print).alias(PARSED), self._problem(by_print).alias(PROBLEM)
        )

    def fields(self) -> Sequence[Column]:
        """As the protocol says."""
        return [F.col(PARSED).getField(name).alias(name) for name in self.schema.names]

    def learn(self, messages: DataFrame) -> None:
        """As the protocol says."""
        known = [*self._shapes, *self._no_changes, *self._hopeless]
        printed = messages.select("key", "value", fingerprint(F.col("key"), F.col("value")).alias(_PRINT))
        strange = printed.filter(F.col(_PRINT).isNotNull() & ~F.col(_PRINT).isin(*known))
        samples = strange.groupBy(_PRINT).agg(F.first(F.struct("key", "value")).alias("sample"))
        for number, (key, value) in samples.limit(_MOST_SHAPES).collect():
            self._learn(number, bytes(key) if key is not None else None, bytes(value))
        if len(self._hopeless) > _MOST_SHAPES:
            raise RecordUndecodable("very many messages are no changes of Debezium", hint="is the topic Debezium's?")

    def _learn(self, number: int, key: bytes | None, value: bytes) -> None:
        try:
            shape = self._reader.shape(key, value)
            ShapeRows(shape, "", self._placeholder).columns()
        except (RecordUndecodable, SchemaError) as error:
            self._hopeless[number] = error
            return
        if shape.row is None:
            self._no_changes.add(number)
        else:
            self._shapes[number] = shape

    def _known(self) -> list[Shape]:
        return list(self._shapes.values())

    def _columns(self) -> T.StructType:
        return united(ShapeRows(shape, "", self._placeholder).columns() for shape in self._known())

    def _parsed(self, shapes: dict[int, ShapeRows]) -> Column:
        wanted = self._columns()
        found = F.lit(None).cast(self.schema)
        for number, shape in shapes.items():
            found = F.when(F.col(_PRINT) == number, shape.parsed(wanted)).otherwise(found)
        return found

    def _problem(self, shapes: dict[int, ShapeRows]) -> Column:
        found = F.raise_error(F.lit(f"{UNKNOWN_SCHEMA} of Debezium"))
        for number, error in self._hopeless.items():
            found = F.when(F.col(_PRINT) == number, problem(error.code, F.lit(error.message))).otherwise(found)
        for number, shape in shapes.items():
            found = F.when(F.col(_PRINT) == number, shape.problem()).otherwise(found)
        return found


@dataclass(frozen=True)
class ShapeRows:
    """The rows of messages of one shape, which stand read in a column."""

    shape: Shape
    read_column: str
    placeholder: str

    def columns(self) -> T.StructType:
        """The columns that the rows have."""
        return T.StructType([T.StructField(name, means.type) for name, _, _, means in self._members()])

    def parsed(self, wanted: T.StructType) -> Column:
        """The row in the wanted form, and what happened beside it."""
        kinds = {field.name: field.dataType for field in wanted.fields}
        mine = {
            placed(kinds, column, means.type): self._value(name, wire, means)
            for column, name, wire, means in self._members()
        }
        empty = F.lit(None)
        cells = [mine.get(name, empty).cast(kind).alias(name) for name, kind in kinds.items()]
        return F.struct(*cells, self._cdc().alias(CDC))

    def problem(self) -> Column:
        """Why the message is refused, or null."""
        op = self._part("op")
        has_no_row = op.isin(*_WITH_ROW) & self._part("after").isNull()
        broken = [
            F.when(self._is_broken(wire, name, means), F.lit(column))
            for column, name, wire, means in self._members()
            if means.may_fail
        ]
        names = F.concat_ws(", ", *broken)
        return (
            F.when(
                self.shape.is_damaged(self._read), _undecodable(F.lit("the bytes are not one change of their schema"))
            )
            .when(~op.isin(*_OPERATIONS), _invalid(F.concat(F.lit("there is no operation "), op)))
            .when(has_no_row, _invalid(F.lit("the change has no row")))
            .when(names != "", _invalid(F.concat(F.lit("values cannot be read exactly: "), names)))
        )

    @property
    def _read(self) -> Column:
        return F.col(self.read_column)

    def _members(self) -> Iterator[tuple[str, str, Wire, Meaning]]:
        row = self.shape.row or Wire("struct")
        for name, wire in row.fields:
            yield wire.column_name(name), name, wire, meaning(wire)

    def _part(self, name: str) -> Column:
        return self.shape.part(self._read, name)

    def _raw(self, name: str) -> Column:
        """A column on the wire: as it is now, or as it was before it was deleted."""
        return F.when(self._part("op") == "d", self._part("before").getField(name)).otherwise(
            self._part("after").getField(name)
        )

    def _value(self, name: str, wire: Wire, means: Meaning) -> Column:
        raw = self._raw(name)
        missing = is_unavailable(raw, wire, self.placeholder)
        value = (
            means.convert(raw) if missing is None else F.when(~F.coalesce(missing, F.lit(False)), means.convert(raw))
        )
        key_wire = self.shape.key.get(name) if self.shape.key else None
        if key_wire is None:
            return value
        return F.when(
            self._part("op") != "t", F.coalesce(value, means.convert(self.shape.key_part(F.col("key"), name)))
        )

    def _is_broken(self, wire: Wire, name: str, means: Meaning) -> Column:
        raw = self._raw(name)
        excused = [
            found
            for found in (is_unavailable(raw, wire, self.placeholder), _is_outside(means, raw))
            if found is not None
        ]
        is_excused = F.coalesce(reduce(or_, excused, F.lit(False)), F.lit(False))
        return raw.isNotNull() & means.convert(raw).isNull() & ~is_excused

    def _cdc(self) -> Column:
        parts = {
            "op": self._part("op"),
            "at": F.timestamp_micros(F.coalesce(self._source("ts_us"), self._source("ts_ms") * 1000)),
            "snapshot": F.coalesce(self._source("snapshot"), F.lit("false")) != "false",
            "commit": self._commit(),
            "lsn": F.coalesce(self._source("lsn"), self._source("pos")),
            "row": self._source("row"),
            "tx": F.coalesce(self._source("txId").cast("string"), self._part("transaction").getField("id")),
            "tx_order": self._part("transaction").getField("total_order"),
            "keys": F.array(*map(F.lit, self.shape.keys)).cast("array<string>"),
            "unavailable": self._unavailable(),
            "outside": self._outside(),
        }
        return F.struct(*(parts[field.name].cast(field.dataType).alias(field.name) for field in CDC_TYPE.fields))

    def _source(self, name: str) -> Column:
        return self.shape.source_part(self._read, name)

    def _commit(self) -> Column:
        """The position of the commit before the change's own, or the number of the log's file."""
        last = F.get_json_object(self._source("sequence"), "$[0]")
        file = F.regexp_extract(self._source("file"), r"(\d+)$", 1)
        return F.coalesce(last.try_cast("bigint"), file.try_cast("bigint"))

    def _unavailable(self) -> Column:
        tests = [
            F.when(found, F.lit(column))
            for column, name, wire, _ in self._members()
            if (found := is_unavailable(self._raw(name), wire, self.placeholder)) is not None
        ]
        return F.array_compact(F.array(*tests)) if tests else F.array().cast("array<string>")

    def _outside(self) -> Column:
        pairs = [
            F.struct(F.lit(column).alias("key"), means.outside(self._raw(name)).alias("value"))
            for column, name, _, means in self._members()
            if means.outside is not None
        ]
        if not pairs:
            return F.create_map().cast("map<string,string>")
        return F.map_from_entries(F.filter(F.array(*pairs), lambda pair: F.length(pair.getField("value")) > 0))


def _is_outside(means: Meaning, raw: Column) -> Column | None:
    return means.outside(raw).isNotNull() if means.outside is not None else None


def _invalid(message: Column) -> Column:
    return problem(RecordInvalid.code, message)


def _undecodable(message: Column) -> Column:
    return problem(RecordUndecodable.code, message)
