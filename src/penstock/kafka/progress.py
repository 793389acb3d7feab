"""How far a consumer has come in each of its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.events.record import ConsumerRecord, Offset, Origin, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId

Slot = tuple[TopicName, Partition]
"""A PartitionId, or the plain tuple of the same parts, which is cheaper to make for every record."""

_NOWHERE = Offset(-1)


@dataclass(slots=True)
class Place:
    """Three offsets of one partition, each that of the next record: given out, processed, committed."""

    given: Offset
    processed: Offset = _NOWHERE
    committed: Offset = _NOWHERE


class Progress:
    """The places of the partitions that a consumer has now; those it loses are forgotten at once.

    `processed <= given` in every partition, so nothing is committed that the caller is not done with.
    """

    def __init__(self) -> None:
        self._places: dict[Slot, Place] = {}
        self._in_hand: Mapping[Slot, Offset] = {}

    def begin(self, starts: Offsets) -> None:
        """Reading begins at these offsets."""
        self._places.update({partition: Place(offset) for partition, offset in starts.items()})

    def give(self, upto: Mapping[Slot, Offset]) -> None:
        """Records were given to the caller, in each partition up to before this offset.

        A lower offset than before says that the partition starts again: its topic was deleted and created, or cut off.
        """
        for partition, offset in upto.items():
            place = self._places.get(partition)
            if place is None or offset < place.given:
                self._places[partition] = Place(offset)
            else:
                place.given = offset
        self._in_hand = upto

    def given(self, partition: PartitionId) -> Offset | None:
        """The offset after the last record that the caller got from a partition."""
        place = self._places.get(partition)
        return place.given if place else None

    def processed(self) -> Offsets:
        """The first offset of each partition that is not processed, where something was."""
        return {
            PartitionId(*partition): place.processed
            for partition, place in self._places.items()
            if place.processed != _NOWHERE
        }

    def settle(self) -> None:
        """The caller came back, so what was in hand is processed."""
        for partition in self._in_hand:
            place = self._places[partition]
            place.processed = place.given
        self._in_hand = {}

    def settle_all(self) -> None:
        """Everything given out is processed."""
        for place in self._places.values():
            place.processed = place.given

    def settle_upto(self, record: ConsumerRecord) -> bool:
        """A record and all before it in its partition are processed; False if the partition is no longer ours."""
        place = self._places.get((record.topic, record.partition))
        if place is None or record.offset >= place.given:
            return False
        place.processed = max(place.processed, Offset(record.offset + 1))
        return True

    def settle_to(self, offsets: Offsets) -> None:
        """All before these offsets is processed; partitions that are no longer ours are left out.

        An offset may be lower than before, where a partition starts again.
        """
        for partition, offset in offsets.items():
            place = self._places.get(partition)
            if place is not None:
                place.processed = offset

    def uncommitted(self) -> Offsets:
        """What is processed and not yet committed."""
        return {
            PartitionId(*partition): place.processed
            for partition, place in self._places.items()
            if place.processed not in {_NOWHERE, place.committed}
        }

    def commit(self, offsets: Offsets) -> None:
        """These were handed to the broker."""
        for partition, offset in offsets.items():
            if partition in self._places:
                self._places[partition].committed = offset

    def refuse(self, partitions: Iterable[PartitionId]) -> None:
        """The broker did not take these, so they are to be handed to it again."""
        for partition in partitions:
            if partition in self._places:
                self._places[partition].committed = _NOWHERE

    def clear(self) -> None:
        """Nothing is ours any more."""
        self._places.clear()
        self._in_hand = {}

    def forget(self, partitions: Iterable[PartitionId]) -> None:
        """These are no longer ours."""
        gone = set(partitions)
        for partition in gone:
            self._places.pop(partition, None)
        self._in_hand = {partition: offset for partition, offset in self._in_hand.items() if partition not in gone}


def upto(records: Iterable[ConsumerRecord | Origin]) -> dict[Slot, Offset]:
    """The offset after the last of these records, in each of their partitions."""
    last = {(record.topic, record.partition): record.offset for record in records}
    return {slot: Offset(offset + 1) for slot, offset in last.items()}
