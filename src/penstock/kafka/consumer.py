"""Consumer of decoded records that commits only processed offsets."""

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
    """Iterator over the records of one or more topics, or of all topics that match a `^pattern`.

    A value with a schema is decoded by its schema id (and resolved to the schema `reader`, if given). A value without a
    schema is returned as `legacy` says, a tombstone as None. By default, an invalid record raises RecordUndecodable,
    after which the iteration can continue. Keys are of `key_type`. `timeout` ends the iteration when nothing arrives
    for so many seconds, not counting the time for joining the group.

    Reading starts at the group's committed offsets, or at `fallback` if there are none. `start` ("earliest", "latest"
    or a time) moves the group there first; GroupBusy means that the group has members, so its offsets cannot be
    changed. Without a group, every partition is read from `start`, by default from `fallback`, and nothing is
    committed.

    A record is processed when the caller requests the next record, or passes the record to `commit`. If a loop breaks
    off at a record, the record is not processed. Only processed records are committed, so a crash may repeat records
    but loses none:

    | commit | offsets are committed                              | a crash repeats, at most, records processed       |
    |--------|----------------------------------------------------|---------------------------------------------------|
    | auto   | in the background, every `every` (5) seconds       | in the last `every` seconds                       |
    | sync   | when the caller comes back, waiting for the answer | since the last commit: `every` "record", "batch"  |
    |        |                                                    | or number of seconds                              |
    | async  | when the caller comes back, without waiting        | as with sync, and those of commits in flight      |
    | none   | by `commit` only                                   | since the last `commit`                           |

    Processed records are committed before their partitions move to a new owner. The member stays in the group while the
    caller works on a record, for any length of time. If the record's partition is reassigned meanwhile, the new owner
    reads the record again. With `assignment="cooperative"`, only moving partitions are revoked. A member with an
    `instance_id` can restart without moving any partition. The callbacks receive lists of partitions, on the caller's
    thread or, while the caller is working, on a background thread. The caller gets the exceptions of the callbacks.

    Use a consumer from one thread; `close` may be called from any thread. `options` are passed to librdkafka.
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
        """Return the next record. The previous record now counts as processed."""
        return self._reading.take(1, _FETCH_SIZE)[0]

    def batches(self, size: int = _FETCH_SIZE) -> Iterator[list[ConsumerRecord]]:
        """Iterate over lists of at most `size` available records. Each list marks the previous list as processed."""
        if size < 1:
            raise UsageError(f"a batch of {size} records is none", hint="give a size of at least 1")
        return _Batches(self._reading, size)

    def commit(self, record: ConsumerRecord | None = None) -> None:
        """Commit the partition up to and including a record, or all returned records. Wait for the answer."""
        if self.group is None:
            raise UsageError("a consumer without a group has nowhere to commit to", hint="name one with group=")
        self._reading.commit(record)

    @property
    def assignment(self) -> list[PartitionId]:
        """Partitions assigned to this consumer now."""
        return self._reading.assignment()

    def close(self) -> None:
        """Commit processed records and leave the group. Ends a waiting iteration on another thread."""
        self._reading.close()

    def __enter__(self) -> Self:
        """Use as a context manager, which closes the consumer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, also after an error. If closing fails too, add a note to the original error."""
        try:
            self.close()
        except PenstockError as failure:
            if error is None:
                raise
            error.add_note(failure.message)


class _Batches(Iterator[list[ConsumerRecord]]):
    """Iterator over lists of records. Unlike a generator, it continues after an error."""

    def __init__(self, reading: Reading, size: int) -> None:
        self._reading = reading
        self._size = size

    def __next__(self) -> list[ConsumerRecord]:
        """Return the available records."""
        return self._reading.take(self._size, self._size)
