"""Rebalance handling of a group member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from confluent_kafka import Consumer as Handle
from confluent_kafka import TopicPartition

from penstock.errors import PenstockError
from penstock.kafka.committer import Committer
from penstock.kafka.fetcher import Fetcher
from penstock.kafka.offsets import PartitionId, partition_id
from penstock.kafka.session import Session

OnPartitions = Callable[[list[PartitionId]], None]


class Callbacks(NamedTuple):
    """The caller's rebalance callbacks."""

    on_assigned: OnPartitions | None = None
    on_revoked: OnPartitions | None = None
    on_lost: OnPartitions | None = None


class Rebalance:
    """Handlers of librdkafka's rebalance callbacks. They run inside a poll, on the polling thread.

    `settled` is true once the group has assigned `partitions`, possibly none.

    No handler raises, because librdkafka would discard fetched messages: errors become failures of the session.
    """

    def __init__(self, session: Session, fetcher: Fetcher, committer: Committer, callbacks: Callbacks) -> None:
        self.settled = False
        self.changed_at = monotonic()
        self.partitions: set[PartitionId] = set()
        self._session = session
        self._fetcher = fetcher
        self._committer = committer
        self._callbacks = callbacks

    def assigned(self, _handle: Handle, places: Sequence[TopicPartition]) -> None:
        """Add partitions. A cooperative group assigns none at first, then those released by members."""
        self._change(self.partitions.union(map(partition_id, places)), settled=True)
        self._tell(self._callbacks.on_assigned, places)

    def revoked(self, _handle: Handle, places: Sequence[TopicPartition]) -> None:
        """Commit processed records, then release partitions. New owners get the partitions after the return."""
        try:
            self._tell(self._callbacks.on_revoked, places)
            self._committer.commit(wait=True)
        except PenstockError as error:
            self._session.failures.append(error)
        finally:
            self._let_go(places)

    def lost(self, _handle: Handle, places: Sequence[TopicPartition]) -> None:
        """Release partitions already owned by other members. Nothing can be committed."""
        self._let_go(places)
        self._tell(self._callbacks.on_lost, places)

    def _let_go(self, places: Sequence[TopicPartition]) -> None:
        """Forget partitions. Resume them, since librdkafka would remember the pause at a later assignment."""
        self._session.handle.resume(list(places))
        partitions = [partition_id(place) for place in places]
        self._session.progress.forget(partitions)
        self._fetcher.drop(partitions)
        self._change(self.partitions.difference(partitions), settled=False)

    def _change(self, partitions: set[PartitionId], *, settled: bool) -> None:
        self.partitions = partitions
        self.settled = settled
        self.changed_at = monotonic()

    def _tell(self, callback: OnPartitions | None, places: Sequence[TopicPartition]) -> None:
        try:
            if callback is not None:
                callback([partition_id(place) for place in places])
        except Exception as error:  # noqa: BLE001 - a caller's callback may raise anything; the caller gets it back
            self._session.failures.append(error)
