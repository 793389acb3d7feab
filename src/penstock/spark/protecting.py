"""Column protection: drop, mask or hash columns before a transform or a sink receives the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.debezium.columns import base_name
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import KAFKA, quoted
from penstock.spark.transforms import Transform

Treatment = Literal["drop", "mask", "hash"]
Treat = Callable[[str], Treatment | None]
"""Returns the treatment of a column by its name in the database; None leaves the column unchanged."""

MASK: Final = "****"
_BLOCK: Final = 64
_INNER, _OUTER = 0x36, 0x5C

REDACTION: Final = {"spark.sql.redaction.string.regex": f"0x[0-9A-Fa-f]{{{2 * _BLOCK}}}"}
"""Spark settings that hide hash keys in printed plans."""


def protecting(treat: Treat, secret: bytes) -> Transform:
    """Return a transform that removes protected values from rows.

    A hashed column is text: HMAC-SHA-256 in hex. A masked column is `****` if its type is text, otherwise null. The
    change metadata in `_cdc` reveals no protected value, and lists no key columns if a key column is dropped or masked.
    """

    def transform(rows: DataFrame) -> DataFrame:
        plan = _planned(rows.columns, treat)
        return rows.select(*_cells(rows.schema, plan, secret)) if plan.columns else rows

    return transform


def hmac_sha256(value: Column, secret: bytes) -> Column:
    """Return the HMAC of RFC 2104 in hex: two rounds of SHA-256 whose keys are computed in advance."""
    key = (hashlib.sha256(secret).digest() if len(secret) > _BLOCK else secret).ljust(_BLOCK, b"\0")
    inner, outer = (F.lit(bytearray(byte ^ pad for byte in key)) for pad in (_INNER, _OUTER))
    return F.sha2(F.concat(outer, F.unhex(F.sha2(F.concat(inner, value), 256))), 256)


@dataclass(frozen=True)
class _Plan:
    """Treatment of each protected column.

    `names` lists the protected columns under their names in the rows and in the database; `gone` lists only the dropped
    and masked columns.
    """

    columns: Mapping[str, Treatment]
    names: Sequence[str]
    gone: Sequence[str]


def _planned(columns: Sequence[str], treat: Treat) -> _Plan:
    treated = {name: treatment for name in columns if (treatment := treat(name) or treat(base_name(name)))}
    names = {each: treat(each) for name in treated for each in (name, base_name(name))}
    return _Plan(
        treated,
        [name for name, treatment in names.items() if treatment],
        [name for name, treatment in names.items() if treatment in {"drop", "mask"}],
    )


def _cells(schema: T.StructType, plan: _Plan, secret: bytes) -> Iterator[Column]:
    for field in schema.fields:
        value = F.col(quoted(field.name))
        match plan.columns.get(field.name):
            case "mask":
                yield _masked(value, field.dataType).alias(field.name)
            case "hash":
                outside = _outside(field.name) if CDC in schema.names else F.lit(None)
                yield hmac_sha256(_as_bytes(value, field.dataType, outside), secret).alias(field.name)
            case None:
                yield _told(field.name, value, plan).alias(field.name)


def _masked(value: Column, kind: T.DataType) -> Column:
    return F.when(value.isNotNull(), MASK) if isinstance(kind, T.StringType) else F.lit(None).cast(kind)


def _outside(name: str) -> Column:
    """Return the text of a value outside the range of the column's type, such as infinity."""
    return F.try_element_at(F.col(CDC).getField("outside"), F.lit(name))


def _as_bytes(value: Column, kind: T.DataType, outside: Column) -> Column:
    """Return the bytes to hash: binary values unchanged, all other values as text."""
    match kind:
        case T.BinaryType():
            return value
        case T.ArrayType() | T.MapType() | T.StructType():
            return F.to_json(value).cast("binary")
        case _:
            return F.coalesce(value.cast("string"), outside).cast("binary")


def _told(name: str, value: Column, plan: _Plan) -> Column:
    if name == CDC:
        return _change(value, plan)
    return _message(value, plan) if name == KAFKA else value


def _change(cdc: Column, plan: _Plan) -> Column:
    """Return the change metadata without the values of protected columns."""
    keys, unavailable, outside = (cdc.getField(name) for name in ("keys", "unavailable", "outside"))
    loses_key = F.arrays_overlap(keys, _names(plan.gone))
    return (
        cdc.withField("keys", F.when(loses_key, _names([])).otherwise(keys))
        .withField("unavailable", F.array_except(unavailable, _names(plan.gone)))
        .withField("outside", F.map_filter(outside, lambda name, _: ~name.isin(*plan.names)))
    )


def _message(message: Column, plan: _Plan) -> Column:
    """Return the row's origin, without the message key if the key contains a protected column."""
    tells = F.arrays_overlap(F.col(CDC).getField("keys"), _names(plan.names))
    return message.withField("key", F.when(~tells, message.getField("key")))


def _names(names: Sequence[str]) -> Column:
    return F.array(*map(F.lit, names)).cast("array<string>")
