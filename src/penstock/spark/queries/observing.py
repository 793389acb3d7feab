"""Count messages and rejections while a batch is written, without reading the messages twice."""

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
    """Number of messages read, including rejected messages, and number of rejected messages."""

    read: int
    refused: int


def observed(decoded: DataFrame, observation: Observation) -> DataFrame:
    """Return the messages, counted by the observation during processing."""
    return decoded.observe(observation, F.count(F.lit(1)).alias("read"), F.count(PROBLEM).alias("refused"))


def counts_of(observation: Observation) -> Counts | None:
    """Return the counts of a written batch; None if Spark skipped reading the messages."""
    found = observed_values(observation)
    return None if found is None else Counts(found["read"], found["refused"])


def observed_values(observation: Observation) -> Mapping[str, int] | None:
    """Return an observation's counts by name; None if no result arrives within 20 s.

    Spark reports no result after skipping the messages.
    """
    told = observation._jo.future()  # type: ignore[union-attr]  # noqa: SLF001 - PySpark can only wait without end
    give_up = time.monotonic() + _WAIT_SECONDS
    while not told.isCompleted():
        if time.monotonic() > give_up:
            return None
        time.sleep(_LOOK_SECONDS)
    return observation.get
