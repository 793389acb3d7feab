"""Commit a group's offsets and handle the broker's answers."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, sleep

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.errors import CommitFailed, PenstockError, Transient
from penstock.events.record import Offset
from penstock.kafka.commits import CommitPolicy
from penstock.kafka.errors import Right, translate
from penstock.kafka.offsets import Offsets, partition_id
from penstock.kafka.session import Session

_EXPELLED_HINT = "the group went on without this member, and another, perhaps of the same instance_id, has its records"
_NO_BROKER_HINT = "no broker that keeps the group answers; what is not committed will be read again"
_RETRIES = 20
_RETRY_SECONDS = 0.1
_REBALANCING = {KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION}
"""The group is between two assignments: librdkafka sends a commit after a rejoin that makes its generation stale."""

_EXPELLED = {
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError._ASSIGNMENT_LOST,  # noqa: SLF001 - librdkafka's own codes start with _
    KafkaError._FATAL,  # noqa: SLF001 - as above
}


class Committer:
    """Commits processed offsets according to the policy.

    Refused offsets stay uncommitted and are sent again with the next commit. Failures of asynchronous commits go to the
    session's failures, unless the group is rebalancing or the policy `auto` retries a transient error.
    """

    def __init__(self, session: Session, policy: CommitPolicy) -> None:
        self._session = session
        self._policy = policy
        self._last = monotonic()

    def commit_if_due(self, *, batch_ends: bool = False) -> None:
        """Commit processed offsets if the policy says that a commit is due."""
        if self._policy.due(monotonic() - self._last, batch_ends=batch_ends):
            self.commit(wait=self._policy.how == "sync")

    def commit_in_background(self) -> None:
        """Commit if due under the policy `auto`. All other policies wait for the caller's return."""
        if self._policy.how == "auto":
            self.commit_if_due()

    def commit(self, *, wait: bool) -> None:
        """Commit processed offsets. With `wait`, block until the broker answers, and raise a refusal."""
        self._last = monotonic()
        offsets = self._session.progress.uncommitted()
        if not offsets:
            return
        self._session.progress.commit(offsets)
        places = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        if wait:
            self._commit_and_wait(places)
        else:
            self._commit_and_go_on(places)

    def answered(self, error: KafkaError | None, places: Sequence[TopicPartition]) -> None:
        """Handle the broker's answer to an asynchronous commit."""
        for reason, refused in _refusals(error, places).items():
            failure = self._refused(reason, refused)
            is_retried = reason.code() in _REBALANCING or (
                self._policy.how == "auto" and isinstance(failure, Transient)
            )
            if not is_retried:
                self._session.failures.append(failure)

    def _commit_and_wait(self, places: list[TopicPartition]) -> None:
        for retries_left in range(_RETRIES, -1, -1):
            try:
                self._session.handle.commit(offsets=places, asynchronous=False)
            except KafkaException as failure:
                error = failure.args[0]
                if error.code() not in _REBALANCING or not retries_left:
                    raise self._refused(error, _offsets(places)) from failure
                sleep(_RETRY_SECONDS)
            else:
                return

    def _commit_and_go_on(self, places: list[TopicPartition]) -> None:
        try:
            self._session.handle.commit(offsets=places, asynchronous=True)
        except KafkaException as failure:
            self.answered(failure.args[0], places)

    def _refused(self, error: KafkaError, offsets: Offsets) -> PenstockError:
        self._session.progress.refuse(offsets)
        places = ", ".join(f"{partition} at {offset}" for partition, offset in offsets.items())
        tried = f"committing {places} for group '{self._session.group}'"
        if error.code() == KafkaError._WAIT_COORD:  # noqa: SLF001 - as above
            return CommitFailed(f"{tried}: {error.str()}", hint=_NO_BROKER_HINT, offsets=offsets)
        if error.code() in _REBALANCING | _EXPELLED:
            return CommitFailed(f"{tried}: {error.str()}", hint=_EXPELLED_HINT, offsets=offsets)
        needs = [
            Right("READ", "group", self._session.group or ""),
            *(Right("READ", "topic", place.topic) for place in offsets),
        ]
        return translate(error, tried, needs=needs, user=self._session.user, offsets=offsets)


def _refusals(error: KafkaError | None, places: Sequence[TopicPartition]) -> dict[KafkaError, Offsets]:
    """Group the refused offsets by reason."""
    reasons = {reason for place in places if (reason := place.error or error) is not None}
    return {reason: _offsets([place for place in places if (place.error or error) == reason]) for reason in reasons}


def _offsets(places: Sequence[TopicPartition]) -> Offsets:
    return {partition_id(place): Offset(place.offset) for place in places}
