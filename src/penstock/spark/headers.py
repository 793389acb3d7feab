"""Kafka's headers as columns."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

HEADERS: Final = "array<struct<key:string,value:binary>>"
ORIGIN: Final = "penstock.origin"


def own_headers(headers: Column) -> Column:
    """A message's headers, none where there are none."""
    return F.coalesce(headers, F.array().cast(HEADERS))


def header(name: str, value: Column) -> Column:
    """One header as Spark's Kafka sink takes it."""
    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))
