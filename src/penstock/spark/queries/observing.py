"""Counting while writing: how many messages went by and how many were refused, without reading them twice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.decoding import PROBLEM

_WAIT_SECONDS = 20.0
_LOOK_SECONDS = 0.002


class Counts(NamedTuple):
    """How many messages were read, and how many of them were refused."""

    read: int
    refused: int


def observed(decoded: DataFrame, observation: Observation) -> DataFrame:
    """The same messages, counted as they go by."""
    return decoded.observe(observation, F.count(F.lit(1)).alias("read"), F.count(PROBLEM).alias("refused"))


def counts_of(observation: Observation) -> Counts | None:
    """What was counted while the rows were written; None if Spark found no need to look at the messages at all."""
    found = observed_values(observation)
    return None if found is None else Counts(found["read"], found["refused"])


def observed_values(observation: Observation) -> Mapping[str, int] | None:
    """What an observation counted, by name; None if Spark found no need to look."""
    told = observation._jo.future()  # type: ignore[union-attr]  # noqa: SLF001 - PySpark can only wait without end
    give_up = time.monotonic() + _WAIT_SECONDS
    while not told.isCompleted():
        if time.monotonic() > give_up:
            return None
        time.sleep(_LOOK_SECONDS)
    return observation.get
