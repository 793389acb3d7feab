"""Dry run: real events take the whole path, but the action is only reported."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from penstock.actions.clients import Clients
from penstock.actions.reader import Received
from penstock.actions.retries import told
from penstock.actions.source import present_topics
from penstock.actions.source_spec import KafkaSource
from penstock.events.envelope import EventEnvelope
from penstock.events.record import ConsumerRecord, GroupName, Offset
from penstock.kafka.admin import Admin
from penstock.kafka.group_reader import GroupReader, Standing
from penstock.kafka.offsets import Offsets, PartitionId, committed_offsets, end_offsets, first_offsets
from penstock.kafka.start import find_partitions, moment, starting_offsets

Tell = Callable[[str], None]

_IDLE_SECONDS = 5.0


class Preview:
    """Replacement of the action in a dry run."""

    def __init__(self, action: str, tell: Tell) -> None:
        self._action = action
        self._tell = tell

    def act(self, event: EventEnvelope) -> None:
        """Report the event that the action would get."""
        self._tell(f"{self._action} would get {event.as_json()}")


class PreviewFailures:
    """Replacement of the failed-event store in a dry run."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def prepare(self) -> None:
        """Do nothing: a dry run writes nothing."""

    def write(
        self,
        record: ConsumerRecord,
        event: EventEnvelope | None,  # noqa: ARG002 - the interface's signature
        event_type: str,
        error: BaseException,
    ) -> None:
        """Report an event that would fail, with the reason."""
        self._tell(f"{event_type} {record.origin} would fail: {': '.join(told(error))}")

    def send(self, record: ConsumerRecord, error: BaseException) -> None:
        """Do nothing: a dry run sends nothing."""

    def close(self) -> None:
        """Do nothing: no connection is open."""


class Excerpt:
    """Reader of the group's next records, up to the current end of the topics, without joining the group.

    A group without offsets starts `newest` records before the end.
    """

    def __init__(self, source: KafkaSource, clients: Clients, newest: int) -> None:
        with Admin(clients.consumer) as admin:
            partitions = find_partitions(admin, present_topics(admin, list(source.routes())))
            self._ends = end_offsets(admin, partitions)
            if source.start in {"committed", "latest"}:
                placed = {} if source.stateless else committed_offsets(admin, GroupName(clients.group), partitions)
                starts = {**_newest(admin, self._ends, newest), **placed}
            else:
                starts = starting_offsets(admin, partitions, moment(source.start))
        self._reader = GroupReader(clients.consumer, list(source.routes()), None, starts=starts)
        self._left = {place for place, offset in starts.items() if offset < self._ends[place]}
        self._last = monotonic()

    @property
    def is_exhausted(self) -> bool:
        """Whether all existing records were read. After 5 s without a record, the remaining offsets hold none."""
        return not self._left or monotonic() - self._last > _IDLE_SECONDS

    def take(self, size: int, wait: float, receive: Callable[[list[ConsumerRecord]], Received]) -> Received:
        """Pass the next records to `receive`."""
        return receive(self._reader.take(size, wait, self._noted))

    def commit(self, done: Offsets, *, wait: bool) -> None:
        """Do nothing: a dry run commits nothing."""

    def standing(self) -> Standing:
        """Return an empty position: a dry run reports no lag."""
        return Standing()

    def close(self, done: Offsets) -> None:
        """Disconnect."""
        self._reader.close(done)

    def _noted(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        for record in records:
            self._last = monotonic()
            place = PartitionId(record.topic, record.partition)
            if record.offset + 1 >= self._ends.get(place, 0):
                self._left.discard(place)
        return records


def _newest(admin: Admin, ends: Offsets, count: int) -> Offsets:
    first = first_offsets(admin, ends)
    return {place: Offset(max(first[place], end - count)) for place, end in ends.items()}
