"""The path of one micro-batch, in the order on which its guarantee rests.

A crash between any two steps is harmless: until step 6 the query's position stays where it was, so the batch is read
again. A lake then knows what of it has landed, and takes only the rest; a topic gets it again, at least once, and so do
the dead letters. Each record carries its origin. A message that is left out of what lands is kept first: what has
landed is not transformed again, so nobody would come upon it any more.

A sink may need Spark for the first half of step 4 only. Then the other half is done after step 5, with what the sink
gives back kept behind it, and still before step 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Literal

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.errors import PenstockError, RecordInvalid, TransformFailed
from penstock.events.record import Origin
from penstock.kafka.offsets import Offsets
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.decoding import KAFKA, MESSAGE_COLUMNS, PROBLEM, Decoder, is_refused, origin_of
from penstock.spark.failures import REFUSED, Refused, UnknownSchemas, spark_failures
from penstock.spark.queries.narrowing import OffsetRange, failing_messages, ranges_around, ranges_of
from penstock.spark.queries.observing import Counts, counts_of, observed
from penstock.spark.sinks.sink import Batch, Rest, Sink
from penstock.spark.transforms import Transform

FailureMode = Literal["CONTINUE", "THROW"]
ReadRange = Callable[[OffsetRange], DataFrame]
"""Reads a few messages of a batch again, by their offsets."""

_PROBLEM_TYPE = "struct<code: string, message: string>"


@dataclass(frozen=True)
class BatchPath:
    """What a batch goes through: decoder, transform and sink, and where refused messages go."""

    decoder: Decoder
    transform: Transform
    sink: Sink
    dead_letters: DeadLetters
    failure_mode: FailureMode = "CONTINUE"


@dataclass
class Underway:
    """A batch on its path, and what is known of it: what has landed before, what the transform fails on.

    What the transform fails on is kept as soon as it is found. `rest` is what the sink has still to do. What it gives
    back is kept after the rows are safe: such a sink does not say what has landed, so it is given them again after a
    crash.
    """

    batch: Batch
    messages: DataFrame
    landed: Offsets
    read_range: ReadRange
    failing: dict[Origin, TransformFailed] = field(default_factory=dict)
    rest: Rest | None = None


def run_batch(path: BatchPath, underway: Underway) -> Counts:
    """Take one batch through steps 1 to 5; the caller finishes it, and notes the progress then.

    1 read    2 decode    3 transform    4 write to the sink    5 keep what was refused    6 note the progress
    """
    # 1 read, without what has landed already
    arriving = unlanded(underway.messages, underway.landed)
    # 2 decode, 3 transform, 4 write; what the transform fails on is found, kept, and left out
    counts = _write_mending(path, arriving, underway)
    # 5 keep what was refused; where nothing was counted, look
    if counts is None or counts.refused or underway.landed:
        _learning(path.decoder, underway.messages, lambda: _keep_refused(path, underway))
    failing = len(underway.failing)
    known = counts or Counts(underway.batch.size - failing, 0)
    return Counts(known.read + failing, known.refused + failing)


def finish_batch(path: BatchPath, underway: Underway, counts: Counts) -> Counts:
    """Let the sink do the rest of its work, and keep what it gives back; the batch counts with that."""
    untaken = underway.rest() if underway.rest else {}
    if untaken:
        with spark_failures("reading refused messages again"):
            again = reduce(DataFrame.unionAll, map(underway.read_range, ranges_around(untaken)))
        _keep(path, again, untaken)
    return Counts(counts.read, counts.refused + len(untaken))


def good_rows(decoder: Decoder, decoded: DataFrame) -> DataFrame:
    """The rows of the messages that have no problem, each with where it comes from."""
    return decoded.filter(F.col(PROBLEM).isNull()).select(*decoder.fields(), _origin())


@cache
def _origin() -> Column:
    return F.struct(*(F.col(name) for name in MESSAGE_COLUMNS if name != "value")).alias(KAFKA)


def unlanded(messages: DataFrame, landed: Offsets) -> DataFrame:
    """The messages that are not in the sink yet."""
    if not landed:
        return messages
    places = F.create_map(*(F.lit(item) for place, offset in landed.items() for item in (str(place), offset)))
    place = F.concat_ws("/", F.col("topic"), F.col("partition").cast("string"))
    return messages.filter(F.col("offset") >= F.coalesce(F.try_element_at(places, place), F.lit(0)))


def _write_mending(path: BatchPath, messages: DataFrame, underway: Underway) -> Counts | None:
    """Write, and write again once schemas are learnt, or failing messages found and left out."""
    while True:
        try:
            return _write(path, messages, underway)
        except UnknownSchemas:
            path.decoder.learn(messages)
        except Refused as refusal:
            raise RecordInvalid(str(refusal), hint="repair or skip the message; failure_mode is THROW") from refusal
        except TransformFailed as failure:
            _leave_out(path, failure, underway)


def _learning(decoder: Decoder, messages: DataFrame, attempt: Callable[[], None]) -> None:
    """Do something with messages that are decoded, and again once schemas are learnt that were not seen before."""
    while True:
        try:
            return attempt()
        except UnknownSchemas:
            decoder.learn(messages)


def _write(path: BatchPath, messages: DataFrame, underway: Underway) -> Counts | None:
    observation = Observation()
    passing = messages.filter(~_is_failing(underway.failing)) if underway.failing else messages
    decoded = path.decoder.decode(passing)
    if path.failure_mode == "THROW":
        decoded = decoded.filter(_raise_refusal())
    with spark_failures("writing a batch"):
        rows = path.transform(good_rows(path.decoder, observed(decoded, observation)))
        underway.rest = path.sink.write(path.sink.form(rows), underway.batch)
        counts = counts_of(observation)
        saw_all = counts is None or counts.read == underway.batch.size or not _may_stop_early(rows)
        return counts if saw_all else None


def _may_stop_early(rows: DataFrame) -> bool:
    """Whether a LIMIT may end the reading, so that what is refused behind it goes by uncounted."""
    return "GlobalLimit" in rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - PySpark prints plans only


def _leave_out(path: BatchPath, failure: TransformFailed, underway: Underway) -> None:
    """Find the messages on which the transform fails and keep them; stop if the mode says so, or if there are none."""

    def try_range(part: OffsetRange) -> TransformFailed | None:
        messages = underway.read_range(part)
        try:
            _learning(path.decoder, messages, lambda: _transform_only(path, messages))
        except TransformFailed as failed:
            return failed
        return None

    found = failing_messages(ranges_of(underway.batch), try_range)
    new = {origin: failed for origin, failed in found.items() if origin not in underway.failing}
    if not new:
        raise failure
    if path.failure_mode == "THROW":
        origin, first = next(iter(new.items()))
        raise TransformFailed(f"{origin}: {first.message}", hint="failure_mode is THROW") from failure
    _keep(path, underway.messages, new)
    underway.failing.update(new)


def _transform_only(path: BatchPath, messages: DataFrame) -> None:
    """Take messages to the sink's door, to see whether the transform fails on them."""
    with spark_failures("transforming"):
        rows = path.sink.form(path.transform(good_rows(path.decoder, path.decoder.decode(messages))))
        rows.write.format("noop").mode("overwrite").save()


def _keep(path: BatchPath, messages: DataFrame, refusals: Mapping[Origin, PenstockError]) -> None:
    """Keep those of the messages that are refused by their origin."""
    undecoded = messages.select(*MESSAGE_COLUMNS, F.lit(None).cast(_PROBLEM_TYPE).alias(PROBLEM))
    path.dead_letters.write(_with_refusals(undecoded, refusals).filter(is_refused()))


def _keep_refused(path: BatchPath, underway: Underway) -> None:
    """Keep the messages of the batch that have a problem."""
    decoded = path.decoder.decode(underway.messages).select(*MESSAGE_COLUMNS, PROBLEM)
    path.dead_letters.write(decoded.filter(is_refused()))


def _raise_refusal() -> Column:
    """True for a good message; a refused one fails the whole batch, with its origin in the error."""
    origin = origin_of(F.col("topic"), F.col("partition"), F.col("offset"))
    refusal = F.concat_ws(" ", F.lit(REFUSED), origin, F.col(PROBLEM).getField("message"))
    return F.when(is_refused(), F.raise_error(refusal).cast("boolean")).otherwise(F.lit(True))


def _is_failing(failing: dict[Origin, TransformFailed]) -> Column:
    if not failing:
        return F.lit(False)
    return origin_of(F.col("topic"), F.col("partition"), F.col("offset")).isin([str(origin) for origin in failing])


def _with_refusals(decoded: DataFrame, refusals: Mapping[Origin, PenstockError]) -> DataFrame:
    """The messages with the problems of those that are refused by their origin, of which there may be many."""
    errors = list(refusals.values())
    # As a table of Arrow: rows of Python would be read by a Python process that Spark starts for them.
    table = pa.table(
        {
            "origin": [str(origin) for origin in refusals],
            "code": [error.code for error in errors],
            "message": [error.message for error in errors],
        }
    )
    known = decoded.sparkSession.createDataFrame(table)
    found = known.select("origin", F.struct("code", "message").alias("refusal"))
    placed = decoded.withColumn("origin", origin_of(F.col("topic"), F.col("partition"), F.col("offset")))
    told = F.coalesce(F.col(PROBLEM), F.col("refusal")).alias(PROBLEM)
    return placed.join(F.broadcast(found), "origin", "left").select(*MESSAGE_COLUMNS, told)
