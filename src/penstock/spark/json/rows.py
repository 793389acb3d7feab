"""Strict decoder for JSON messages: invalid JSON and mismatches are rejected with the field's name.

Spark's own parser is fast but lenient: it accepts a number as text, and ignores everything after the object's end. The
decoder therefore parses each message once and applies cheap checks. The checks also doubt some valid messages, such as
text that looks like a number. Only doubtful and invalid messages get an exact check (`problems`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.decoding import PARSED, PROBLEM
from penstock.spark.json.escapes import has_half_surrogate
from penstock.spark.json.problems import MARK, json_problem
from penstock.spark.json.readings import DIGITS, member_value, present, reading_of
from penstock.spark.json.rounded import ROUNDED, rounded_numbers
from penstock.spark.json.shape import Entries, Items, Leaf, Record, Shape, has_decimals, is_decimal, read_type, row_type

_ENDED = "ended"
_IS_UTF8 = "is_utf8"
_BROKEN = "penstock.broken"
_TAIL = f',"{MARK}":true}}'.encode()
_PARSER = {"columnNameOfCorruptRecord": _BROKEN, "allowSingleQuotes": "false"}


class JsonRows:
    """Decoder for JSON objects of one shape. Fields missing from the shape are ignored."""

    def __init__(self, shape: Record) -> None:
        self._shape = shape
        self._may_misread = not _is_all_text(shape)
        self._read = T.StructType([*_struct(shape).fields, _field(MARK, T.BooleanType())])
        self._read_closely = T.StructType([*self._read.fields, _field(_BROKEN)])

    @property
    def schema(self) -> T.StructType:
        """The columns of the shape."""
        return row_type(self._shape)

    def decode(self, messages: DataFrame) -> DataFrame:
        """Return the messages with the parsed object and their problem."""
        # A separate column, used twice so that Spark does not inline it: an expression inside the parser's call is
        # interpreted.
        ended = messages.select("*", _with_end(F.col("value")).alias(_ENDED))
        is_utf8 = F.is_valid_utf8(_ENDED).alias(_IS_UTF8)
        parsed = ended.select(*messages.columns, self._parsed_column, is_utf8, *self._rounded_column)
        rounded = [ROUNDED] if self._rounded_column else []
        return parsed.select(*messages.columns, PARSED, *rounded, self._problem_column)

    def fields(self) -> Sequence[Column]:
        """Return the expressions that take the row's columns from the result of `decode`."""
        return self._field_columns

    def learn(self, messages: DataFrame) -> None:
        """Do nothing: every message has the given shape."""

    # The columns are equal for every batch, and building them can take longer than a small batch.

    @cached_property
    def _parsed_column(self) -> Column:
        return self._from_json(F.col(_ENDED), closely=self._may_misread).alias(PARSED)

    @cached_property
    def _rounded_column(self) -> list[Column]:
        """The numbers for decimals that the parser rounded, if the shape has decimals."""
        return [rounded_numbers(F.col("value").cast("string")).alias(ROUNDED)] if has_decimals(self._shape) else []

    @cached_property
    def _problem_column(self) -> Column:
        return F.when(_any(self._doubts()), self._problem()).alias(PROBLEM)

    @cached_property
    def _field_columns(self) -> list[Column]:
        return [member_value(_parsed(member.name), member).alias(member.name) for member in self._shape.members]

    def _doubts(self) -> Iterator[Column]:
        text = F.col("value").cast("string")
        yield ~text.endswith("}")
        yield _parsed(MARK).isNull()
        yield has_half_surrogate(text)
        if self._may_misread:
            yield _parsed(_BROKEN).isNotNull()
        yield ~F.col(_IS_UTF8)
        for member in self._shape.members:
            if member.required:
                yield present(_parsed(member.name), member.shape).isNull()
            yield from _doubts(member.shape, _parsed(member.name), member.name)

    def _problem(self) -> Column:
        """Return the result of the exact check. Messages that Spark's parser cannot read are rejected, except `{}`."""
        unread = self._broken().isNotNull() & ~_is_empty_object(F.col("value"))
        return json_problem(F.col("value"), self._shape, unread=unread)

    def _broken(self) -> Column:
        """Return the message if the parser failed. If the first parse did not report failures, parse again."""
        if self._may_misread:
            return _parsed(_BROKEN)
        return self._from_json(_with_end(F.col("value")), closely=True).getField(_BROKEN)

    def _from_json(self, ended: Column, *, closely: bool) -> Column:
        """Parse a message. With `closely`, also report parser failures, which costs 10 % more."""
        return F.from_json(ended, self._read_closely if closely else self._read, _PARSER)


def _is_all_text(shape: Record) -> bool:
    """Whether all fields are read as text. Spark accepts any value as text, so only the whole message can fail."""
    shapes = (member.shape for member in shape.members)
    return all(isinstance(each, Leaf) and each.read_type == T.StringType() for each in shapes)


def _doubts(shape: Shape, value: Column, name: str | None) -> Iterator[Column]:
    """Yield conditions under which a value may have been misread; `name` is the directly enclosing field."""
    match shape:
        case Leaf():
            yield from _leaf_doubts(shape, value, name)
        case Items(items=inner, nullable=nullable):
            yield F.exists(value, lambda item: _any(_inner_doubts(inner, item, nullable=nullable)))
        case Entries(values=inner, nullable=nullable):
            yield F.exists(F.map_values(value), lambda item: _any(_inner_doubts(inner, item, nullable=nullable)))
        case Record(members=members):
            for member in members:
                field = value.getField(member.name)
                if member.required:
                    yield value.isNotNull() & present(field, member.shape).isNull()
                yield from _doubts(member.shape, field, member.name)


def _leaf_doubts(leaf: Leaf, value: Column, name: str | None) -> Iterator[Column]:
    match leaf:
        case Leaf(reading="", type=T.StringType()):
            yield _may_be_no_text(value, name)
            if leaf.symbols:
                yield ~value.isin(*leaf.symbols)
        case Leaf(reading="bytes"):
            yield value.isNotNull()
        case Leaf() if is_decimal(leaf):
            yield present(value, leaf).isNotNull() & reading_of(value, leaf).isNull()
        case Leaf(type=T.FloatType() | T.DoubleType()):
            yield ~(F.abs(value) < F.lit(float("inf")))
        case Leaf(reading=reading) if reading:
            yield value.isNotNull() & (reading_of(value, leaf).isNull() | value.rlike(DIGITS))


def _inner_doubts(shape: Shape, item: Column, *, nullable: bool) -> Iterator[Column]:
    if not nullable:
        yield present(item, shape).isNull()
    yield from _doubts(shape, item, None)


def _may_be_no_text(value: Column, name: str | None) -> Column:
    """Whether a text looks like a number, boolean, object or array, and is not quoted in the message.

    Quotes inside strings are escaped in JSON, so the quoted name followed by the quoted value can only be a field. Most
    times of day contain a colon, which no number contains.
    """
    begins_low = (value < F.lit(":")) & ~F.contains(value, F.lit(":"))
    is_word = value.isin("true", "false") | value.startswith("[") | value.startswith("{")
    looks_otherwise = begins_low | ((value >= F.lit("[")) & is_word)
    if name is None:
        return looks_otherwise
    for colon in (": ", ":"):
        quoted = F.concat(F.lit(f'"{name}"{colon}"'), value, F.lit('"'))
        looks_otherwise &= ~F.contains(F.col("value").cast("string"), quoted)
    return looks_otherwise


def _any(conditions: Iterable[Column]) -> Column:
    """Whether any condition holds. Null, the condition of a null value, counts as false."""
    return F.coalesce(reduce(or_, conditions, F.lit(False)), F.lit(False))


def _with_end(value: Column) -> Column:
    """Replace the last brace by another field. If the parser does not read the field, the object ended earlier."""
    body = F.substring(value, F.lit(1), F.octet_length(value) - 1)
    return F.concat(body, F.lit(bytearray(_TAIL))).cast("string")


def _is_empty_object(value: Column) -> Column:
    return F.regexp_replace(value.cast("string"), r"\s", "") == F.lit("{}")


def _parsed(name: str) -> Column:
    return F.col(PARSED).getField(name)


def _struct(shape: Record) -> T.StructType:
    found = read_type(shape)
    assert isinstance(found, T.StructType)  # noqa: S101 - a record's type is a struct
    return found


def _field(name: str, data_type: T.DataType | None = None) -> T.StructField:
    return T.StructField(name, data_type or T.StringType())
