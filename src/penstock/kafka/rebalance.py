"""What happens when a group shares its partitions out anew."""

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
    """What the caller wants to hear of."""

    on_assigned: OnPartitions | None = None
    on_revoked: OnPartitions | None = None
    on_lost: OnPartitions | None = None


class Rebalance:
    """librdkafka's rebalance callbacks; they run inside a poll, on whichever thread polls.

    `settled` says whether the group has told this member its share, which may be none, in `partitions`.

    None of them raises, because librdkafka would throw fetched messages away: what goes wrong is a failure of the
    session.
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
        """Partitions are ours from now on; a cooperative group first gives none, and then those that others gave up."""
        self._change(self.partitions.union(map(partition_id, places)), settled=True)
        self._tell(self._callbacks.on_assigned, places)

    def revoked(self, _handle: Handle, places: Sequence[TopicPartition]) -> None:
        """Partitions go to other members, as soon as this returns: commit what was processed first."""
        try:
            self._tell(self._callbacks.on_revoked, places)
            self._committer.commit(wait=True)
        except PenstockError as error:
            self._session.failures.append(error)
        finally:
            self._let_go(places)

    def lost(self, _handle: Handle, places: Sequence[TopicPartition]) -> None:
        """Partitions went to other members already, so that nothing can be committed."""
        self._let_go(places)
        self._tell(self._callbacks.on_lost, places)

    def _let_go(self, places: Sequence[TopicPartition]) -> None:
        """Forget partitions, and that they may be paused, which librdkafka would still know when they come back."""
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
