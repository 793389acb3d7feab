"""Leave out rows that a sink cannot write, by a condition that the sink provides.

If the sink can screen and each message yields at most one row, unfit rows are left out and counted during the write.
Otherwise the batch fails with a marker, a single job finds the messages, the messages are kept as dead letters, and the
rest of the batch is written: landed messages are not examined again, and a message with some rows in the sink could not
be replayed. A row without an origin fails like a transform.
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
"""Column that exists only during screening; sinks never receive it."""


class Screened(NamedTuple):
    """Rows the sink can write; `observation` counts the rows left out silently."""

    rows: DataFrame
    observation: Observation | None = None

    def unfit(self) -> int | None:
        """Return how many rows were left out of the written batch; None if the count is missing."""
        if self.observation is None:
            return 0
        found = observed_values(self.observation)
        return None if found is None else found["unfit"]


def screened(sink: Sink, rows: DataFrame, given: DataFrame, *, strict: bool) -> Screened:
    """Return the rows the sink can write; `given` are the rows before the transform.

    If a row cannot be left out, the batch fails inside Spark; with `strict`, every unfit row fails the batch.
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
    """Return the rows the sink can write. Rows without an origin fail if unfit."""
    problem = _problem(sink, rows)
    if problem is None:
        return rows
    carried = with_origin(rows)
    if KAFKA not in carried.columns:
        return _failing(carried, problem, _message(problem))
    return carried.filter(problem.isNull())


def unfit_messages(sink: Sink, rows: DataFrame) -> DataFrame | None:
    """Return the origin and the problem of each unfit row; None if unfit rows cannot be identified."""
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
