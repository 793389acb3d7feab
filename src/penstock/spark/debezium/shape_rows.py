"""The rows of messages of one shape: each column converted, and what happened beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.spark.debezium.columns import placed
from penstock.spark.debezium.shapes import Shape
from penstock.spark.debezium.values import Meaning, is_unavailable, meaning, struct_of
from penstock.spark.debezium.wire import Wire
from penstock.spark.decoding import problem

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
_OPERATIONS: Final = ("r", "c", "u", "d", "t")
_LARGEST_FILE: Final = 2**32
"""Positions within a file of MySQL's log are lower."""
_WITH_ROW: Final = ("r", "c", "u")


class Member(NamedTuple):
    """One column: its name, its field on the wire, that field's type, and what becomes of its values."""

    column: str
    field: str
    wire: Wire
    means: Meaning


@dataclass(frozen=True)
class ShapeRows:
    """The expressions for one shape; the message stands read, and its row's image taken, in columns of their own."""

    shape: Shape
    index: int
    placeholder: str

    @property
    def read_column(self) -> str:
        """The column with the message as it was read."""
        return f"_read{self.index}"

    @property
    def image_column(self) -> str:
        """The column with the row as it is now, or as it was before it was deleted."""
        return f"_image{self.index}"

    def columns(self) -> T.StructType:
        """The columns that the rows have."""
        return T.StructType([T.StructField(member.column, member.means.type) for member in self._members()])

    def read(self) -> Column:
        """The message's value, read once."""
        return self.shape.read(F.col("value"))

    def image(self) -> Column:
        """The row that the change is about."""
        return F.when(self._part("op") == "d", self._part("before")).otherwise(self._part("after"))

    def parsed(self, wanted: T.StructType) -> Column:
        """The row in the wanted form, and what happened beside it."""
        kinds = {field.name: field.dataType for field in wanted.fields}
        mine = {placed(kinds, member.column, member.means.type): self._value(member) for member in self._members()}
        cells = [mine.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in kinds.items()]
        return F.struct(*cells, self._cdc().alias(CDC))

    def problem(self) -> Column:
        """Why the message is refused, or null."""
        op = self._part("op")
        has_no_row = op.isin(*_WITH_ROW) & F.col(self.image_column).isNull()
        inexact = [F.when(self._is_broken(each), F.lit(each.column)) for each in self._members() if each.means.may_fail]
        names = F.concat_ws(", ", *inexact)
        damaged, no_op = "the bytes are not one change of their schema", "there is no operation "
        return (
            F.when(self.shape.is_damaged(F.col(self.read_column)), problem(RecordUndecodable.code, F.lit(damaged)))
            .when(~op.isin(*_OPERATIONS), _invalid(F.concat(F.lit(no_op), op)))
            .when(has_no_row, _invalid(F.lit("the change has no row")))
            .when(names != "", _invalid(F.concat(F.lit("values cannot be read exactly: "), names)))
        )

    def _members(self) -> Iterator[Member]:
        for field, wire in (self.shape.row or Wire("struct")).fields:
            yield Member(wire.column_name(field), field, wire, meaning(wire))

    def _part(self, name: str) -> Column:
        return self.shape.part(F.col(self.read_column), name)

    def _raw(self, member: Member) -> Column:
        return F.col(self.image_column).getField(member.field)

    def _missing(self, member: Member) -> Column | None:
        return is_unavailable(self._raw(member), member.wire, self.placeholder)

    def _value(self, member: Member) -> Column:
        """The value; a key's comes from the message's own key where the row does not have it."""
        converted, missing = member.means.convert(self._raw(member)), self._missing(member)
        value = converted if missing is None else F.when(F.coalesce(missing, F.lit(False)), None).otherwise(converted)
        if self.shape.key is None or self.shape.key.get(member.field) is None:
            return value
        return F.coalesce(value, member.means.convert(self.shape.key_part(F.col("key"), member.field)))

    def _is_broken(self, member: Member) -> Column:
        """Whether a value became null for no good reason."""
        raw, means = self._raw(member), member.means
        outside = means.outside(raw).isNotNull() if means.outside else None
        excuses = [excuse for excuse in (self._missing(member), outside) if excuse is not None]
        excused = F.coalesce(reduce(or_, excuses, F.lit(False)), F.lit(False))
        return raw.isNotNull() & means.convert(raw).isNull() & ~excused

    def _cdc(self) -> Column:
        parts = {
            "op": self._part("op"),
            "at": F.timestamp_micros(F.coalesce(self._source("ts_us"), self._source("ts_ms") * 1000)),
            "snapshot": F.coalesce(self._source("snapshot"), F.lit("false")) != "false",
            "commit": self._commit(),
            "lsn": F.coalesce(self._source("lsn"), self._file() + self._source("pos"), self._source("pos")),
            "row": self._source("row"),
            "tx": F.coalesce(self._source("txId").cast("string"), self._part("transaction").getField("id")),
            "tx_order": self._part("transaction").getField("total_order"),
            "keys": F.array(*map(F.lit, self.shape.keys)),
            "unavailable": self._unavailable(),
            "outside": self._outside(),
        }
        return F.struct(*(parts[field.name].cast(field.dataType).alias(field.name) for field in CDC_TYPE.fields))

    def _source(self, name: str) -> Column:
        return self.shape.source_part(F.col(self.read_column), name)

    def _commit(self) -> Column:
        """The position of the commit before the change's own, or that of the log's file."""
        sequence = self._source("sequence")
        # `["24023128","24023280"]`, or null in the first place: to parse it as JSON would cost ten times as much.
        last = F.when(sequence.startswith('["'), F.substring_index(F.substring_index(sequence, '"', 2), '"', -1))
        return F.coalesce(last.try_cast("bigint"), self._file())

    def _file(self) -> Column:
        """Where a file of the log begins if positions begin anew in each: above all those of the file before."""
        number = F.regexp_extract(self._source("file"), r"(\d+)$", 1).try_cast("bigint")
        return number * _LARGEST_FILE

    def _unavailable(self) -> Column:
        """The names of the columns whose values were not sent again; null if all were, which is nearly always."""
        found = [(each.column, missing) for each in self._members() if (missing := self._missing(each)) is not None]
        if not found:
            return F.lit(None)
        names = F.array_compact(F.array(*(F.when(missing, F.lit(column)) for column, missing in found)))
        return F.when(reduce(or_, (F.coalesce(missing, F.lit(False)) for _, missing in found)), names)

    def _outside(self) -> Column:
        """Values that the types of their columns have no room for, by column; null if there are none."""
        found = [
            (each.column, each.means.outside(self._raw(each)))
            for each in self._members()
            if each.means.outside is not None
        ]
        if not found:
            return F.lit(None)
        pairs = F.array(*(F.struct(F.lit(column).alias("key"), text.alias("value")) for column, text in found))
        named = F.map_from_entries(F.filter(pairs, lambda pair: pair.getField("value").isNotNull()))
        return F.when(F.coalesce(*(text for _, text in found)).isNotNull(), named)


def _invalid(message: Column) -> Column:
    return problem(RecordInvalid.code, message)
