"""Columns that processors are written in: fields that may be missing, numbers and texts that may be wrong."""

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
    """A cluster, and the shorter name that it has in some events."""

    code: str
    short_name: str | None = None


def field(records: DataFrame, *paths: str) -> Column:
    """The first of these fields that the records have and that is not null; null if they have none of them."""
    found = [_at(path) for path in paths if type_at(records.schema, path) is not None]
    return F.coalesce(*found) if found else F.lit(None).cast("string")


def type_at(schema: T.StructType, path: str) -> T.DataType | None:
    """The type of a field of a field; None if there is none."""
    found: T.DataType | None = schema
    for name in path.split("."):
        found = found[name].dataType if isinstance(found, T.StructType) and name in found.names else None
    return found


def _at(path: str) -> Column:
    return F.col(".".join(quoted(name) for name in path.split(".")))


def number(text: Column) -> Column:
    """The text as a number; null if it is none."""
    return text.try_cast("long")


def not_a_number(name: str, text: Column) -> Column:
    """The problem of a text that should be a number."""
    return F.when(
        text.isNotNull() & number(text).isNull(), F.concat(F.lit(f"{name} is no number: "), F.left(text, F.lit(50)))
    )


def missing(name: str, value: Column) -> Column:
    """The problem of a value that must be there."""
    return F.when(value.isNull() | (value.cast("string") == F.lit("")), F.lit(f"the event has no {name}"))


def normal_cluster(value: Column, clusters: Sequence[Cluster]) -> Column:
    """The code of the first cluster whose code, or else whose short name, is in the value; else the value."""
    by_code = [(cluster.code, cluster.code) for cluster in clusters]
    by_name = [(cluster.short_name, cluster.code) for cluster in clusters if cluster.short_name]
    return reduce(
        lambda rest, pair: F.when(value.contains(pair[0]), F.lit(pair[1])).otherwise(rest),
        reversed(by_code + by_name),
        value,
    )


def rows(selected: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The contract of a processor's result: its columns, the problem and where each row comes from."""
    return selected.select(*columns, PROBLEM, KAFKA)


def first_problem(*problems: Column) -> Column:
    """The first thing that is wrong, as the column `problem`."""
    return F.coalesce(*problems, F.lit(None).cast("string")).alias(PROBLEM)
