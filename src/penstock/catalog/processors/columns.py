"""Column expressions for processors, with support for missing fields and invalid values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.base import PROBLEM
from penstock.spark.decoding import KAFKA, quoted


@dataclass(frozen=True)
class Cluster:
    """Cluster with its code, and the shorter name used in some events."""

    code: str
    short_name: str | None = None


def field(records: DataFrame, *paths: str) -> Column:
    """Return the first existing field that is not null; null if no field has a value."""
    found = [_at(path) for path in paths if type_at(records.schema, path) is not None]
    return F.coalesce(*found) if found else F.lit(None).cast("string")


def type_at(schema: T.StructType, path: str) -> T.DataType | None:
    """Return the type of a nested field, or None if the field does not exist."""
    found: T.DataType | None = schema
    for name in path.split("."):
        found = found[name].dataType if isinstance(found, T.StructType) and name in found.names else None
    return found


def _at(path: str) -> Column:
    return F.col(".".join(quoted(name) for name in path.split(".")))


def number(text: Column) -> Column:
    """Return the text as a number; null if the text is not a number."""
    return text.try_cast("long")


def not_a_number(name: str, text: Column) -> Column:
    """Return the problem of a text that is not a number, else null."""
    return F.when(
        text.isNotNull() & number(text).isNull(), F.concat(F.lit(f"{name} is no number: "), F.left(text, F.lit(50)))
    )


def missing(name: str, value: Column) -> Column:
    """Return the problem of a required value that is missing, else null."""
    return F.when(value.isNull() | (value.cast("string") == F.lit("")), F.lit(f"the event has no {name}"))


def normal_cluster(value: Column, clusters: Sequence[Cluster]) -> Column:
    """Return the code of the first cluster whose code, or else short name, is part of the value; else the value."""
    by_code = [(cluster.code, cluster.code) for cluster in clusters]
    by_name = [(cluster.short_name, cluster.code) for cluster in clusters if cluster.short_name]
    return reduce(
        lambda rest, pair: F.when(value.contains(pair[0]), F.lit(pair[1])).otherwise(rest),
        reversed(by_code + by_name),
        value,
    )


def rows(selected: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Select the required output of a processor: its columns, the problem and the record's position."""
    return selected.select(*columns, PROBLEM, KAFKA)


def first_problem(*problems: Column) -> Column:
    """Return the first problem as the column `problem`."""
    return F.coalesce(*problems, F.lit(None).cast("string")).alias(PROBLEM)
