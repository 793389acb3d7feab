"""Kafka headers as columns."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

HEADERS: Final = "array<struct<key:string,value:binary>>"
ORIGIN: Final = "penstock.origin"


def own_headers(headers: Column) -> Column:
    """Return a message's headers; an empty array instead of null."""
    return F.coalesce(headers, F.array().cast(HEADERS))


def header(name: str, value: Column) -> Column:
    """Return a header in the form expected by Spark's Kafka sink."""
    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))
