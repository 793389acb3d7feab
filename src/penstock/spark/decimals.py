"""Read decimals from text exactly, or reject the text.

Java expands all digits of `1e30000000`, which keeps a core busy for minutes. Here, the exponent is bounded before
parsing, so the cost depends only on the length of the text.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

_LONGEST: Final = 1_000
"""Maximum characters of a number; Spark's JSON parser has an equal limit for unquoted numbers."""

_MOST_PLACES: Final = 99
"""Maximum shift of the point by an exponent: a decimal has at most 38 digits."""

_WITH_EXPONENT: Final = r"^([+-]?)(?=\.?\d)(\d*)\.?(\d*)[eE]([+-]?0*\d{1,2})\z"


def exact_decimal(text: Column, kind: T.DecimalType) -> Column:
    """Return the number in a text; null if the text is not a number or has more digits than the type."""
    return F.when(
        F.octet_length(text) <= _LONGEST,
        F.when(text.rlike(_WITH_EXPONENT), _fitting(_without_exponent(text), kind)).otherwise(_fitting(text, kind)),
    )


def _fitting(text: Column, kind: T.DecimalType) -> Column:
    """Cast a number without an exponent if no digit is lost; leading and trailing zeros do not count."""
    fits = rf"^[+-]?(?=\.?\d)0*\d{{0,{kind.precision - kind.scale}}}(\.\d{{0,{kind.scale}}}0*)?\z"
    return F.when(text.rlike(fits), text.try_cast(kind))


def _without_exponent(text: Column) -> Column:
    """Write a number in full: pad the digits with zeros and move the point by the exponent."""
    sign, whole, fraction, exponent = (F.regexp_extract(text, _WITH_EXPONENT, group) for group in range(1, 5))
    zeros = F.lit("0" * _MOST_PLACES)
    digits = F.concat(zeros, whole, fraction, zeros)
    point = F.length(whole) + exponent.cast("int") + _MOST_PLACES
    return F.concat(
        sign, F.substring(digits, F.lit(1), point), F.lit("."), F.substring(digits, point + 1, F.length(digits))
    )
