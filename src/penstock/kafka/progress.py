"""Progress of a consumer in each of its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.events.record import ConsumerRecord, Offset, Origin, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId

Slot = tuple[TopicName, Partition]
"""A PartitionId, or a plain tuple of topic and partition, which is cheaper to create for every record."""

_NOWHERE = Offset(-1)


@dataclass(slots=True)
class Place:
    """Three offsets of a partition, each of the next record: given out, processed, committed."""

    given: Offset
    processed: Offset = _NOWHERE
    committed: Offset = _NOWHERE


class Progress:
    """Progress in the partitions that a consumer owns. Revoked partitions are forgotten at once.

    `processed <= given` holds in every partition, so only records that the caller is done with are committed.
    """

    def __init__(self) -> None:
        self._places: dict[Slot, Place] = {}
        self._in_hand: Mapping[Slot, Offset] = {}

    def begin(self, starts: Offsets) -> None:
        """Start reading at these offsets."""
        self._places.update({partition: Place(offset) for partition, offset in starts.items()})

    def give(self, upto: Mapping[Slot, Offset]) -> None:
        """Note that the caller got each partition's records before the given offset.

        A lower offset than the last means that the partition starts again: its topic was recreated or truncated.
        """
        for partition, offset in upto.items():
            place = self._places.get(partition)
            if place is None or offset < place.given:
                self._places[partition] = Place(offset)
            else:
                place.given = offset
        self._in_hand = upto

    def given(self, partition: PartitionId) -> Offset | None:
        """Return the offset after the last record that the caller got from a partition, or None."""
        place = self._places.get(partition)
        return place.given if place else None

    def processed(self) -> Offsets:
        """Return the first unprocessed offset of each partition with processed records."""
        return {
            PartitionId(*partition): place.processed
            for partition, place in self._places.items()
            if place.processed != _NOWHERE
        }

    def settle(self) -> None:
        """Mark the records in hand as processed: the caller came back."""
        for partition in self._in_hand:
            place = self._places[partition]
            place.processed = place.given
        self._in_hand = {}

    def settle_all(self) -> None:
        """Mark all records given out as processed."""
        for place in self._places.values():
            place.processed = place.given

    def settle_upto(self, record: ConsumerRecord) -> bool:
        """Mark a record and all before it in its partition as processed; False if the partition is lost."""
        place = self._places.get((record.topic, record.partition))
        if place is None or record.offset >= place.given:
            return False
        place.processed = max(place.processed, Offset(record.offset + 1))
        return True

    def settle_to(self, offsets: Offsets) -> None:
        """Mark all records before the offsets as processed. Lost partitions are skipped.

        An offset may be lower than the last if a partition starts again.
        """
        for partition, offset in offsets.items():
            place = self._places.get(partition)
            if place is not None:
                place.processed = offset

    def uncommitted(self) -> Offsets:
        """Return the processed offsets that are not committed yet."""
        return {
            PartitionId(*partition): place.processed
            for partition, place in self._places.items()
            if place.processed not in {_NOWHERE, place.committed}
        }

    def commit(self, offsets: Offsets) -> None:
        """Note that the offsets were sent to the broker."""
        for partition, offset in offsets.items():
            if partition in self._places:
                self._places[partition].committed = offset

    def refuse(self, partitions: Iterable[PartitionId]) -> None:
        """Note the broker's refusal for the partitions: their offsets have to be sent again."""
        for partition in partitions:
            if partition in self._places:
                self._places[partition].committed = _NOWHERE

    def clear(self) -> None:
        """Forget all partitions."""
        self._places.clear()
        self._in_hand = {}

    def forget(self, partitions: Iterable[PartitionId]) -> None:
        """Forget these partitions."""
        gone = set(partitions)
        for partition in gone:
            self._places.pop(partition, None)
        self._in_hand = {partition: offset for partition, offset in self._in_hand.items() if partition not in gone}


def upto(records: Iterable[ConsumerRecord | Origin]) -> dict[Slot, Offset]:
    """Return the offset after the last given record of each partition."""
    last = {(record.topic, record.partition): record.offset for record in records}
    return {slot: Offset(offset + 1) for slot, offset in last.items()}
