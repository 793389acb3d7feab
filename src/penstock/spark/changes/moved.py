"""Rows under new keys without their unavailable values: fill them from the rows of the old keys.

An update of a key arrives as a deletion of the old key and a creation of the new key, both with an equal log position.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.spark.changes.batch import Facts, is_missing
from penstock.spark.changes.order import position
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.internal_names import internal

_LSN: Final = internal("lsn")
_OLD_KEY: Final = internal("old key")
_NOW: Final = internal("now")
_PLACE: Final = internal("place")
_ORIGIN: Final = internal("origin")


def with_old_values(changes: DataFrame, stored: DataFrame, facts: Facts) -> DataFrame:
    """Return the changes, filled with earlier values of the old keys, from the batch or from the table.

    Values found in neither stay listed in `unavailable`.
    """
    told = {field.name: name for field in changes.schema if (name := facts.told_missing(field))}
    rows = _rows(changes, facts, told).unionByName(_rows(stored, facts, told))
    before = _moves(changes, stored, facts).join(rows, _OLD_KEY).filter(F.col(_PLACE) < F.col(_NOW))
    found = before.groupBy(_ORIGIN).agg(*map(_newest, told))
    joined = changes.withColumn(_ORIGIN, _origin()).join(found, _ORIGIN, "left")
    return joined.select(*(_cell(name, told) for name in changes.columns))


def without_deletion(changes: DataFrame) -> DataFrame:
    """Return the positions of rows under new keys that lack values, if the old key's deletion is not in the batch."""
    deleted = changes.filter(F.col(CDC).getField("op") == "d")
    return (
        changes.filter(_lacks())
        .select(_lsn().alias("lsn"))
        .join(deleted.select(_lsn().alias("lsn")), "lsn", "left_anti")
    )


def _moves(changes: DataFrame, stored: DataFrame, facts: Facts) -> DataFrame:
    """Return the rows under new keys that lack values, with the old keys."""
    new = changes.filter(_lacks()).select(_lsn(), _origin().alias(_ORIGIN), F.struct(*position()).alias(_NOW))
    gone = [each.filter(F.col(CDC).getField("op") == "d").select(_lsn(), _key(facts)) for each in (changes, stored)]
    return new.join(gone[0].union(gone[1]).dropDuplicates([_LSN]), _LSN)


def _rows(rows: DataFrame, facts: Facts, told: Mapping[str, str]) -> DataFrame:
    """Return the known values of the columns that may be unavailable, in structs because null is a value too."""
    values = (_known(name, missing).alias(_old(name)) for name, missing in told.items())
    is_there = ~F.col(CDC).getField("op").isin("d", "t")
    return rows.filter(is_there).select(_key(facts), F.struct(*position()).alias(_PLACE), *values)


def _known(name: str, told: str) -> Column:
    value = F.col(quoted(name))
    return F.when(~is_missing(told) | value.isNotNull(), F.struct(value.alias("value")))


def _newest(name: str) -> Column:
    old = F.col(quoted(_old(name)))
    return F.max_by(old, F.when(old.isNotNull(), F.col(_PLACE))).alias(_old(name))


def _old(name: str) -> str:
    return internal(f"old value of {name}")


def _cell(name: str, told: Mapping[str, str]) -> Column:
    if name == CDC:
        found = (F.when(F.col(quoted(_old(each))).isNotNull(), F.lit(missing)) for each, missing in told.items())
        left = F.array_except(F.col(CDC).getField("unavailable"), F.array_compact(F.array(*found)))
        return F.col(CDC).withField("unavailable", left).alias(CDC)
    if name not in told:
        return F.col(quoted(name))
    old = F.col(quoted(_old(name)))
    is_filled = is_missing(told[name]) & old.isNotNull()
    return F.when(is_filled, old.getField("value")).otherwise(F.col(quoted(name))).alias(name)


def _lacks() -> Column:
    """Whether a row is new and lacks large values that were not sent again."""
    cdc = F.col(CDC)
    return (cdc.getField("op") == "c") & (F.size(cdc.getField("unavailable")) > 0)


def _lsn() -> Column:
    return F.col(CDC).getField("lsn").alias(_LSN)


def _key(facts: Facts) -> Column:
    parts = (part.alias(f"part{number}") for number, part in enumerate(facts.identity()))
    return F.struct(*parts).alias(_OLD_KEY)


def _origin() -> Column:
    return F.struct(*(F.col(CDC).getField(name).alias(name) for name in ("partition", "offset")))
