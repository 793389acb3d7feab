"""Transforms of changes: keep the change metadata consistent with the transformed rows.

A renamed key is still the key. An unavailable value makes every derived column unavailable. A filter produces the
changes of a filtered table, which contains only the rows that satisfy the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.changes.batch import is_missing, renamed_in
from penstock.spark.changes.lineage import Made, made_of, read_by
from penstock.spark.debezium.columns import apart_from
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import KAFKA, quoted
from penstock.spark.internal_names import internal

_HOLDS = internal("holds")
_FREE = (CDC, KAFKA)


def following(transform: Callable[[DataFrame], DataFrame]) -> Callable[[DataFrame], DataFrame]:
    """Wrap a transform so that `_cdc` names keys and unavailable values by the resulting columns."""
    known: dict[str, Mapping[str, Made]] = {}

    def followed(rows: DataFrame) -> DataFrame:
        result = transform(rows)
        if CDC not in rows.columns or CDC not in result.columns:
            return result
        columns = rows.schema.json()
        # Analyzing a plan takes longer than a small batch, and columns rarely change.
        if columns not in known:
            known[columns] = made_of(result, rows)
        return _told_anew(result, rows.schema, known[columns])

    return followed


def _told_anew(result: DataFrame, before: T.StructType, made: Mapping[str, Made]) -> DataFrame:
    others = {name: each for name, each in made.items() if name not in _FREE and each.sources != {name}}
    if not others:
        return result
    own = [name for name, each in made.items() if each.sources == {name}]
    copies = {next(iter(each.sources)): name for name, each in others.items() if each.is_copy}
    names = {old: name for old, name in copies.items() if old not in own}
    told = renamed_in(F.col(CDC), names).withField("unavailable", _missing(own, others, before))
    return result.withColumn(CDC, told)


def _missing(own: list[str], others: Mapping[str, Made], before: T.StructType) -> Column:
    """Return the names of unavailable columns; null stays null."""
    told = F.col(CDC).getField("unavailable")
    kinds = {field.name: field.dataType for field in before.fields}
    still = F.array_intersect(told, F.array(*map(F.lit, own)).cast("array<string>"))
    found = [F.when(F.arrays_overlap(told, _names_of(each, kinds)), F.lit(name)) for name, each in others.items()]
    return F.when(told.isNotNull(), F.concat(still, F.array_compact(F.array(*found).cast("array<string>"))))


def _names_of(made: Made, kinds: Mapping[str, T.DataType]) -> Column:
    """Return the names under which a column's sources may be listed as unavailable."""
    names = {*made.sources, *(apart_from(name, kinds[name]) for name in made.sources)}
    return F.array(*(F.lit(name) for name in sorted(filter(None, names)))).cast("array<string>")


def chosen(rows: DataFrame, condition: str) -> DataFrame:
    """Return the changes of the filtered table, which contains only the rows satisfying a condition.

    Deletions and truncates pass, because they contain at most keys. An update whose new row fails the condition becomes
    a deletion, because the row may be stored. A change lacking a value needed by the condition fails.
    """
    cdc, op = F.col(CDC), F.col(CDC).getField("op")
    looked_at = sorted(read_by(condition, rows) - set(_FREE))
    unknown = [F.when(is_missing(name), F.lit(name)) for name in looked_at]
    failure = F.concat(F.lit("the filter needs a large value that was not sent again: "), F.concat_ws(", ", *unknown))
    holds = F.when(op.isin("d", "t"), F.lit(True)).otherwise(F.coalesce(F.expr(condition), F.lit(False)))
    known = F.when(F.concat_ws("", *unknown) != "", F.raise_error(failure).cast("boolean")).otherwise(holds)
    kept = rows.withColumn(_HOLDS, known if looked_at else holds).filter(F.col(_HOLDS) | (op == "u"))
    keys, outside = cdc.getField("keys"), cdc.getField("outside")
    of_key = F.map_filter(outside, lambda name, _: F.array_contains(keys, name))
    nothing = F.lit(None).cast(_kind_of(rows, "unavailable"))
    gone = (
        cdc.withField("op", F.lit("d"))
        .withField("unavailable", nothing)
        .withField("outside", F.when(F.size(of_key) > 0, of_key))
    )
    told = F.when(F.col(_HOLDS), cdc).otherwise(gone).alias(CDC)
    return kept.select(*(told if name == CDC else _cell(name) for name in rows.columns))


def _cell(name: str) -> Column:
    value = F.col(quoted(name))
    is_key = F.array_contains(F.col(CDC).getField("keys"), name)
    return value if name == KAFKA else F.when(F.col(_HOLDS) | is_key, value).alias(name)


def _kind_of(rows: DataFrame, name: str) -> T.DataType:
    told = rows.schema[CDC].dataType
    assert isinstance(told, T.StructType)  # noqa: S101 - the change metadata is a struct
    return told[name].dataType
