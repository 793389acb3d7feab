"""The events of one request on their way to Kafka, and what became of each."""

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
    """Where a request's events go, whose they are, what its head says, and when they came."""

    topic: Topic
    client: str
    headers: Headers
    address: str
    received_at: str

    @property
    def sender(self) -> Sender:
        """Who sent them, in full."""
        forwarded = self.headers.get(b"x-forwarded-for", b"").decode("latin-1")
        agent = self.headers.get(b"user-agent", b"").decode("latin-1")
        return Sender(self.client, f"{forwarded} via {self.address}" if forwarded else self.address, agent)


@dataclass(frozen=True)
class Dispatch:
    """What all shipments share: the producer, when to answer, ids taken lately, and where rejected events are kept."""

    producer: AcknowledgedProducer
    deadlines: Deadlines
    window: Window
    dead_letters: str | None


class Shipment:
    """Collects a request's events, sends them together, and tells what became of each, in order.

    An event is known by its place in the request.
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
        """Take an event along, unless one with its id is underway or was accepted lately."""
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
        """Note a rejected event; it is taken along to the dead letters where they are kept."""
        place = len(self._ids)
        self._ids.append(event_id)
        self._rejections[place] = error
        if self._dispatch.dead_letters is not None:
            self._records.append(self._dead_letter(text, error, event_id))
            self._record_places.append(place)

    def send(self) -> None:
        """Hand everything to the producer; BufferFull, or TooLarge if it never will fit, says that nothing was."""
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
        """Give the ids of events that were not sent free again, and wait for nobody's."""
        for key in self._first_places:
            self._dispatch.window.let_go(key)
        self._leave()

    async def wait(self) -> None:
        """Wait for Kafka's word on all events, until the deadline; what is late is remembered by its id."""
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
        """What became of each event, as far as it is known now, and how many met each fate."""
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
        """Stay in nobody's memory: a client that repeats itself would fill it while Kafka is away."""
        for known in self._joined.values():
            known.leave(self._batch)

    def _places_not_remembered(self) -> dict[EventKey, int]:
        """The events that were sent under an id of ours, which the client learns only from the answer."""
        sent = {self._key(place): place for place in self._record_places if place not in self._rejections}
        return {key: place for key, place in sent.items() if key not in self._first_places}

    def _key(self, place: int) -> EventKey:
        return EventKey(self._arrival.client, self._arrival.topic.name, self._ids[place])

    def _remember(self, places: Mapping[EventKey, int]) -> None:
        deliveries = self._deliveries()
        for key, place in places.items():
            self._dispatch.window.remember(key, deliveries[place])

    def _deliveries(self) -> dict[int, Delivery]:
        """The delivery of each event that has one."""
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
    """A rejected event; where dead letters are kept, the client may only forget it once it is among them."""
    is_kept = kept is None or (kept.settled and (kept.error is None or isinstance(kept.error, RecordTooLarge)))
    if is_kept:
        return EventResult("rejected", event_id, error=problem(rejection))
    hint = "send it again, so that it is kept among the dead letters"
    return EventResult("failed", event_id, error=Problem(rejection.code, rejection.message, hint))
