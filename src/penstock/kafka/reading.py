"""Core of a consumer: fetches records, gives them out, and tracks progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from threading import Event
from time import monotonic
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, TopicPartition
from confluent_kafka import Consumer as Handle

from penstock.config import Settings
from penstock.errors import CommitFailed, OperationTimedOut, PenstockError, RecordUndecodable, UsageError
from penstock.events.record import ConsumerRecord
from penstock.kafka.admin import Admin
from penstock.kafka.commits import CommitPolicy
from penstock.kafka.committer import Committer
from penstock.kafka.decoding import RecordDecoder
from penstock.kafka.errors import translated
from penstock.kafka.fetcher import Fetcher
from penstock.kafka.keepalive import KeepAlive
from penstock.kafka.offsets import Offsets, PartitionId, partition_id
from penstock.kafka.progress import upto
from penstock.kafka.rebalance import Callbacks, Rebalance
from penstock.kafka.session import Session
from penstock.kafka.start import find_partitions
from penstock.kafka.watch import ConnectionWatch

_WAIT_SECONDS = 0.1
_PATIENCE_SECONDS = 3.0
_PATIENCE_SHARE = 0.25


@dataclass(frozen=True)
class Plan:
    """Configuration of a consumer. `starts` has the offsets to start at if there is no group."""

    settings: Settings
    topics: Sequence[str]
    group: str | None
    starts: Offsets
    timeout: float | None
    policy: CommitPolicy
    decoder: RecordDecoder
    callbacks: Callbacks


class Reading:
    """Gives records out in order, and marks them as processed when the caller comes back."""

    def __init__(self, plan: Plan, options: dict[str, Any]) -> None:
        self._plan = plan
        self._timeout = inf if plan.timeout is None else plan.timeout
        self._closing = Event()
        self._closed = False
        self._watch = ConnectionWatch()
        with translated("making a consumer"):
            self._handle = Handle({**options, "error_cb": self._watch, "on_commit": self._on_commit})
        self._session = Session(self._handle, plan.group, str(plan.settings.kafka.get("sasl.username", "")))
        self._progress = self._session.progress
        self._committer = Committer(self._session, plan.policy)
        fallback = OFFSET_BEGINNING if options["auto.offset.reset"] == "earliest" else OFFSET_END
        self._fetcher = Fetcher(self._session, fallback)
        self._rebalance = Rebalance(self._session, self._fetcher, self._committer, plan.callbacks)
        patience = min(_PATIENCE_SECONDS, _PATIENCE_SHARE * int(options["max.poll.interval.ms"]) / 1000)
        tick = self._committer.commit_in_background
        self._keepalive = KeepAlive(self._session, patience, keep=self._fetcher.keep, tick=tick)
        self._begin()

    def take(self, size: int, fetch_size: int) -> list[ConsumerRecord]:
        """Return the next records, at most `size`. Raise StopIteration if nothing arrives within the timeout.

        1. Mark the records given out before as processed, since the caller came back.
        2. Commit them if the policy says so. A batch ends when all fetched records are given out.
        3. Raise background errors.
        4. Fetch messages, unless some are left. The group is served in either case.
        5. Decode the messages and give them out.
        """
        with self._session.lock:
            self._refuse_closed()
            self._keepalive.caller_comes()
            try:
                self._settle(batch_ends=size == fetch_size or not self._fetcher)
                self._raise_failure()
                return self._next(size, fetch_size)
            finally:
                self._keepalive.caller_goes()

    def commit(self, record: ConsumerRecord | None) -> None:
        """Commit the partition up to and including a record, or all records given out. Wait for the answer."""
        with self._session.lock:
            self._refuse_closed()
            if record is None:
                self._progress.settle_all()
            elif not self._progress.settle_upto(record):
                hint = "another member of the group has it, and will read the record again"
                raise CommitFailed(f"{record.origin}: the partition is not this consumer's any more", hint=hint)
            self._committer.commit(wait=True)

    def assignment(self) -> list[PartitionId]:
        """Return the partitions that are read now."""
        with self._session.lock:
            return [] if self._closed else [partition_id(place) for place in self._handle.assignment()]

    def close(self) -> None:
        """Commit processed records and leave the group. Ends a waiting `take` on another thread."""
        self._closing.set()
        self._keepalive.stop()
        with self._session.lock:
            if self._closed:
                return
            try:
                if self._progress.uncommitted():
                    self._refuse_lost_connection()
                self._committer.commit(wait=True)
            except PenstockError:
                self._progress.clear()
                raise
            finally:
                self._handle.close()
                self._closed = True
            self._raise_failure()

    def _begin(self) -> None:
        plan, rebalance = self._plan, self._rebalance
        if plan.group is None:
            rebalance.partitions = set(plan.starts)
            rebalance.settled = True
            self._progress.begin(plan.starts)
            self._handle.assign([TopicPartition(*partition, offset) for partition, offset in plan.starts.items()])
            return
        with translated(f"subscribing to {', '.join(plan.topics)}"):
            self._handle.subscribe(list(plan.topics), rebalance.assigned, rebalance.revoked, rebalance.lost)
        self._keepalive.start()

    def _settle(self, *, batch_ends: bool) -> None:
        if self._plan.policy.how != "none":
            self._progress.settle()
        self._committer.commit_if_due(batch_ends=batch_ends)

    def _next(self, size: int, fetch_size: int) -> list[ConsumerRecord]:
        try:
            self._fetch(fetch_size)
            return self._give(size)
        except KeyboardInterrupt:
            self._fetcher.tear()
            raise

    def _fetch(self, size: int) -> None:
        self._fetcher.serve()
        idle_since = monotonic()
        while not self._fetcher:
            self._fetcher.fetch(size, _WAIT_SECONDS)
            self._raise_failure()
            self._committer.commit_if_due()
            if self._closing.is_set():
                raise StopIteration
            if self._is_joining():
                idle_since = monotonic()
            elif not self._fetcher and monotonic() - idle_since >= self._timeout:
                self._refuse_early_end()
                raise StopIteration

    def _is_joining(self) -> bool:
        """Whether the group may still assign partitions, waiting at most for the settings' timeout."""
        waited = monotonic() - self._rebalance.changed_at
        return not self._rebalance.partitions and waited < self._plan.settings.timeout

    def _refuse_early_end(self) -> None:
        """Raise unless the timeout is a normal end: no more records, or more members than partitions."""
        self._refuse_lost_connection()
        if not self._rebalance.settled:
            raise OperationTimedOut(
                f"joining group '{self._plan.group}' takes longer than {self._plan.settings.timeout:g} s",
                hint="it may be waiting for a member that died, until its session ends; `penstock groups show` tells",
            )

    def _refuse_lost_connection(self) -> None:
        """Raise BrokerUnavailable if the connection was lost and cannot be restored."""
        if self._watch.hopeless:
            with Admin(self._plan.settings) as admin:
                find_partitions(admin, self._plan.topics)
            self._watch.restart()

    def _give(self, size: int) -> list[ConsumerRecord]:
        try:
            records = self._plan.decoder.records(self._fetcher.head(size))
        except RecordUndecodable:
            origin = self._fetcher.next_origin()
            self._fetcher.advance(1)
            self._progress.give(upto([origin]))
            raise
        self._fetcher.advance(len(records))
        self._progress.give(upto(records))
        return records

    def _on_commit(self, error: KafkaError | None, places: Sequence[TopicPartition]) -> None:
        self._committer.answered(error, places)

    def _raise_failure(self) -> None:
        if self._session.failures:
            raise self._session.failures.popleft()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise UsageError("the consumer is closed", hint="make a new one")
