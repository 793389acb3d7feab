"""Group reader of raw records: given out in batches, processed in any order, committed by the owner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Consumer as Handle

from penstock.config import Settings
from penstock.errors import BrokerUnavailable, TopicNotFound, Transient
from penstock.events.record import ConsumerRecord, Offset
from penstock.kafka.commits import CommitPolicy
from penstock.kafka.committer import Committer
from penstock.kafka.consumer_options import librdkafka_options
from penstock.kafka.decoding import raw_record
from penstock.kafka.errors import translated
from penstock.kafka.fetcher import Fetcher
from penstock.kafka.keepalive import KeepAlive
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.kafka.progress import upto
from penstock.kafka.rebalance import Callbacks, Rebalance
from penstock.kafka.session import Session
from penstock.kafka.start import Fallback
from penstock.kafka.watch import ConnectionWatch

_PATIENCE_SECONDS = 3.0
_PATIENCE_SHARE = 0.25
_LOOK_SECONDS = 1.0
_BY_ITS_OWNER = CommitPolicy("auto", inf)
"""Only the owner commits. Offsets refused by a transient error are sent with the next commit."""

_log = logging.getLogger(__name__)
Received = TypeVar("Received")


@dataclass(frozen=True)
class Standing:
    """Progress of a reader: unprocessed records and position of each partition, and whether brokers answer."""

    lag: Mapping[PartitionId, int] = field(default_factory=dict)
    position: Offsets = field(default_factory=dict)
    is_connected: bool = True


class GroupReader:
    """Reads the partitions assigned by the group, or `starts` if there is no group.

    Records are returned undecoded. Only `commit` and `close` commit offsets. `on_revoked` is called before partitions
    move to another member, and may commit. While the owner is busy, the member stays in the group with its partitions
    paused, and `on_revoked` is called on a background thread. Missing topics are read as soon as they exist.

    Only one thread may call `take`; any thread may call the other methods.
    """

    is_exhausted = False
    """A topic may receive more records at any time."""

    def __init__(
        self,
        settings: Settings,
        topics: Sequence[str],
        group: str | None,
        *,
        starts: Offsets | None = None,
        fallback: Fallback = "latest",
        callbacks: Callbacks = Callbacks(),  # noqa: B008 - immutable
    ) -> None:
        options = librdkafka_options(
            settings, topics, group=group, fallback=fallback, assignment="eager", instance_id=None
        )
        self._watch = ConnectionWatch()
        self._unanswered = False
        with translated("making a consumer"):
            self._handle = Handle({**options, "error_cb": self._watch, "on_commit": self._answered})
        self._session = Session(self._handle, group, str(settings.kafka.get("sasl.username", "")))
        self._committer = Committer(self._session, _BY_ITS_OWNER)
        self._fetcher = Fetcher(self._session, OFFSET_BEGINNING if fallback == "earliest" else OFFSET_END)
        self._rebalance = Rebalance(self._session, self._fetcher, self._committer, callbacks)
        patience = min(_PATIENCE_SECONDS, _PATIENCE_SHARE * int(options["max.poll.interval.ms"]) / 1000)
        self._keepalive = KeepAlive(self._session, patience, keep=self._fetcher.keep, tick=lambda: None)
        self._closed = False
        self._begin(topics, starts or {})

    def take(self, size: int, wait: float, receive: Callable[[list[ConsumerRecord]], Received]) -> Received:
        """Pass records that are available, or arrive within `wait` seconds, to `receive`; return its result.

        `receive` is called before any partition can be revoked. Permanent errors are raised.
        """
        with self._session.lock:
            if self._closed:
                return receive([])
            self._keepalive.caller_comes()
            try:
                self._fetcher.serve()
                if not self._fetcher:
                    self._fetcher.fetch(size, wait)
                self._raise_failure()
                return receive(self._give(size))
            finally:
                self._keepalive.caller_goes()

    def commit(self, done: Offsets, *, wait: bool) -> None:
        """Commit: all records before these offsets are done.

        Only one asynchronous commit is in flight at a time; the next call waits for both answers. After a Transient
        error such as CommitFailed, the offsets are not committed; the next commit includes them.
        """
        with self._session.lock:
            self._session.progress.settle_to(done)
            if self._closed or self._session.group is None or not self._session.progress.uncommitted():
                return
            goes_on = not wait and not self._unanswered
            self._unanswered = goes_on
            self._committer.commit(wait=not goes_on)

    def standing(self) -> Standing:
        """Return the member's progress. If brokers were lost, check whether they are back."""
        with self._session.lock:
            if self._closed:
                return Standing()
            self._look_for_brokers()
            processed = self._session.progress.processed()
            lag = {place: self._behind(place, processed.get(place)) for place in sorted(self._rebalance.partitions)}
            return Standing(lag, processed, is_connected=not self._watch.hopeless)

    def close(self, done: Offsets) -> None:
        """Commit and leave the group. May be called from any thread, also while the owner is busy."""
        self._keepalive.stop()
        with self._session.lock:
            if self._closed:
                return
            try:
                if self._session.group is not None:
                    self._session.progress.settle_to(done)
                    self._commit_unless_lost()
            finally:
                self._handle.close()
                self._closed = True

    def _begin(self, topics: Sequence[str], starts: Offsets) -> None:
        if self._session.group is None:
            self._rebalance.partitions = set(starts)
            self._session.progress.begin(starts)
            self._handle.assign([TopicPartition(*partition, offset) for partition, offset in starts.items()])
            return
        with translated(f"subscribing to {', '.join(topics)}"):
            rebalance = self._rebalance
            self._handle.subscribe(list(topics), rebalance.assigned, rebalance.revoked, rebalance.lost)
        self._keepalive.start()

    def _give(self, size: int) -> list[ConsumerRecord]:
        records = [raw_record(message) for message in self._fetcher.head(size)]
        self._fetcher.advance(len(records))
        self._session.progress.give(upto(records))
        return records

    def _behind(self, place: PartitionId, processed: Offset | None) -> int:
        try:
            low, high = self._handle.get_watermark_offsets(TopicPartition(*place), cached=True)
        except KafkaException:
            return 0
        if high < 0 or processed is None:
            return 0
        return max(0, high - max(low, processed))

    def _look_for_brokers(self) -> None:
        if self._watch.hopeless:
            with suppress(KafkaException):
                self._handle.list_topics(timeout=_LOOK_SECONDS)
                self._watch.restart()

    def _commit_unless_lost(self) -> None:
        self._look_for_brokers()
        if self._watch.hopeless and self._session.progress.uncommitted():
            raise BrokerUnavailable(
                "the broker is away, so the last offsets are not committed", hint="their events will be read again"
            )
        self._committer.commit(wait=True)

    def _answered(self, error: KafkaError | None, places: Sequence[TopicPartition]) -> None:
        self._unanswered = False
        self._committer.answered(error, places)

    def _raise_failure(self) -> None:
        """Raise background errors. Transient errors and missing topics are only logged."""
        while self._session.failures:
            failure = self._session.failures.popleft()
            if not isinstance(failure, Transient | TopicNotFound):
                raise failure
            _log.warning("%s", failure)
