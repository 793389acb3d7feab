"""Decoder for Avro messages: read with each message's writer schema, converted to the reader schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordInvalid, RecordUndecodable, SchemaError, SchemaIncompatible, SchemaNotFound
from penstock.schemas import IdWidth, Schema, SchemaRegistry
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.model import RecordType, type_name
from penstock.schemas.avro.sizes import require_columns
from penstock.spark.avro.marked import is_whole, marked_record
from penstock.spark.avro.writers import Writer, Writers, newest, readable
from penstock.spark.decoding import MOST_STRANGE, PARSED, PROBLEM, problem
from penstock.spark.failures import UNKNOWN_SCHEMA
from penstock.spark.learnt import Cached

_INT, _LONG, _UUID = IdWidth.INT.body, IdWidth.LONG.body, IdWidth.UUID.body
_SHOWN: Final = 24


class AvroRows:
    """Decoder for messages with schema ids.

    Without a `reader`, rows have the form of the newest schema of the `subjects`, including schemas registered while
    the query runs. Ids are read in the given `widths`. An unseen id fails the batch inside of Spark, before anything is
    written; `learn` then requests all unseen ids from the registry. Messages with ids missing from the registry are
    rejected for a minute; then the registry is asked again.
    """

    def __init__(
        self,
        session: SparkSession,
        registry: SchemaRegistry,
        *,
        subjects: Sequence[str] = (),
        reader: Schema | None = None,
        widths: Collection[IdWidth] = tuple(IdWidth),
    ) -> None:
        self._session = session
        self._subjects = subjects
        self._named_reader = reader
        self._writers = Writers(registry, widths)
        self._reader = reader or newest(registry, subjects)
        self._plan = Cached(self._make_plan)
        _record(self._reader)

    @property
    def written(self) -> list[Schema]:
        """The writer schemas of the messages seen so far, in the order of learning."""
        return [writer.schema for writer in self._writers.known.values()]

    @property
    def schema(self) -> T.StructType:
        """The columns of the reader schema."""
        row = self._parsed_type()["row"].dataType
        assert isinstance(row, T.StructType)  # noqa: S101 - a record's type is a struct
        return row

    def decode(self, messages: DataFrame) -> DataFrame:
        """Return the messages with the parsed record and their problem."""
        if self._writers.unknown.forget_due():
            self._plan.drop()
        plan = self._plan.get()
        return messages.select("*", plan.parsed).select("*", plan.problem)

    def fields(self) -> Sequence[Column]:
        """Return the expressions that take the row's columns from the result of `decode`."""
        return self._plan.get().fields

    def learn(self, messages: DataFrame) -> None:
        """Look up unseen schema ids in the registry. Also update the reader schema, unless a reader was given."""
        self._plan.drop()
        self._writers.unknown.forget_due()
        value = F.col("value")
        seen = [*self._writers.known, *self._writers.unknown]
        strange = messages.filter(_claims_schema(value) & ~_begins_with(value, seen)).select("value")
        unknown = self._writers.learn(_distinct(strange, F.substring(value, 1, _INT)))
        if unknown:
            # An unknown 4-byte id may be the start of an 8- or 16-byte id: read more bytes of the messages.
            rest = strange.filter(_begins_with(value, unknown))
            is_long = _begins_with(value, [bytes(_INT)])
            longer = F.when(is_long, F.substring(value, 1, _LONG)).otherwise(F.substring(value, 1, _UUID))
            self._writers.note_unknown(self._writers.learn(_distinct(rest, longer)))
        if self._named_reader is None:
            self._reader = newest(self._writers.registry, self._subjects)

    def _make_plan(self) -> _Plan:
        value = F.col("value")
        writers = sorted(self._writers.known.values(), key=lambda writer: -len(writer.header))
        legible = [writer for writer in writers if not readable(writer.schema, self._reader)]
        row = F.col(PARSED).getField("row")
        return _Plan(
            self._parsed(value, legible).alias(PARSED),
            self._problem(value, writers).alias(PROBLEM),
            [row.getField(name).alias(name) for name in _record(self._reader)],
        )

    def _parsed(self, value: Column, writers: Sequence[Writer]) -> Column:
        """Return record and mark, decoded by the writer with the message's header; null without such a writer."""
        found = F.lit(None) if writers else F.lit(None).cast(self._parsed_type())
        for writer in reversed(writers):
            decoded = _decoded(value, len(writer.header), writer.schema, self._reader)
            found = F.when(_begins_with(value, [writer.header]), decoded).otherwise(found)
        return found

    def _problem(self, value: Column, writers: Sequence[Writer]) -> Column:
        found = F.when(is_whole(F.col(PARSED)), F.lit(None))
        found = found.when(value.isNull(), problem(RecordInvalid.code, F.lit("the value is null")))
        found = found.when(~_claims_schema(value), problem(RecordUndecodable.code, _no_schema(value)))
        for writer in writers:
            code, reason = self._reason(writer)
            said = F.concat(F.lit(f"{reason} [{writer.framed}: "), _shown(value), F.lit("]"))
            found = found.when(_begins_with(value, [writer.header]), problem(code, said))
        said = F.concat(F.lit("the registry does not know the schema id: "), _shown(value))
        found = found.when(_begins_with(value, self._writers.unknown), problem(SchemaNotFound.code, said))
        return found.otherwise(F.raise_error(F.concat(F.lit(f"{UNKNOWN_SCHEMA} "), _shown(value))))

    def _reason(self, writer: Writer) -> tuple[str, str]:
        """Return why a rejected message of a writer is rejected."""
        misreading = readable(writer.schema, self._reader)
        if misreading:
            return SchemaIncompatible.code, f"the reader's schema cannot read the message: {misreading}"
        return RecordUndecodable.code, "the bytes are not one record of their schema"

    def _parsed_type(self) -> T.StructType:
        nothing = _decoded(F.lit(bytearray()), 0, self._reader, self._reader).alias(PARSED)
        found = self._session.range(0).select(nothing).schema[PARSED].dataType
        assert isinstance(found, T.StructType)  # noqa: S101 - as above
        return found


@dataclass(frozen=True)
class _Plan:
    """Column expressions of the decoder.

    A plan is valid until a schema is learned, or until an id missing from the registry is due for a retry.
    """

    parsed: Column
    problem: Column
    fields: Sequence[Column]


def _decoded(message: Column, header: int, writer: Schema, reader: Schema) -> Column:
    return marked_record(message, header, to_json(writer.type), to_json(reader.type))


def _record(schema: Schema) -> list[str]:
    """Return the field names of a record schema. Raise SchemaError for other schemas."""
    if not isinstance(schema.type, RecordType):
        raise SchemaError(f"the schema is of type {type_name(schema.type)}, not a record", hint="rows need a record")
    require_columns(schema.type)
    return [field.name for field in schema.type.fields]


def _begins_with(value: Column, starts: Iterable[bytes]) -> Column:
    """Whether a message starts with one of the prefixes, of any lengths."""
    by_length: dict[int, list[bytearray]] = {}
    for start in starts:
        by_length.setdefault(len(start), []).append(bytearray(start))
    each = (F.substring(value, 1, length).isin(*same) for length, same in by_length.items())
    return reduce(or_, each, F.lit(False))


def _claims_schema(value: Column) -> Column:
    return (F.octet_length(value) >= F.lit(_INT)) & _begins_with(value, [b"\x00"])


def _no_schema(value: Column) -> Column:
    first = F.lower(F.hex(F.substring(value, 1, 1)))
    wrong_byte = F.concat(F.lit("the message begins with byte 0x"), first, F.lit(", not with 0x00 and a schema id: "))
    too_short = F.lit("the message is too short to carry a schema id: ")
    begins_right = (F.octet_length(value) == F.lit(0)) | _begins_with(value, [b"\x00"])
    return F.concat(F.when(begins_right, too_short).otherwise(wrong_byte), _shown(value))


def _shown(value: Column) -> Column:
    """Return the first bytes in hexadecimal, and the total length."""
    start = F.lower(F.hex(F.substring(value, 1, _SHOWN)))
    return F.concat(start, F.lit(" ("), F.octet_length(value).cast("string"), F.lit(" bytes)"))


def _distinct(messages: DataFrame, beginning: Column) -> list[bytes]:
    found = messages.limit(MOST_STRANGE).select(beginning.alias("beginning")).distinct()
    return [bytes(row["beginning"]) for row in found.collect()]
