"""Rows from messages as they are: key and value in bytes; every message is a row."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.decoding import PROBLEM

_NO_PROBLEM = "struct<code:string,message:string>"


class RawRows:
    """Takes every message, and leaves it to the transform to make something of it."""

    @property
    def schema(self) -> T.StructType:
        """As the protocol says."""
        return T.StructType([T.StructField("key", T.BinaryType()), T.StructField("value", T.BinaryType())])

    def decode(self, messages: DataFrame) -> DataFrame:
        """As the protocol says."""
        return messages.select("*", F.lit(None).cast(_NO_PROBLEM).alias(PROBLEM))

    def fields(self) -> Sequence[Column]:
        """As the protocol says."""
        return [F.col("key"), F.col("value")]

    def learn(self, messages: DataFrame) -> None:
        """As the protocol says: there is nothing to learn."""
