"""Raw records for many hands: given out in batches, done in any order, and committed as their owner says."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from threading import RLock

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
"""Commits are made when the owner says so; a refusal that passes goes with the next one."""

_log = logging.getLogger(__name__)


class GroupReader:
    """Reads the partitions that a group gives to this member, or those in `starts` where there is no group.

    Records come as they are, undecoded. Nothing counts as processed until `done` says so, and nothing is committed but
    by `commit`, `close`, and before partitions go to another member: then `on_revoked` is called first, which may call
    `done` once more. A member whose owner is away at work stays in the group, with its partitions paused, and
    `on_revoked` comes on another thread. Topics that are not there are read as soon as they are.

    One thread takes; any may call the rest.
    """

    is_exhausted = False
    """A topic may always get more."""

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
        self._unanswered = 0
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

    def steady(self) -> RLock:
        """Within this context no partition goes or comes, save inside of `take`."""
        return self._session.lock

    def take(self, size: int, wait: float) -> list[ConsumerRecord]:
        """The records that are there, or come within `wait` seconds; what goes wrong for good is raised."""
        with self._session.lock:
            if self._closed:
                return []
            self._keepalive.caller_comes()
            try:
                self._fetcher.serve()
                if not self._fetcher:
                    self._fetcher.fetch(size, wait)
                self._raise_failure()
                return self._give(size)
            finally:
                self._keepalive.caller_goes()

    def done(self, offsets: Offsets) -> None:
        """All records before these offsets are processed."""
        with self._session.lock:
            self._session.progress.settle_to(offsets)

    def commit(self, *, wait: bool) -> None:
        """Tell the broker what is processed; one such call at a time is underway, so a second one waits for both.

        CommitFailed and other Transient errors say that the broker was not told; the next commit has it as well.
        """
        with self._session.lock:
            if self._closed or self._session.group is None:
                return
            before = self._session.progress.uncommitted()
            if before and not wait and not self._unanswered:
                self._unanswered += 1
                self._committer.commit(wait=False)
            elif before:
                self._committer.commit(wait=True)

    def lag(self) -> dict[PartitionId, int]:
        """How many records of each partition are not processed, as far as the last fetch told."""
        with self._session.lock:
            if self._closed:
                return {}
            processed = self._session.progress.processed()
            return {place: self._behind(place, processed.get(place)) for place in sorted(self._rebalance.partitions)}

    @property
    def is_connected(self) -> bool:
        """False while no broker answers, as far as `look` found out."""
        return not self._watch.hopeless

    def look(self) -> None:
        """Find out whether the brokers are back, after they were lost."""
        if self._watch.hopeless:
            with self._session.lock, suppress(KafkaException):
                self._handle.list_topics(timeout=_LOOK_SECONDS)
                self._watch.restart()

    @property
    def partitions(self) -> list[PartitionId]:
        """What this member reads now."""
        return sorted(self._rebalance.partitions)

    @property
    def position(self) -> Offsets:
        """The first offset of each partition that is not processed."""
        with self._session.lock:
            return self._session.progress.processed()

    def close(self) -> None:
        """Commit what is processed and leave the group; on any thread, also while the owner is at work."""
        self._keepalive.stop()
        with self._session.lock:
            if self._closed:
                return
            try:
                if self._session.group is not None:
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

    def _commit_unless_lost(self) -> None:
        self.look()
        if self._watch.hopeless and self._session.progress.uncommitted():
            raise BrokerUnavailable(
                "the broker is away, so the last offsets are not committed", hint="their events will be read again"
            )
        self._committer.commit(wait=True)

    def _answered(self, error: KafkaError | None, places: Sequence[TopicPartition]) -> None:
        self._unanswered = 0
        self._committer.answered(error, places)

    def _raise_failure(self) -> None:
        """Raise what went wrong in the background, unless it passes by itself."""
        while self._session.failures:
            failure = self._session.failures.popleft()
            if not isinstance(failure, Transient | TopicNotFound):
                raise failure
            _log.warning("%s", failure)
