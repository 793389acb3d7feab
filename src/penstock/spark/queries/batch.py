"""The path of one micro-batch. The order of the steps provides the delivery guarantee.

A crash between any two steps is harmless: the query's position stays unchanged until step 6, so the batch is read
again. A lake sink knows which messages have landed and accepts only the rest. A topic and the dead letters receive the
batch again, at least once; each record carries its origin. A message that is left out of the sink is kept as a dead
letter before the batch lands: landed messages are not transformed again, so the rejected message would never be found.

A sink may need Spark only for the first half of step 4. The second half then runs after step 5, followed by the dead
letters for the messages that the sink returns, and both finish before step 6.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from operator import or_
from typing import Any, Literal, TypeVar, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.errors import PenstockError, RecordInvalid, TransformFailed, UnknownFailure
from penstock.events.record import Origin
from penstock.kafka.offsets import Offsets
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.decoding import KAFKA, MESSAGE_COLUMNS, PROBLEM, Decoder, is_refused, origin_of, problem
from penstock.spark.failures import REFUSED, Refused, UnfitRows, UnknownSchemas, spark_failures
from penstock.spark.queries.narrowing import OffsetRange, failing_ranges, ranges_around, ranges_of
from penstock.spark.queries.observing import Counts, counts_of, observed
from penstock.spark.queries.screening import fit_rows, screened, unfit_messages
from penstock.spark.sinks.sink import Batch, Rest, Sink, WriteAgain
from penstock.spark.transforms import Transform

FailureMode = Literal["CONTINUE", "THROW"]
ReadRange = Callable[[OffsetRange], DataFrame]
"""Reads a range of a batch's offsets again."""

Result = TypeVar("Result")

_PROBLEM_TYPE = "struct<code: string, message: string>"
_PLACE = ["topic", "partition", "offset"]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchPath:
    """Stages of a batch: decoder, transform and sink, plus the destination of rejected messages."""

    decoder: Decoder
    transform: Transform
    sink: Sink
    dead_letters: DeadLetters
    failure_mode: FailureMode = "CONTINUE"


@dataclass
class Underway:
    """Batch in progress, with the messages to leave out.

    The transform fails on messages in `failing`; the sink cannot write all rows of messages in `unfit`. Both are kept
    as dead letters as soon as they are found. `rest` is the sink's remaining work. Messages returned by `rest` are kept
    after the rows are safe: a sink with a `rest` does not report a landed position, so the sink receives the messages
    again after a crash. A batch that `is_suspect` failed several times for an unknown reason, and is searched for the
    messages that cause the failure.
    """

    batch: Batch
    messages: DataFrame
    read_range: ReadRange
    failing: dict[OffsetRange, TransformFailed] = field(default_factory=dict)
    unfit: set[Origin] = field(default_factory=set)
    rest: Rest | None = None
    is_suspect: bool = False

    @property
    def left_out(self) -> int:
        """The number of messages left out of the batch."""
        return sum(part.size for part in self.failing) + len(self.unfit)

    def remaining(self, messages: DataFrame) -> DataFrame:
        """Return the messages that are not left out."""
        if self.failing:
            messages = messages.filter(~reduce(or_, map(_in_range, self.failing)))
        if self.unfit:
            # An Arrow table: for Python rows, Spark would start a Python process to read them.
            found = messages.sparkSession.createDataFrame(pa.table({"origin": [str(origin) for origin in self.unfit]}))
            messages = messages.join(F.broadcast(found), _origin_text() == found["origin"], "left_anti")
        return messages


@dataclass(frozen=True)
class _Written:
    """Counts of a written batch, if available, and the number of messages left out during the write."""

    counts: Counts | None
    unfit: int


def run_batch(path: BatchPath, underway: Underway) -> Counts:
    """Run steps 1 to 5 of one batch; the caller finishes the batch and saves the progress.

    1 read    2 decode    3 transform    4 write to the sink    5 keep rejected messages    6 save the progress
    """
    # 1 read, without messages that have landed already
    landed = underway.batch.already_landed
    arriving = unlanded(underway.messages, landed)
    # 2 decode, 3 transform, 4 write; messages that fail to transform or to write are kept and left out
    written = _mending(path, underway, lambda: _write(path, arriving, underway))
    # 5 keep rejected messages; without a count, search for them
    if written.counts is None or written.counts.refused or landed:
        _learning(path.decoder, underway.messages, lambda: _keep_refused(path, underway))
    known = written.counts or Counts(underway.batch.size - underway.left_out, 0)
    left_out = underway.left_out
    return Counts(known.read + left_out, known.refused + left_out + written.unfit)


def finish_batch(path: BatchPath, underway: Underway, counts: Counts) -> Counts:
    """Run the sink's remaining work and keep the returned messages. Return the final counts."""
    untaken = underway.rest() if underway.rest else {}
    if untaken and path.failure_mode == "THROW":
        raise next(iter(untaken.values()))
    if untaken:
        with spark_failures("reading refused messages again"):
            again = reduce(DataFrame.unionAll, map(underway.read_range, ranges_around(untaken)))
        path.dead_letters.write(_refusal_of(untaken, again))
    return Counts(counts.read, counts.refused + len(untaken))


def good_rows(decoder: Decoder, decoded: DataFrame) -> DataFrame:
    """Return the rows of the messages without a problem, each with the origin."""
    return decoded.filter(F.col(PROBLEM).isNull()).select(*decoder.fields(), _origin())


def _whole_rows(decoder: Decoder, decoded: DataFrame) -> DataFrame:
    """Return the rows of the messages without a problem, each with the complete message."""
    return decoded.filter(F.col(PROBLEM).isNull()).select(*decoder.fields(), F.struct(*MESSAGE_COLUMNS).alias(KAFKA))


@cache
def _origin() -> Column:
    return F.struct(*(F.col(name) for name in MESSAGE_COLUMNS if name != "value")).alias(KAFKA)


def unlanded(messages: DataFrame, landed: Offsets) -> DataFrame:
    """Return the messages that are not in the sink yet."""
    if not landed:
        return messages
    places = F.create_map(*(F.lit(item) for place, offset in landed.items() for item in (str(place), offset)))
    place = F.concat_ws("/", F.col("topic"), F.col("partition").cast("string"))
    return messages.filter(F.col("offset") >= F.coalesce(F.try_element_at(places, place), F.lit(0)))


def _mending(path: BatchPath, underway: Underway, attempt: Callable[[], Result]) -> Result:
    """Attempt a step of a batch; retry if the sink asks, after learning schemas or finding messages to leave out."""
    while True:
        try:
            return attempt()
        except WriteAgain:
            continue  # the next attempt counts the messages anew
        except UnknownSchemas:
            path.decoder.learn(underway.messages)
        except Refused as refusal:
            raise RecordInvalid(str(refusal), hint="repair or skip the message; failure_mode is THROW") from refusal
        except UnfitRows:
            _leave_out_unfit(path, underway)
        except (TransformFailed, UnknownFailure) as failure:
            if isinstance(failure, UnknownFailure) and not underway.is_suspect:
                raise
            _leave_out_failing(path, failure, underway)


def _learning(decoder: Decoder, messages: DataFrame, attempt: Callable[[], None]) -> None:
    """Attempt a step that decodes messages; retry after learning unseen schemas."""
    while True:
        try:
            return attempt()
        except UnknownSchemas:
            decoder.learn(messages)


def _write(path: BatchPath, messages: DataFrame, underway: Underway) -> _Written:
    observation = Observation()
    decoded = path.decoder.decode(underway.remaining(messages))
    is_strict = path.failure_mode == "THROW"
    if is_strict:
        decoded = decoded.filter(_raise_refusal())
    with spark_failures("writing a batch"):
        given = good_rows(path.decoder, observed(decoded, observation))
        rows = path.transform(given)
        screen = screened(path.sink, rows, given, strict=is_strict)

        @cache
        def keep_unfit() -> int:
            """Keep the messages left out during the write. Return the number of messages, or 0 if unknown."""
            unfit = screen.unfit() if screen.observation is None or counts_of(observation) else None
            if unfit != 0:
                _keep_unfit(path, underway)
            return unfit or 0

        batch = replace(underway.batch, before_landing=keep_unfit)
        underway.rest = path.sink.write(path.sink.form(screen.rows), batch)
        unfit = keep_unfit()
        counts = counts_of(observation)
        saw_all = counts is None or counts.read == underway.batch.size or not _may_stop_early(rows)
        return _Written(counts if saw_all else None, unfit)


def _may_stop_early(rows: DataFrame) -> bool:
    """Whether a LIMIT may end the read early, which leaves later rejected messages uncounted."""
    return "GlobalLimit" in rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - PySpark prints plans only


def _leave_out_failing(path: BatchPath, failure: PenstockError, underway: Underway) -> None:
    """Find and keep the messages on which the transform fails; raise if `failure_mode` is THROW."""

    def try_range(part: OffsetRange) -> TransformFailed | UnknownFailure | None:
        messages = underway.remaining(underway.read_range(part))
        try:
            _learning(path.decoder, messages, lambda: _transform_only(path, messages))
        except TransformFailed as failed:
            return failed
        except UnknownFailure as failed:
            if not underway.is_suspect:
                raise
            return failed
        return None

    found = failing_ranges(ranges_of(underway.batch), try_range)
    if not found:
        raise UnknownFailure(failure.message, hint=failure.hint) from failure
    if path.failure_mode == "THROW":
        place, first = next(iter(found.items()))
        raise TransformFailed(f"{place}: {first.message}", hint="failure_mode is THROW") from failure
    unsearched = sum(part.size for part in found if part.size > 1)
    if unsearched:
        _log.warning(
            "%s: %s messages are kept together with those on which the transform fails; correct the transform, "
            "then replay them: %s",
            path.dead_letters.pipeline,
            f"{unsearched:,}",
            failure.message,
        )
    _keep(path, underway.messages, _range_problem(found))
    underway.failing.update(found)


def _leave_out_unfit(path: BatchPath, underway: Underway) -> None:
    """Find and keep the messages with rows that the sink cannot write."""
    found = _unfit(path, underway)
    assert found is not None  # noqa: S101 - rows without an origin fail like a transform
    letters = found.dropDuplicates(_PLACE)
    with spark_failures("finding rows that cannot be written"):
        new = {Origin(*row) for row in letters.select(*_PLACE).collect()}
    if not new:
        raise UnknownFailure("the batch has rows that the sink cannot write, but not when it is read again")
    path.dead_letters.write(letters)
    underway.unfit |= new


def _transform_only(path: BatchPath, messages: DataFrame) -> None:
    """Transform messages and form their rows without writing, to test whether the transform fails."""
    with spark_failures("transforming"):
        rows = path.transform(good_rows(path.decoder, path.decoder.decode(messages)))
        path.sink.form(fit_rows(path.sink, rows)).write.format("noop").mode("overwrite").save()


def _keep(path: BatchPath, messages: DataFrame, refusal: Column) -> None:
    """Keep the messages with a problem."""
    path.dead_letters.write(messages.select(*MESSAGE_COLUMNS, refusal.alias(PROBLEM)).filter(is_refused()))


def _keep_refused(path: BatchPath, underway: Underway) -> None:
    """Keep the batch's messages rejected by the decoder."""
    decoded = path.decoder.decode(underway.messages).select(*MESSAGE_COLUMNS, PROBLEM)
    path.dead_letters.write(decoded.filter(is_refused()))


def _keep_unfit(path: BatchPath, underway: Underway) -> None:
    """Keep the messages with rows that the sink cannot write, except messages left out and kept earlier."""
    found = _unfit(path, underway)
    if found is not None:
        path.dead_letters.write(found)


def _unfit(path: BatchPath, underway: Underway) -> DataFrame | None:
    """Return the batch's messages with rows that the sink cannot write, and the reasons."""
    arriving = unlanded(underway.messages, underway.batch.already_landed)
    decoded = path.decoder.decode(underway.remaining(arriving))
    with spark_failures("looking at rows again"):
        return unfit_messages(path.sink, path.transform(_whole_rows(path.decoder, decoded)))


def _raise_refusal() -> Column:
    """Return true for a valid message; a rejected message fails the batch with the origin in the error."""
    refusal = F.concat_ws(" ", F.lit(REFUSED), _origin_text(), F.col(PROBLEM).getField("message"))
    return F.when(is_refused(), F.raise_error(refusal).cast("boolean")).otherwise(F.lit(True))


def _in_range(part: OffsetRange) -> Column:
    topic, partition = part.partition
    is_place = (F.col("topic") == topic) & (F.col("partition") == partition)
    return is_place & (F.col("offset") >= part.start) & (F.col("offset") < part.end)


def _range_problem(failing: Mapping[OffsetRange, TransformFailed]) -> Column:
    """Return the problem of a message in a failing range; null outside the ranges."""
    branches = cast("Any", F)
    for part, failure in failing.items():
        said = failure.message if part.size == 1 else f"one of the messages {part}, or all together: {failure.message}"
        branches = branches.when(_in_range(part), problem(failure.code, F.lit(said)))
    return cast("Column", branches)


def _origin_text() -> Column:
    return origin_of(*(F.col(name) for name in _PLACE))


def _refusal_of(refusals: Mapping[Origin, PenstockError], messages: DataFrame) -> DataFrame:
    """Return the messages with the given origins, possibly many, together with the problems."""
    errors = list(refusals.values())
    # An Arrow table: for Python rows, Spark would start a Python process to read them.
    table = pa.table(
        {
            "origin": [str(origin) for origin in refusals],
            "code": [error.code for error in errors],
            "message": [error.message for error in errors],
        }
    )
    known = messages.sparkSession.createDataFrame(table)
    found = known.select("origin", F.struct("code", "message").alias(PROBLEM))
    placed = messages.withColumn("origin", _origin_text())
    return placed.join(F.broadcast(found), "origin").select(*MESSAGE_COLUMNS, PROBLEM)
