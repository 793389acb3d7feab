"""Exact digits of numbers that Spark's parser has rounded.

Spark reads a number with an exponent, or with more than 38 digits, as a double, even if a decimal is wanted. A double
may have other digits than the message: `9007199254740993e0` becomes 9007199254740992. The message is therefore searched
for numbers that a double cannot represent, and a decimal that was read as such a double takes its digits from there.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.decimals import exact_decimal
from penstock.spark.json.bindings import let

ROUNDED: Final = "rounded"
"""The column with the numbers of a message that may be misread as doubles; null if they are too many."""

_MOST: Final = 1_000
"""Maximum length of the column, because each decimal of a message may be compared with all of them."""

_MAY_BE_DOUBLE: Final = r"[\[:,\s]-?[0-9][0-9.]*+[eE]|[0-9.]{39}"
_IS_DOUBLE: Final = r"[eE]|^.{39}"
_TEXT: Final = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER: Final = r"-?[0-9][0-9.eE+-]*+"
_NUMBERS: Final = "array<struct<text:string,double:double>>"
_NO_DIGITS: Final = r"[eE].*|[^0-9]"


def rounded_numbers(message: Column) -> Column:
    """Return the numbers of a message that share a double with a number which that double does not represent."""
    found = F.regexp_extract_all(F.regexp_replace(message, _TEXT, '""'), F.lit(_NUMBER), F.lit(0))
    doubles = F.array_distinct(F.filter(found, lambda number: number.rlike(_IS_DOUBLE)))
    numbers = F.transform(doubles, lambda number: F.struct(number.alias("text"), _double(number).alias("double")))
    return F.when(message.rlike(_MAY_BE_DOUBLE), let(numbers, _misread)).otherwise(F.array().cast(_NUMBERS))


def decimal_of(value: Column, kind: T.DecimalType) -> Column:
    """Return the decimal in a variant; null if it does not fit, or if the message does not say which number it is."""
    parsed = exact_decimal(F.try_variant_get(value, "$", "string"), kind)
    is_double = F.schema_of_variant(value) == "DOUBLE"
    may_differ = F.coalesce(F.size(F.col(ROUNDED)) != 0, F.lit(True)) & is_double
    return F.when(may_differ, let(_written(value, kind), lambda found: _one(found, parsed))).otherwise(parsed)


def _written(value: Column, kind: T.DecimalType) -> Column:
    """Return the decimals in the message that the parser may have read as this double."""
    double = F.try_variant_get(value, "$", "double")
    sharing = F.filter(F.col(ROUNDED), lambda number: number.getField("double") == double)
    return F.array_distinct(F.transform(sharing, lambda number: exact_decimal(number.getField("text"), kind)))


def _one(written: Column, parsed: Column) -> Column:
    return F.when(F.size(written) == 0, parsed).when(F.size(written) == 1, F.get(written, F.lit(0)))


def _misread(numbers: Column) -> Column:
    rounded = F.filter(numbers, lambda number: ~_is_represented(number))
    return F.when(F.size(rounded) <= _MOST, let(rounded.getField("double"), lambda found: _sharing(numbers, found)))


def _sharing(numbers: Column, doubles: Column) -> Column:
    sharing = F.filter(numbers, lambda number: F.array_contains(doubles, number.getField("double")))
    return let(sharing, lambda found: F.when(F.size(found) <= _MOST, found))


def _is_represented(number: Column) -> Column:
    """Whether a number has the digits of its double; two numbers with one double are equal if their digits are."""
    return _digits(number.getField("text")) == _digits(number.getField("double").cast("string"))


def _digits(number: Column) -> Column:
    return F.btrim(F.regexp_replace(number, _NO_DIGITS, ""), F.lit("0"))


def _double(text: Column) -> Column:
    return text.try_cast("double")
