"""Rows from messages of one shape: converted columns and change metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.spark.debezium.columns import key_type, lake_name, placed, refuse_namesakes, spelled, wider
from penstock.spark.debezium.shapes import Shape
from penstock.spark.debezium.values import Meaning, is_unavailable, meaning, struct_of
from penstock.spark.debezium.wire import Wire
from penstock.spark.decoding import KAFKA, problem, quoted

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
        "topic": T.StringType(),
        "partition": T.IntegerType(),
        "offset": T.LongType(),
    }
)
_OPERATIONS: Final = ("r", "c", "u", "d", "t")
_LARGEST_FILE: Final = 2**32
"""Upper limit of positions within a binlog file of MySQL."""
_WITH_ROW: Final = ("r", "c", "u")
_ENVELOPE: Final = ("op", "source", "transaction")
_ORIGIN: Final = ("topic", "partition", "offset")


class Member(NamedTuple):
    """Column: its name, its field on the wire, the field's type, and the conversion of the values."""

    column: str
    field: str
    wire: Wire
    means: Meaning


@dataclass(frozen=True)
class ShapeRows:
    """Expressions that decode one shape, in layers.

    Each layer uses the columns of earlier layers, so nothing is computed twice. `read` parses the message, `parts`
    extracts its parts, `made` converts values and detects unusual values. `cells`, `told` and `problem` are the last
    layer.
    """

    shape: Shape
    index: int
    placeholder: str
    known: Mapping[str, T.DataType] = field(default_factory=dict)
    """The columns of all shapes, which determine spelling and types."""

    keys: frozenset[str] = frozenset()
    """The columns that are part of the key in any shape."""

    def columns(self) -> T.StructType:
        """Return the columns of the rows. Reject columns with equal names."""
        refuse_namesakes(
            (wire.column_name(name) for name, wire in (self.shape.row or Wire("struct")).fields), (CDC, KAFKA)
        )
        return T.StructType([T.StructField(member.column, member.means.type) for member in self._members()])

    def read(self, is_own: Column) -> Column:
        """Return the parsed message, computed once."""
        return F.when(is_own, self.shape.read(F.col("value"))).alias(self._named("read"))

    def parts(self) -> Iterator[Column]:
        """Yield the parts of a message: the row image, whether the message is damaged, and the envelope.

        The row image of a deletion is the row before the change, otherwise the row after the change.
        """
        read = self._at("read")
        before, after = self.shape.part(read, "before"), self.shape.part(read, "after")
        yield F.when(self.shape.part(read, "op") == "d", before).otherwise(after).alias(self._named("image"))
        yield self.shape.is_damaged(read).alias(self._named("damaged"))
        for name in _ENVELOPE:
            yield self.shape.part(read, name).alias(self._named(name))

    def made(self) -> Iterator[Column]:
        """Yield values whose conversion may fail, and whether any value of the row is unusual."""
        for member in self._members():
            if member.means.may_fail:
                yield member.means.convert(self._raw(member)).alias(self._named("made", member.column))
        unusual = [self._is_unusual(member) for member in self._members()]
        yield F.coalesce(reduce(or_, unusual, F.lit(False)), F.lit(False)).alias(self._named("unusual"))

    def cells(self) -> Mapping[str, Column]:
        """Return the values of the shape's columns, by the names of the known columns."""
        return {(name := self._placed(member)): self._as(member, self.known[name]) for member in self._members()}

    def _as(self, member: Member, kind: T.DataType) -> Column:
        """Cast a value to a column's type.

        A key that became text also keeps values outside the range of the member's own type.
        """
        value, outside = self._value(member).cast(kind), member.means.outside
        if outside is None or not isinstance(kind, T.StringType):
            return value
        return F.coalesce(value, outside(self._raw(member)))

    def _placed(self, member: Member) -> str:
        """Return the known column for the member's values."""
        fit = key_type if member.column in self.keys else wider
        return placed(self.known, member.column, member.means.type, fit)

    def _keys(self) -> list[str]:
        """Return the columns with the values of the key."""
        columns = {member.column: self._placed(member) for member in self._members()}
        return [columns.get(key, key) for key in (spelled(self.known, each) for each in self.shape.keys)]

    def told(self) -> Mapping[str, Column]:
        """Return the change metadata, by field of `_cdc`."""
        parts = {
            "op": self._at("op"),
            "at": F.timestamp_micros(F.coalesce(self._source("ts_us"), self._source("ts_ms") * 1000)),
            "snapshot": F.coalesce(self._source("snapshot"), F.lit("false")) != "false",
            "commit": self._commit(),
            "lsn": F.coalesce(
                self._source("lsn"), self._read_at(), self._file() + self._source("pos"), self._source("pos")
            ),
            "row": self._source("row"),
            "tx": F.coalesce(self._source("txId").cast("string"), self._at("transaction").getField("id")),
            "tx_order": self._at("transaction").getField("total_order"),
            "keys": F.array(*map(F.lit, self._keys())),
            "unavailable": self._unavailable(),
            "outside": self._outside(),
            **{name: F.col(name) for name in _ORIGIN},
        }
        return {name: part.cast(CDC_TYPE[name].dataType) for name, part in parts.items()}

    def problem(self) -> Column:
        """Return why the message is rejected, or null."""
        op = self._at("op")
        has_no_row = op.isin(*_WITH_ROW) & self._at("image").isNull()
        inexact = [F.when(self._is_broken(each), F.lit(each.column)) for each in self._members() if each.means.may_fail]
        names = F.concat_ws(", ", *inexact)
        infinite_day = "an infinite date is a part of the key, and Debezium does not send which one"
        damaged, no_op = "the bytes are not one change of their schema", "there is no operation "
        return (
            F.when(self._at("damaged"), problem(RecordUndecodable.code, F.lit(damaged)))
            .when(~op.isin(*_OPERATIONS), _invalid(_apart(F.concat(F.lit(no_op), op))))
            .when(has_no_row, _invalid(F.lit("the change has no row")))
            .when(self._at("unusual") & self._is_infinite_day(), _invalid(F.lit(infinite_day)))
            .when(
                self._at("unusual") & (names != ""), _invalid(F.concat(F.lit("values cannot be read exactly: "), names))
            )
        )

    def _is_infinite_day(self) -> Column:
        """Whether the key contains an infinite date, which may be positive or negative."""
        days = [
            each for each in self._members() if each.field in self._key_fields() and each.means.type == T.DateType()
        ]
        outside = (each.means.outside(self._raw(each)).isNotNull() for each in days if each.means.outside)
        return F.coalesce(reduce(or_, outside, F.lit(False)), F.lit(False))

    def _key_fields(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.shape.key.fields) if self.shape.key else frozenset()

    def _named(self, *parts: str) -> str:
        return "_".join(("", f"shape{self.index}", *parts))

    def _at(self, *parts: str) -> Column:
        return F.col(quoted(self._named(*parts)))

    def _members(self) -> Iterator[Member]:
        for name, wire in (self.shape.row or Wire("struct")).fields:
            yield Member(spelled(self.known, lake_name(wire.column_name(name))), name, wire, meaning(wire))

    def _raw(self, member: Member) -> Column:
        return self._at("image").getField(member.field)

    def _converted(self, member: Member) -> Column:
        if member.means.may_fail:
            return self._at("made", member.column)
        return member.means.convert(self._raw(member))

    def _missing(self, member: Member) -> Column | None:
        return is_unavailable(self._raw(member), member.wire, self.placeholder)

    def _is_unusual(self, member: Member) -> Column:
        """Whether a value is unavailable, outside its type's range, or not convertible."""
        raw, means, missing = self._raw(member), member.means, self._missing(member)
        known = F.lit(False) if missing is None else missing
        if means.may_fail:
            return known | (raw.isNotNull() & self._converted(member).isNull())
        return known if means.outside is None else known | means.outside(raw).isNotNull()

    def _value(self, member: Member) -> Column:
        """Return the value. A key column missing from the row comes from the message key."""
        converted, missing = self._converted(member), self._missing(member)
        value = converted if missing is None else F.when(self._at("unusual") & missing, None).otherwise(converted)
        if self.shape.key is None or self.shape.key.get(member.field) is None:
            return value
        return F.coalesce(value, member.means.convert(self.shape.key_part(F.col("key"), member.field)))

    def _is_broken(self, member: Member) -> Column:
        """Whether a value became null although it is neither unavailable nor out of range."""
        raw, means = self._raw(member), member.means
        outside = means.outside(raw).isNotNull() if means.outside else None
        excuses = [excuse for excuse in (self._missing(member), outside) if excuse is not None]
        excused = F.coalesce(reduce(or_, excuses, F.lit(False)), F.lit(False))
        return raw.isNotNull() & self._converted(member).isNull() & ~excused

    def _source(self, name: str) -> Column:
        return self.shape.source_part(self._at("source"), name)

    def _commit(self) -> Column:
        """Return the position of the previous commit, or the start position of the log file."""
        sequence = self._source("sequence")
        # `["24023128","24023280"]`, where the first item may be null. Parsing JSON would cost ten times as much.
        digits = F.substring(sequence, F.lit(3), F.locate('"', sequence, 3) - 3)
        return F.coalesce(F.when(sequence.startswith('["'), digits).try_cast("bigint"), self._file())

    def _read_at(self) -> Column:
        """Return the log position already streamed when an incremental snapshot sent the row.

        Such a row has no log position of its own.
        """
        return F.regexp_extract(self._source("sequence"), r'"(\d+)"\]$', 1).try_cast("bigint")

    def _file(self) -> Column:
        """Return the start position of a log file if positions restart in each file.

        The result is above all positions of earlier files.
        """
        number = F.regexp_extract(self._source("file"), r"(\d+)$", 1).try_cast("bigint")
        return number * _LARGEST_FILE

    def _unavailable(self) -> Column:
        """Return the names of columns with unavailable values. Null, nearly always, if every value was sent."""
        found = [(each.column, missing) for each in self._members() if (missing := self._missing(each)) is not None]
        if not found:
            return F.lit(None)
        names = F.array_compact(F.array(*(F.when(missing, F.lit(column)) for column, missing in found)))
        return F.when(self._at("unusual") & reduce(or_, (missing for _, missing in found)), names)

    def _outside(self) -> Column:
        """Return values outside the range of their column's type, by column; null if there are none."""
        found = [
            (each.column, each.means.outside(self._raw(each)))
            for each in self._members()
            if each.means.outside is not None
        ]
        if not found:
            return F.lit(None)
        pairs = F.array(*(F.struct(F.lit(column).alias("key"), text.alias("value")) for column, text in found))
        named = F.map_from_entries(F.filter(pairs, lambda pair: pair.getField("value").isNotNull()))
        return F.when(self._at("unusual") & F.coalesce(*(text for _, text in found)).isNotNull(), named)


def _apart(text: Column) -> Column:
    """Return the text unchanged, but make Spark compile the adjacent columns separately from parsing.

    Compiled together, they form one method that exceeds Java's limit, and Spark evaluates every layer separately, row
    by row. Spark excludes higher-order functions from whole-stage code.
    """
    return F.element_at(F.transform(F.array(text), lambda same: same), 1)


def _invalid(message: Column) -> Column:
    return problem(RecordInvalid.code, message)
