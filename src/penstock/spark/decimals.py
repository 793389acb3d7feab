"""Read decimals from text exactly, or not at all.

Java works out all digits of `1e30000000`, which keeps a core busy for minutes. Here the exponent is bounded before
anything is parsed, so the work depends on the length of the text alone.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

_LONGEST: Final = 1_000
"""Characters of a number; Spark's JSON parser has the same bound for numbers that are not quoted."""

_MOST_PLACES: Final = 99
"""How far an exponent can move the point: no decimal has more than 38 digits."""

_WITH_EXPONENT: Final = r"^([+-]?)(?=\.?\d)(\d*)\.?(\d*)[eE]([+-]?0*\d{1,2})\z"


def exact_decimal(text: Column, kind: T.DecimalType) -> Column:
    """Return the number that a text stands for; null if it is none or has more digits than the type."""
    return F.when(
        F.octet_length(text) <= _LONGEST,
        F.when(text.rlike(_WITH_EXPONENT), _fitting(_without_exponent(text), kind)).otherwise(_fitting(text, kind)),
    )


def _fitting(text: Column, kind: T.DecimalType) -> Column:
    """Cast a number without an exponent if no digit of it is lost; zeros at its ends do not count."""
    fits = rf"^[+-]?(?=\.?\d)0*\d{{0,{kind.precision - kind.scale}}}(\.\d{{0,{kind.scale}}}0*)?\z"
    return F.when(text.rlike(fits), text.try_cast(kind))


def _without_exponent(text: Column) -> Column:
    """Write a number in full: put zeros around its digits, and the point where the exponent moves it."""
    sign, whole, fraction, exponent = (F.regexp_extract(text, _WITH_EXPONENT, group) for group in range(1, 5))
    zeros = F.lit("0" * _MOST_PLACES)
    digits = F.concat(zeros, whole, fraction, zeros)
    point = F.length(whole) + exponent.cast("int") + _MOST_PLACES
    return F.concat(
        sign, F.substring(digits, F.lit(1), point), F.lit("."), F.substring(digits, point + 1, F.length(digits))
    )
