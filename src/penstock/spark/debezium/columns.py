"""Columns of rows from messages of several shapes: one per name, unless types are incompatible."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pyspark.sql import types as T  # noqa: N812 - the conventional alias

from penstock.errors import SchemaError

_MOST_DIGITS = 38
_ARRAY = "array_"
_REFUSED = re.compile(r"[ ,;{}()\n\t=]")
_WHOLE_DIGITS: Mapping[type[T.DataType], int] = {T.ByteType: 3, T.ShortType: 5, T.IntegerType: 10, T.LongType: 19}
_RANKS: Sequence[type[T.DataType]] = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


def lake_name(column: str) -> str:
    """Return a database column's name in the lake, where spaces, brackets and some other characters are invalid."""
    return _REFUSED.sub("_", column)


def folded(column: str) -> str:
    """Return the lake name in lower case. Columns with equal results are one column in the lake."""
    return lake_name(column).lower()


def spelled(columns: Collection[str], name: str) -> str:
    """Return a name in the spelling of an existing column if both differ only in case: `Note` for `note`."""
    if name in columns:
        return name
    return next((column for column in columns if column.lower() == name.lower()), name)


def refuse_namesakes(columns: Iterable[str], own_names: Collection[str] = ()) -> None:
    """Reject columns with equal names in the lake, or with a name reserved by lake tables."""
    found: dict[str, str] = {}
    for column in columns:
        if folded(column) in own_names:
            raise SchemaError(
                f"column {column!r} has the name of a column that tables in the lake have for themselves",
                hint="rename it, or leave it out: --set column.exclude.list=schema.table.column of penstock cdc add",
            )
        other = found.setdefault(folded(column), column)
        if other != column:
            raise SchemaError(
                f"columns {other!r} and {column!r} would have one name in the lake; let the connector leave one out",
                hint="penstock cdc add with --set column.exclude.list=schema.table.column",
            )


def apart(name: str, kind: T.DataType) -> str:
    """Return the name of the separate column for an incompatible type: `price__string`."""
    return f"{name}__{_spelled(kind)}"


def apart_from(name: str, kind: T.DataType) -> str | None:
    """Return the original name of a column separated because of its type, or None if the name has no type suffix."""
    base, _, suffix = name.rpartition("__")
    return base if base and _is_spelled(suffix, kind) else None


def _spelled(kind: T.DataType) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", kind.simpleString()).strip("_")


def _is_spelled(suffix: str, kind: T.DataType) -> bool:
    """Whether a suffix spells the type, or a narrower type that was widened since."""
    match kind:
        case T.ArrayType() if suffix.startswith(_ARRAY):
            return _is_spelled(suffix.removeprefix(_ARRAY), kind.elementType)
        case T.DecimalType() if found := re.fullmatch(r"decimal_(\d+)_(\d+)", suffix):
            return wider(T.DecimalType(int(found[1]), int(found[2])), kind) == kind
        case _:
            others = (*(rank() for rank in _RANKS), T.FloatType(), kind)
            return any(suffix == _spelled(other) and wider(other, kind) == kind for other in others)


def base_name(name: str) -> str:
    """Return the database name of a column that may be a separated column."""
    return name.rpartition("__")[0] or name


def own_name(name: str, columns: Mapping[str, T.DataType]) -> str:
    """Return the name that a column would have if its type had come first."""
    base = base_name(name)
    is_apart = base in columns and name == apart(base, columns[name]) and not wider(columns[base], columns[name])
    return base if is_apart else name


def wider(one: T.DataType, other: T.DataType) -> T.DataType | None:
    """Return a type that holds all values of both types, or None."""
    match one, other:
        case _ if one == other:
            return one
        case T.DecimalType(), T.DecimalType():
            scale = max(one.scale, other.scale)
            precision = max(one.precision - one.scale, other.precision - other.scale) + scale
            return T.DecimalType(precision, scale) if precision <= _MOST_DIGITS else None
        case T.ArrayType(), T.ArrayType():
            inner = wider(one.elementType, other.elementType)
            return T.ArrayType(inner) if inner else None
        case _ if type(one) in _RANKS and type(other) in _RANKS:
            return max(one, other, key=lambda kind: _RANKS.index(type(kind)))
        case _ if {type(one), type(other)} == {T.FloatType, T.DoubleType}:
            return T.DoubleType()
        case _:
            return None


def key_type(one: T.DataType, other: T.DataType) -> T.DataType | None:
    """Return a type for comparing values of both types as keys, or None. An integer equals its text form.

    Other types cannot be compared with text, because PostgreSQL's text form of a value may differ from Spark's.
    """
    match one, other:
        case _ if both := wider(one, other):
            return both
        case (T.StringType(), number) | (number, T.StringType()) if _digits(number):
            return T.StringType()
        case _ if _digits(one) and _digits(other):
            return T.DecimalType(min(_MOST_DIGITS, max(_digits(one), _digits(other))), 0)
        case _:
            return None


def _digits(kind: T.DataType) -> int:
    """Return the maximum number of digits of an integer type, or 0 for other types."""
    if isinstance(kind, T.DecimalType):
        return kind.precision if kind.scale == 0 else 0
    return _WHOLE_DIGITS.get(type(kind), 0)


Fit = Callable[[T.DataType, T.DataType], T.DataType | None]
"""Function that returns a common type for two types, or None."""


def united(schemas: Iterable[T.StructType], keys: Collection[str] = ()) -> T.StructType:
    """Return the columns of all schemas, in order of appearance. Incompatible types get separate columns."""
    found: dict[str, T.DataType] = {}
    for schema in schemas:
        for field in schema.fields:
            take_in(found, field.name, field.dataType, key_type if spelled(found, field.name) in keys else wider)
    return T.StructType([T.StructField(name, kind) for name, kind in found.items()])


def take_in(columns: dict[str, T.DataType], name: str, kind: T.DataType, fit: Fit = wider) -> str:
    """Add a column for values of a type, or widen an existing column. Return the column's name."""
    found = placed(columns, name, kind, fit)
    columns[found] = fit(columns.get(found, kind), kind) or kind
    return found


def placed(columns: Mapping[str, T.DataType], name: str, kind: T.DataType, fit: Fit = wider) -> str:
    """Return the name of the column for values of a type: the plain name or a separate column's name."""
    own = spelled(columns, name)
    return own if own not in columns or fit(columns[own], kind) else spelled(columns, apart(own, kind))
