"""Leave out rows that a sink cannot write, by the condition that the sink itself gives.

Where a sink can screen and each message makes one row at most, unfit rows are left out and counted while the batch is
written. Elsewhere the batch fails with a mark, the messages are found in one job and kept, and the batch is written
without them: what has landed is not looked at again, and a message of which other rows land could not be replayed. A
row without an origin fails like a transform.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.carrying import with_origin
from penstock.spark.changes.lineage import at_most_one_row_each
from penstock.spark.decoding import KAFKA, PROBLEM, origin_of
from penstock.spark.failures import REFUSED, UNFIT
from penstock.spark.queries.observing import observed_values
from penstock.spark.sinks.sink import ChoosySink, Sink

_UNFIT: Final = "_kafka: unfit"
"""A column while rows are screened; no sink sees it."""


class Screened(NamedTuple):
    """The rows that the sink can write; `observation` counts the others, where they are left out silently."""

    rows: DataFrame
    observation: Observation | None = None

    def unfit(self) -> int | None:
        """Return how many rows were left out of the batch that was written; None if they were not counted."""
        if self.observation is None:
            return 0
        found = observed_values(self.observation)
        return None if found is None else found["unfit"]


def screened(sink: Sink, rows: DataFrame, given: DataFrame, *, strict: bool) -> Screened:
    """Return the rows that the sink can write, made by a transform of the `given` ones.

    The batch fails inside of Spark on a row that cannot be left out: if `strict`, on any.
    """
    problem = _problem(sink, rows)
    if problem is None:
        return Screened(rows)
    carried = with_origin(rows)
    if KAFKA not in carried.columns:
        return Screened(_failing(carried, problem, _message(problem)))
    if strict:
        return Screened(_failing(carried, problem, F.concat_ws(" ", F.lit(REFUSED), _origin(), _message(problem))))
    if not (_can_screen(sink) and at_most_one_row_each(rows, given)):
        return Screened(_failing(carried, problem, F.lit(UNFIT)))
    observation = Observation()
    counted = carried.withColumn(_UNFIT, problem).observe(observation, F.count(_UNFIT).alias("unfit"))
    return Screened(counted.filter(F.col(_UNFIT).isNull()).drop(_UNFIT), observation)


def fit_rows(sink: Sink, rows: DataFrame) -> DataFrame:
    """Return the rows that the sink can write, without those that `screened` handles; others fail."""
    problem = _problem(sink, rows)
    if problem is None:
        return rows
    carried = with_origin(rows)
    if KAFKA not in carried.columns:
        return _failing(carried, problem, _message(problem))
    return carried.filter(problem.isNull())


def unfit_messages(sink: Sink, rows: DataFrame) -> DataFrame | None:
    """Return the origin of each row that the sink cannot write, with its problem; None where none can be found."""
    problem = _problem(sink, rows)
    carried = with_origin(rows)
    if problem is None or KAFKA not in carried.columns:
        return None
    return (
        carried.select(KAFKA, problem.alias(PROBLEM)).filter(F.col(PROBLEM).isNotNull()).select(f"{KAFKA}.*", PROBLEM)
    )


def _problem(sink: Sink, rows: DataFrame) -> Column | None:
    return sink.unfit(rows.schema) if isinstance(sink, ChoosySink) else None


def _can_screen(sink: Sink) -> bool:
    return isinstance(sink, ChoosySink) and sink.can_screen


def _failing(rows: DataFrame, problem: Column, said: Column) -> DataFrame:
    return rows.filter(F.when(problem.isNotNull(), F.raise_error(said).cast("boolean")).otherwise(F.lit(True)))


def _message(problem: Column) -> Column:
    return problem.getField("message")


def _origin() -> Column:
    return origin_of(*(F.col(KAFKA).getField(name) for name in ("topic", "partition", "offset")))
