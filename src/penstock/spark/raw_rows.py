"""Rows from raw messages: key and value as bytes, one row per message."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.decoding import PROBLEM

_NO_PROBLEM = "struct<code:string,message:string>"


class RawRows:
    """Decoder that accepts every message and leaves the interpretation to the transform."""

    @property
    def schema(self) -> T.StructType:
        """The columns `key` and `value`, both binary."""
        return T.StructType([T.StructField("key", T.BinaryType()), T.StructField("value", T.BinaryType())])

    def decode(self, messages: DataFrame) -> DataFrame:
        """Add a column `problem` that is always null."""
        return messages.select("*", F.lit(None).cast(_NO_PROBLEM).alias(PROBLEM))

    def fields(self) -> Sequence[Column]:
        """Return `key` and `value`."""
        return [F.col("key"), F.col("value")]

    def learn(self, messages: DataFrame) -> None:
        """Do nothing: raw messages have no schemas."""
