"""A streaming query: source, path of the batches, and persistent state.

Every start discards Spark's own checkpoint, which only reports the offsets of a batch to a running query. The query's
progress is in the state and in the sink, so a lost or damaged checkpoint loses nothing.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockError
from penstock.events.record import GroupName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import Offsets
from penstock.spark.failures import as_error, spark_failures, translate
from penstock.spark.kafka_source import KafkaSource, current_ids, find_start, read_range, read_stream
from penstock.spark.queries.batch import BatchPath, Underway, finish_batch, run_batch
from penstock.spark.queries.behind import Behind
from penstock.spark.queries.laps import Laps
from penstock.spark.queries.observing import Counts
from penstock.spark.queries.position import NOWHERE, Position, flat
from penstock.spark.queries.state import State
from penstock.spark.queries.vitals import LastBatch
from penstock.spark.sinks.sink import Batch

_LOOK_SECONDS = 0.05
_POOL = "spark.scheduler.pool"
"""Jobs in one pool run sequentially, pools run concurrently; a query uses the pool of the thread that started it."""

_log = logging.getLogger(__name__)


class StopBetweenBatches(Exception):
    """Raised instead of running a batch when the query must stop. The batch is read again after a restart."""


@dataclass(frozen=True)
class QuerySpec:
    """Components of a query; `trigger` is an interval such as `10 seconds`, or None to read existing messages and end.

    The query reports its progress to the consumer group `group`, by default a group with the pipeline's name. A query
    that has lost its position continues at the group's offsets, unless the query `is_new` among older queries of the
    pipeline.
    """

    pipeline: str
    sink: str
    source: KafkaSource
    path: BatchPath
    state: State
    trigger: str | None = "0 seconds"
    owner: str = ""
    group: GroupName | None = None
    is_new: bool = False

    @property
    def name(self) -> str:
        """The query's name: the pipeline's and the sink's."""
        return f"{self.pipeline}.{self.sink}"

    @property
    def seen_in(self) -> GroupName:
        """The consumer group to which the query reports its progress."""
        return self.group or GroupName(self.pipeline)


class Query:
    """Query that can be started again after it ends; `stop` ends the query between two batches.

    All messages below `position` are processed. `batches` and `counts` accumulate over all starts. If a sink has
    remaining work without Spark, the next batch is read meanwhile, and `position` advances when the work is done.
    `underway` is the size of the batch being written. A query that `is_suspect` searches for messages that make its
    batch fail.
    """

    def __init__(self, session: SparkSession, spec: QuerySpec) -> None:
        self.spec = spec
        self.position = NOWHERE
        self.batches = 0
        self.counts = Counts(0, 0)
        self.last_batch: LastBatch | None = None
        self.underway = 0
        self.is_suspect = False
        self._session = session
        self._admin = Admin(spec.source.settings)
        self._running: StreamingQuery | None = None
        self._checkpoint = Path()
        self._landed = self.position
        """The sink's position, which may be ahead of the read position."""
        self._reached = self.position
        """The end of the last batch that was read; the batch may not be finished yet."""
        self._behind = Behind()
        self._number = 0
        self._failure: PenstockError | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """Finish the work interrupted by a crash, determine the start position, and start reading."""
        self._failure, self._behind, self.underway = None, Behind(), 0
        saved = self.spec.state.claim()
        landed = self.spec.path.sink.landed()
        self.spec.path.dead_letters.prepare(self.spec.source.topics)
        group = None if self.spec.is_new else self.spec.seen_in
        plan = find_start(self.spec.source, saved, landed, group)
        for loss in plan.losses:
            _log.warning("%s goes on without lost records: %s", self.spec.name, loss)
        self.spec.state.save(plan.position)
        self.position = self._reached = plan.position
        self._landed = plan.landed
        self._begin(plan.position)

    @property
    def is_active(self) -> bool:
        """Whether Spark runs the query, or the query's last batch is not finished yet."""
        if self._running is None:
            return False
        return self._behind.is_busy or (self._behind.failure is None and bool(self._running.isActive))

    def begin_no_batch(self) -> None:
        """Let the current batch be the last."""
        self._stopping.set()

    def stop(self, timeout: float = 60.0) -> None:
        """Stop between two batches; wait up to `timeout` seconds for the current batch."""
        self.begin_no_batch()
        deadline = time.monotonic() + timeout
        while self.is_active and self._is_in_batch() and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        if self._running is not None:
            self._running.stop()
        self._behind.settle(deadline - time.monotonic())
        self._forget_checkpoint()

    def ended(self) -> PenstockError | None:
        """Return the failure that ended the query; None if the query was stopped or has completed."""
        if self._running is not None and self._behind.failure is not None:
            self._running.stop()  # the query may be waiting for messages, unaware of the failure
            self._failure = as_error(self._behind.failure)
        self._forget_checkpoint()
        if self._failure is None and self._running is not None and not self._stopping.is_set():
            found = self._running.exception()
            self._failure = as_error(translate(found, f"running {self.spec.name}")) if found is not None else None
        return self._failure

    def _begin(self, start: Position) -> None:
        self._checkpoint = Path(tempfile.mkdtemp(prefix="penstock-checkpoint-"))
        trigger = self.spec.trigger
        self._session.sparkContext.setLocalProperty(_POOL, self.spec.name)
        with spark_failures(f"starting {self.spec.name}"):
            stream = read_stream(self._session, self.spec.source, start.offsets)
            writing = stream.writeStream.queryName(self.spec.name).foreachBatch(self._on_batch)
            writing = writing.option("checkpointLocation", self._checkpoint.as_uri())
            timed = writing.trigger(availableNow=True) if trigger is None else writing.trigger(processingTime=trigger)
            self._running = timed.start()

    def _on_batch(self, messages: DataFrame, batch_id: int) -> None:
        if self._stopping.is_set():
            raise StopBetweenBatches
        try:
            self._run(messages, batch_id)
        except PenstockError as error:
            self._failure = error
            raise

    def _run(self, messages: DataFrame, batch_id: int) -> None:
        laps = Laps()
        self.spec.state.check()
        self._number = max(self._number + 1, time.time_ns() // 1_000_000)
        ends = self._ends(batch_id)
        end = self._reached.advanced(ends, current_ids(self._admin, self._reached, ends))
        batch = Batch(self.spec.name, self._number, self._reached, end, self._landed)
        self.underway = batch.size
        read = partial(read_range, self._session, self.spec.source)
        underway = Underway(batch, messages, read, is_suspect=self.is_suspect)
        laps.end("finding its range")
        counts = run_batch(self.spec.path, underway)
        self.is_suspect = False  # later batches did not fail
        laps.end("reading and writing")
        self._behind.wait()
        laps.end("waiting for the batch before")
        self._reached = end
        self._landed = batch.lands_at
        finish = partial(self._finish, underway, counts, laps)
        if underway.rest:
            self._behind.begin(finish)
        else:
            finish()

    def _finish(self, underway: Underway, counts: Counts, laps: Laps) -> None:
        counts = finish_batch(self.spec.path, underway, counts)
        laps.end("finishing")
        # 6 save the progress
        end = underway.batch.end
        self.spec.state.save(end)
        laps.end("noting the progress")
        self.position = end
        self.underway = 0
        self.batches += 1
        self.counts = Counts(self.counts.read + counts.read, self.counts.refused + counts.refused)
        self.last_batch = LastBatch(datetime.now(UTC), counts.read, counts.refused, laps.seconds, laps.parts)

    def _ends(self, batch_id: int) -> Offsets:
        """Return the end of a batch, which Spark writes to its checkpoint before running the batch."""
        lines = (self._checkpoint / "offsets" / str(batch_id)).read_text(encoding="utf-8").splitlines()
        return flat(json.loads(lines[-1]))

    def _is_in_batch(self) -> bool:
        return self._running is not None and bool(self._running.status["isTriggerActive"])

    def _forget_checkpoint(self) -> None:
        if self._checkpoint.name:
            shutil.rmtree(self._checkpoint, ignore_errors=True)
