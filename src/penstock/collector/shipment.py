"""The events of one request on their way to Kafka, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from penstock.collector.answers import EventResult, EventStatus, Problem, problem
from penstock.collector.dead_letters import Sender, dead_letter
from penstock.collector.shape import Event
from penstock.collector.topics import Topic
from penstock.collector.window import EventKey, Window
from penstock.errors import PenstockError, RecordTooLarge
from penstock.kafka.acknowledged import AcknowledgedProducer, Delivery, OutgoingRecord
from penstock.kafka.outbox import HeaderPairs

_LATE = Problem(
    "kafka.not_acknowledged",
    "Kafka has not acknowledged in time; the event may or may not be there",
    "send it again with this id, and it is not taken twice while this collector remembers the id",
)


class Arrival(NamedTuple):
    """Where a request's events go, who sent them, and when they came."""

    topic: Topic
    sender: Sender
    received_at: str


@dataclass(frozen=True)
class Dispatch:
    """What all shipments share: the producer, the ids taken lately, and where rejected events are kept."""

    producer: AcknowledgedProducer
    window: Window
    dead_letters: str | None


class _Parcel:
    """One event: its id, why it was rejected if it was, and its delivery (a rejected one's to the dead letters)."""

    __slots__ = ("delivery", "duplicate", "event_id", "is_clients_id", "rejection")

    def __init__(self, event_id: str, *, is_clients_id: bool, rejection: PenstockError | None = None) -> None:
        self.event_id = event_id
        self.is_clients_id = is_clients_id
        self.rejection = rejection
        self.delivery: Delivery | None = None
        self.duplicate = False


class Shipment:
    """Collects a request's events, sends them together, and tells what became of each, in order."""

    def __init__(self, dispatch: Dispatch, arrival: Arrival) -> None:
        self.size = 0
        self._dispatch = dispatch
        self._arrival = arrival
        self._received_at = arrival.received_at.encode()
        self._batch = dispatch.producer.batch()
        self._parcels: list[_Parcel] = []
        self._records: list[OutgoingRecord] = []
        self._senders: list[_Parcel] = []
        self._by_key: dict[EventKey, list[_Parcel]] = {}

    def add(self, event: Event, event_id: str, *, is_clients_id: bool) -> None:
        """Take an event along, unless one with its id is underway or was accepted lately."""
        parcel = _Parcel(event_id, is_clients_id=is_clients_id)
        self._parcels.append(parcel)
        if is_clients_id and self._is_repeated(parcel):
            return
        topic, _, received_at = self._arrival
        topic.shape.set_time(event, received_at)
        value = topic.shape.encode(event)
        headers: HeaderPairs = [("penstock.event_id", event_id.encode()), ("penstock.received_at", self._received_at)]
        self._records.append(OutgoingRecord(topic.name, value, topic.shape.key_of(event), headers))
        self._senders.append(parcel)
        self.size += len(value)

    def reject(self, text: bytes, error: PenstockError, event_id: str) -> None:
        """Note a rejected event; it is taken along to the dead letters where they are kept."""
        parcel = _Parcel(event_id, is_clients_id=False, rejection=error)
        self._parcels.append(parcel)
        if self._dispatch.dead_letters is not None:
            self._records.append(self._dead_letter(text, error, event_id))
            self._senders.append(parcel)

    def send(self) -> None:
        """Hand everything to the producer; BufferFull says that nothing was."""
        deliveries = self._dispatch.producer.send(self._records, self._batch)
        self._records.clear()
        for parcel, delivery in zip(self._senders, deliveries, strict=True):
            parcel.delivery = delivery
        for key, (first, *repeated) in self._by_key.items():
            if first.delivery is not None:
                self._dispatch.window.remember(key, first.delivery)
            for parcel in repeated:
                parcel.delivery, parcel.duplicate = first.delivery, True

    async def wait(self, seconds: float) -> None:
        """Wait for Kafka's word on all events, for so long at the most; what is late is remembered by its id."""
        await self._batch.wait(seconds)
        if self._batch.missing:
            for parcel in self._senders:
                if parcel.delivery and not parcel.delivery.settled and parcel.rejection is None:
                    self._dispatch.window.remember(self._key(parcel), parcel.delivery)

    def results(self) -> list[EventResult]:
        """What became of each event, as far as it is known now."""
        return [_result(parcel) for parcel in self._parcels]

    def _is_repeated(self, parcel: _Parcel) -> bool:
        key = self._key(parcel)
        if key in self._by_key:
            self._by_key[key].append(parcel)
            return True
        parcel.delivery = self._dispatch.window.find(key)
        if parcel.delivery is None:
            self._by_key[key] = [parcel]
            return False
        parcel.delivery.join(self._batch)
        parcel.duplicate = True
        return True

    def _key(self, parcel: _Parcel) -> EventKey:
        return EventKey(self._arrival.sender.client, self._arrival.topic.name, parcel.event_id)

    def _dead_letter(self, text: bytes, error: PenstockError, event_id: str) -> OutgoingRecord:
        topic, sender, received_at = self._arrival
        return dead_letter(
            text,
            error,
            topic=topic.name,
            dead_letters=str(self._dispatch.dead_letters),
            event_id=event_id,
            sender=sender,
            now=received_at,
        )


def _result(parcel: _Parcel) -> EventResult:
    delivery = parcel.delivery
    if parcel.rejection is not None:
        return _rejected(parcel.event_id, parcel.rejection, delivery)
    if delivery is None or not delivery.settled:
        return EventResult("unknown", parcel.event_id, parcel.duplicate, _LATE)
    if delivery.error is None:
        return EventResult("accepted", parcel.event_id, parcel.duplicate)
    if isinstance(delivery.error, RecordTooLarge):
        return EventResult("rejected", parcel.event_id, parcel.duplicate, problem(delivery.error))
    status: EventStatus = "unknown" if delivery.in_doubt else "failed"
    return EventResult(status, parcel.event_id, parcel.duplicate, problem(delivery.error))


def _rejected(event_id: str, rejection: PenstockError, kept: Delivery | None) -> EventResult:
    """A rejected event; where dead letters are kept, the client may only forget it once it is among them."""
    is_kept = kept is None or (kept.settled and (kept.error is None or isinstance(kept.error, RecordTooLarge)))
    if is_kept:
        return EventResult("rejected", event_id, error=problem(rejection))
    hint = "send it again, so that it is kept among the dead letters"
    return EventResult("failed", event_id, error=Problem(rejection.code, rejection.message, hint))
