"""Events of one request on their way to Kafka, with the result of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from penstock.collector.answers import EventResult, EventStatus, Problem, Tally, problem, tally
from penstock.collector.body import Headers
from penstock.collector.dead_letters import Sender, dead_letter
from penstock.collector.deadlines import Deadlines
from penstock.collector.refusals import TooLarge
from penstock.collector.shape import Event
from penstock.collector.topics import Topic
from penstock.collector.window import EventKey, Window
from penstock.errors import BufferFull, PenstockError, RecordTooLarge
from penstock.kafka.acknowledged import AcknowledgedProducer, Delivery, OutgoingRecord
from penstock.kafka.outbox import HeaderPairs

_LATE = Problem(
    "kafka.not_acknowledged",
    "Kafka has not acknowledged in time; the event may or may not be there",
    "send it again with this id, and it is not taken twice while this collector remembers the id",
)
_FEWER = "send fewer events at once"


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """Destination, client, headers, address and arrival time of a request."""

    topic: Topic
    client: str
    headers: Headers
    address: str
    received_at: str

    @property
    def sender(self) -> Sender:
        """Return the sender with all known details."""
        forwarded = self.headers.get(b"x-forwarded-for", b"").decode("latin-1")
        agent = self.headers.get(b"user-agent", b"").decode("latin-1")
        return Sender(self.client, f"{forwarded} via {self.address}" if forwarded else self.address, agent)


@dataclass(frozen=True)
class Dispatch:
    """Resources shared by all shipments: producer, answer deadlines, recent ids and the dead-letter topic."""

    producer: AcknowledgedProducer
    deadlines: Deadlines
    window: Window
    dead_letters: str | None


class Shipment:
    """Collects a request's events, sends them together, and reports the result of each, in order.

    Events are identified by their index in the request.
    """

    def __init__(self, dispatch: Dispatch, arrival: Arrival) -> None:
        self.size = 0
        self._dispatch = dispatch
        self._arrival = arrival
        self._received_at = arrival.received_at.encode()
        self._batch = dispatch.producer.batch()
        self._ids: list[str] = []
        self._records: list[OutgoingRecord] = []
        self._record_places: list[int] = []
        self._sent: list[Delivery] = []
        self._rejections: dict[int, PenstockError] = {}
        self._first_places: dict[EventKey, int] = {}
        self._repeated: dict[int, int] = {}
        self._joined: dict[EventKey, Delivery] = {}
        self._taken_before: dict[int, Delivery] = {}

    def add(self, event: Event, event_id: str, *, is_clients_id: bool) -> None:
        """Add an event, unless an event with this id is underway or was accepted recently."""
        place = len(self._ids)
        self._ids.append(event_id)
        if is_clients_id and self._is_repeated(place):
            return
        topic = self._arrival.topic
        value, key = topic.shape.finish(event, self._arrival.received_at)
        headers: HeaderPairs = [("penstock.event_id", event_id.encode()), ("penstock.received_at", self._received_at)]
        self._records.append((topic.name, value, key, headers))
        self._record_places.append(place)
        self.size += len(value)

    def reject(self, text: bytes, error: PenstockError, event_id: str) -> None:
        """Record a rejected event. Add a dead letter if dead letters are enabled."""
        place = len(self._ids)
        self._ids.append(event_id)
        self._rejections[place] = error
        if self._dispatch.dead_letters is not None:
            self._records.append(self._dead_letter(text, error, event_id))
            self._record_places.append(place)

    def send(self) -> None:
        """Send all records. Raise BufferFull if none could be sent, or TooLarge if they can never fit."""
        producer = self._dispatch.producer
        try:
            self._sent = producer.send(self._records, self._batch)
        except BufferFull:
            if producer.could_hold(self._records):
                raise
            raise TooLarge("the events are larger than all that may wait for Kafka", hint=_FEWER) from None
        self._records.clear()
        if self._first_places:
            self._remember(self._first_places)

    def let_go(self) -> None:
        """Release the ids of unsent events, and stop waiting for events of earlier requests."""
        for key in self._first_places:
            self._dispatch.window.let_go(key)
        self._leave()

    async def wait(self) -> None:
        """Wait for the acknowledgement of all events, until the deadline. Remember the ids of late events."""
        batch, deadlines = self._batch, self._dispatch.deadlines
        deadline = deadlines.start(batch.wake)
        try:
            await batch.settled()
        finally:
            deadlines.stop(deadline)
        if batch.missing:
            self._leave()
            self._remember(self._places_not_remembered())

    def results(self) -> tuple[list[EventResult], Tally]:
        """Return the current status of each event, and the count of each status."""
        batch, ids = self._batch, self._ids
        if not (batch.missing or batch.failed or self._rejections or self._repeated or self._taken_before):
            return [EventResult("accepted", event_id) for event_id in ids], {"accepted": len(ids)}
        deliveries = self._deliveries()
        results = [self._result(place, event_id, deliveries.get(place)) for place, event_id in enumerate(ids)]
        return results, tally(results)

    def _is_repeated(self, place: int) -> bool:
        key = self._key(place)
        if key in self._first_places:
            self._repeated[place] = self._first_places[key]
            return True
        known = self._joined.get(key) or self._dispatch.window.find(key)
        if known is None:
            self._first_places[key] = place
            return False
        if key not in self._joined:
            self._joined[key] = known
            known.join(self._batch)
        self._taken_before[place] = known
        return True

    def _leave(self) -> None:
        """Stop waiting for events of earlier requests.

        Otherwise, repeated requests would fill the memory while Kafka is unavailable.
        """
        for known in self._joined.values():
            known.leave(self._batch)

    def _places_not_remembered(self) -> dict[EventKey, int]:
        """Return the events sent under a generated id, which the client only learns from the answer."""
        sent = {self._key(place): place for place in self._record_places if place not in self._rejections}
        return {key: place for key, place in sent.items() if key not in self._first_places}

    def _key(self, place: int) -> EventKey:
        return EventKey(self._arrival.client, self._arrival.topic.name, self._ids[place])

    def _remember(self, places: Mapping[EventKey, int]) -> None:
        deliveries = self._deliveries()
        for key, place in places.items():
            self._dispatch.window.remember(key, deliveries[place])

    def _deliveries(self) -> dict[int, Delivery]:
        """Return the deliveries of events, by index."""
        deliveries = dict(zip(self._record_places, self._sent, strict=True)) | self._taken_before
        return deliveries | {place: deliveries[first] for place, first in self._repeated.items()}

    def _dead_letter(self, text: bytes, error: PenstockError, event_id: str) -> OutgoingRecord:
        return dead_letter(
            text,
            error,
            topic=self._arrival.topic.name,
            dead_letters=str(self._dispatch.dead_letters),
            event_id=event_id,
            sender=self._arrival.sender,
            now=self._arrival.received_at,
        )

    def _result(self, place: int, event_id: str, delivery: Delivery | None) -> EventResult:
        if place in self._rejections:
            return _rejected(event_id, self._rejections[place], delivery)
        is_duplicate = place in self._repeated or place in self._taken_before
        return _sent(event_id, delivery, duplicate=is_duplicate)


def _sent(event_id: str, delivery: Delivery | None, *, duplicate: bool) -> EventResult:
    if delivery is None or not delivery.settled:
        return EventResult("unknown", event_id, duplicate, _LATE)
    if delivery.error is None:
        return EventResult("accepted", event_id, duplicate)
    if isinstance(delivery.error, RecordTooLarge):
        return EventResult("rejected", event_id, duplicate, problem(delivery.error))
    status: EventStatus = "unknown" if delivery.in_doubt else "failed"
    return EventResult(status, event_id, duplicate, problem(delivery.error))


def _rejected(event_id: str, rejection: PenstockError, kept: Delivery | None) -> EventResult:
    """Return `rejected`, or `failed` if the dead letter could not be stored: the client must then keep the event."""
    is_kept = kept is None or (kept.settled and (kept.error is None or isinstance(kept.error, RecordTooLarge)))
    if is_kept:
        return EventResult("rejected", event_id, error=problem(rejection))
    hint = "send it again, so that it is kept among the dead letters"
    return EventResult("failed", event_id, error=Problem(rejection.code, rejection.message, hint))
