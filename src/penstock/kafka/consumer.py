"""The consumer: records with key, value and place, and offsets that move only past what was processed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from penstock.config import Settings
from penstock.errors import PenstockError, UsageError
from penstock.events.record import ConsumerRecord
from penstock.kafka.commits import Every, How, commit_policy
from penstock.kafka.consumer_options import Assignment, librdkafka_options, with_options
from penstock.kafka.decoding import Legacy, OnUndecodable, ReadKeyType, RecordDecoder
from penstock.kafka.offsets import PartitionId
from penstock.kafka.options import choose_settings
from penstock.kafka.reading import Plan, Reading
from penstock.kafka.rebalance import Callbacks, OnPartitions
from penstock.kafka.serdes import SchemaSource, as_schema
from penstock.kafka.start import Fallback, Start, moment, prepare, topic_names
from penstock.schemas import AvroCodec, SchemaRegistry, connect_registry

__all__ = ["Consumer", "ConsumerRecord"]

_FETCH_SIZE = 1000


class Consumer(Iterator[ConsumerRecord]):
    """Reads the records of one or more topics, or of all that match a `^pattern`; iterate over it.

    A value with a schema is decoded by the id it carries (in the form of the schema `reader`, if given), one without
    is given as `legacy` says, a tombstone is None. A record that is not what it claims raises RecordUndecodable, and
    the iteration may go on after it. Keys are of `key_type`. `timeout` ends the iteration when nothing arrives for so
    many seconds; joining the group is not counted.

    Reading starts at the group's place, or at `fallback` where the group has none. `start` ("earliest", "latest" or
    a time) moves the group there first; GroupBusy says that it has members, whose place cannot be moved. Without a
    group every partition is read, from `start` or else `fallback`, and nothing is committed.

    A record is processed when the caller comes back for the next one, or names it in `commit`; the one that a loop
    breaks off at is not. Only what is processed is committed, so a crash may repeat records and loses none:

    | commit | the broker is told                                 | a crash repeats, at most, what was processed      |
    |--------|----------------------------------------------------|---------------------------------------------------|
    | auto   | in the background, `every` (5) seconds             | in the last `every` seconds                       |
    | sync   | when the caller comes back, waiting for the answer | since the last commit: `every` "record", "batch"  |
    |        |                                                    | or number of seconds                              |
    | async  | when the caller comes back, without waiting        | as with sync, and what was on its way             |
    | none   | by `commit` only                                   | since the last `commit`                           |

    Before partitions go to another member, what was processed is committed. While the caller works on a record the
    member stays in the group, however long that takes; if the record's partition is given to another member
    meanwhile, that one reads it again. With `assignment="cooperative"` only partitions that move are taken away, and
    a member with an `instance_id` may restart without any being moved. The callbacks get lists of partitions, on the
    caller's thread or, while the caller is at work, on one of ours; what they raise, the caller gets.

    Use it from one thread; `close` may be called from any. `options` passes anything on to librdkafka.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        group: str | None = None,
        *,
        start: Start | None = None,
        fallback: Fallback = "earliest",
        timeout: float | None = None,
        commit: How | None = None,
        every: Every | None = None,
        key_type: ReadKeyType = "bytes",
        legacy: Legacy = "bytes",
        on_undecodable: OnUndecodable = "raise",
        reader: SchemaSource | None = None,
        assignment: Assignment = "eager",
        instance_id: str | None = None,
        on_assigned: OnPartitions | None = None,
        on_revoked: OnPartitions | None = None,
        on_lost: OnPartitions | None = None,
        settings: Settings | None = None,
        bootstrap: str | None = None,
        registry: str | SchemaRegistry | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.topics = topic_names(topics)
        self.group = group
        policy = commit_policy(commit, every, group=group)
        begin = moment(start) if start is not None else fallback if group is None else None
        url, client = (registry, None) if isinstance(registry, str) else (None, registry)
        chosen = with_options(choose_settings(settings, bootstrap=bootstrap, registry=url), options or {})
        codec = AvroCodec(client or connect_registry(chosen), reader=as_schema(reader) if reader is not None else None)
        decoder = RecordDecoder(codec, key_type, legacy, on_undecodable)
        handle_options = librdkafka_options(
            chosen, self.topics, group=group, fallback=fallback, assignment=assignment, instance_id=instance_id
        )
        starts = prepare(chosen, self.topics, group, begin)
        callbacks = Callbacks(on_assigned, on_revoked, on_lost)
        plan = Plan(chosen, self.topics, group, starts, timeout, policy, decoder, callbacks)
        self._reading = Reading(plan, handle_options)

    def __next__(self) -> ConsumerRecord:
        """The next record; having come back for it says that the one before is processed."""
        return self._reading.take(1, _FETCH_SIZE)[0]

    def batches(self, size: int = _FETCH_SIZE) -> Iterator[list[ConsumerRecord]]:
        """Lists of the records that are there, at most `size`; coming back says that the list before is processed."""
        if size < 1:
            raise UsageError(f"a batch of {size} records is none", hint="give a size of at least 1")
        return _Batches(self._reading, size)

    def commit(self, record: ConsumerRecord | None = None) -> None:
        """Commit a record and those before it in its partition, or all that were given out; wait for the answer."""
        if self.group is None:
            raise UsageError("a consumer without a group has nowhere to commit to", hint="name one with group=")
        self._reading.commit(record)

    @property
    def assignment(self) -> list[PartitionId]:
        """The partitions that this consumer reads now."""
        return self._reading.assignment()

    def close(self) -> None:
        """Commit what was processed and leave the group; ends an iteration that waits on another thread."""
        self._reading.close()

    def __enter__(self) -> Self:
        """Use as a context, which closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, also after an error; that one goes on, with a note where closing failed as well."""
        try:
            self.close()
        except PenstockError as failure:
            if error is None:
                raise
            error.add_note(failure.message)


class _Batches(Iterator[list[ConsumerRecord]]):
    """Records in lists; unlike a generator it goes on after an error."""

    def __init__(self, reading: Reading, size: int) -> None:
        self._reading = reading
        self._size = size

    def __next__(self) -> list[ConsumerRecord]:
        """The records that are there."""
        return self._reading.take(self._size, self._size)
