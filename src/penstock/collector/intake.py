"""Processing of one POST, from the first byte to the answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import lru_cache
from time import time_ns

from starlette.types import Receive

from penstock.collector.answers import RETRY_SECONDS, Answer, EventResult, answer
from penstock.collector.body import BodyReader, Headers, Memory
from penstock.collector.config import CollectorSettings
from penstock.collector.deadlines import Deadlines
from penstock.collector.ids import key_from, new_ids
from penstock.collector.keys import Keyring
from penstock.collector.metrics import Metrics
from penstock.collector.parse import ACCEPTED, JSON, Parsed, Rejected, charge, parse_body
from penstock.collector.refusals import Busy, NotJson, TooLarge, TooManyEvents, Unsupported
from penstock.collector.shape import EventShape
from penstock.collector.shipment import Arrival, Dispatch, Shipment
from penstock.collector.topics import Topic
from penstock.collector.window import Window
from penstock.errors import BufferFull, RecordInvalid
from penstock.kafka.acknowledged import AcknowledgedProducer

_SURELY_QUICK = 64 * 1024
"""Largest body that is decoded on the event loop if its events have plain fields only."""

_SURELY_QUICK_IF_RICH = 4 * 1024
"""Largest body that is decoded on the event loop if values are compared with arrays, records or several branches."""

_PARSERS = 2


class Intake:
    """Accepts events and answers with a status for each event, after Kafka has acknowledged them."""

    def __init__(
        self,
        settings: CollectorSettings,
        topics: dict[str, Topic],
        producer: AcknowledgedProducer,
        metrics: Metrics,
        window: Window,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._keyring = Keyring(settings, topics)
        self._reading, self._waiting = Deadlines(settings.read_within), Deadlines(settings.answer_within)
        self._loop = asyncio.get_running_loop()
        self._closely = ThreadPoolExecutor(_PARSERS, thread_name_prefix="penstock-parse")
        self._bodies = BodyReader(settings.max_body, self._reading, Memory(settings.buffer), self._loop)
        self._dispatch = Dispatch(producer, self._waiting, window, settings.dead_letters)

    def tick(self) -> None:
        """Answer requests whose deadline has passed. Must be called several times a second."""
        self._reading.tick()
        self._waiting.tick()

    async def take(self, topic_name: str, headers: Headers, address: str, receive: Receive) -> Answer:
        """Answer a POST, or raise the Refusal to answer with."""
        # 1. Check the API key, the topic and the rate.
        client = self._keyring.client(headers)
        topic = client.topic(topic_name)
        client.admit()
        content_type = self._content_type(headers)
        arrival = Arrival(topic, client.name, headers, address, _now())
        # 2. Read the body and decode its events. An invalid event does not stop the others.
        body = await self._bodies.read(headers, receive)
        try:
            parsed = await self._parsed(body, content_type, topic.shape)
        except TooManyEvents as error:
            client.count(error.events - 1)
            raise
        except NotJson as error:
            client.count(charge(body, self._settings.max_events) - 1)
            await self._keep(body, error, arrival)
            raise
        client.count(len(parsed.events) - 1)
        # 3. Send valid events to the topic and invalid ones to the dead letters. Do not send a repeated id again.
        shipment, single = self._ship(parsed, arrival), parsed.single
        del body, parsed  # keep only the records underway in memory while waiting for Kafka
        # 4. Wait until all in-sync replicas have the events.
        await shipment.wait()
        # 5. Report the status of each event.
        results, counts = shipment.results()
        self._metrics.counted(topic.name, counts, shipment.size)
        if counts.get("accepted") != len(results):
            self._count_reasons(results)
        return answer(results, counts, single=single)

    def _content_type(self, headers: Headers) -> bytes:
        """Return the request's content type, or JSON for requests from an allowed origin.

        Any web page can make a browser send a body without a content type to any server. With a supported content type,
        the browser sends a preflight request first, so that CORS decides.
        """
        content_type = headers.get(b"content-type")
        if content_type is not None:
            return content_type
        origins = self._settings.cors.origins if self._settings.cors else ()
        if "*" in origins or headers.get(b"origin", b"").decode("latin-1") in origins:
            return JSON
        raise Unsupported(
            "a content type is needed",
            hint=f"send the header `content-type: {JSON.decode()}`",
            headers={"accept-post": ACCEPTED},
        )

    async def _parsed(self, body: bytes, content_type: bytes, shape: EventShape) -> Parsed:
        """Decode a body. Large bodies are decoded in a thread, because checking their events may take seconds."""
        most = self._settings.max_events
        if len(body) <= (_SURELY_QUICK if shape.is_plain else _SURELY_QUICK_IF_RICH):
            return parse_body(body, content_type, shape, most)
        return await self._loop.run_in_executor(self._closely, parse_body, body, content_type, shape, most)

    async def _keep(self, body: bytes, error: NotJson, arrival: Arrival) -> None:
        """Send a body that is not JSON to the dead letters, unchanged."""
        shipment = Shipment(self._dispatch, arrival)
        shipment.reject(body, error, *new_ids(1))
        shipment.send()
        await shipment.wait()
        results, _ = shipment.results()
        if results[0].status != "rejected":
            message = f"{error.message}, and Kafka does not acknowledge it among the dead letters"
            raise Busy(message, hint="send it again", headers={"retry-after": RETRY_SECONDS})

    def _ship(self, parsed: Parsed, arrival: Arrival) -> Shipment:
        shipment = Shipment(self._dispatch, arrival)
        try:
            _fill(shipment, parsed, arrival)
            shipment.send()
        except (Busy, BufferFull, TooLarge):
            shipment.let_go()
            raise
        return shipment

    def _count_reasons(self, results: list[EventResult]) -> None:
        for result in results:
            if result.error is not None:
                self._metrics.not_taken(result.error.code)


def _fill(shipment: Shipment, parsed: Parsed, arrival: Arrival) -> None:
    """Add each event to the shipment with an id, or with the reason for the rejection."""
    shape, key = arrival.topic.shape, key_from(arrival.headers.get(b"idempotency-key"))
    for place, (event, new_id) in enumerate(zip(parsed.events, new_ids(len(parsed.events)), strict=True)):
        if isinstance(event, Rejected):
            shipment.reject(event.text, event.error, new_id)
            continue
        try:
            own_id = shape.take_id(event)
        except RecordInvalid as error:
            shipment.reject(shape.encode(event), error, new_id)
            continue
        if own_id is None and key is not None:
            own_id = key if parsed.single else f"{key}/{place}"
        shipment.add(event, own_id or new_id, is_clients_id=own_id is not None)


def _now() -> str:
    """Return the current UTC time, ISO 8601 with milliseconds."""
    seconds, nanoseconds = divmod(time_ns(), 1_000_000_000)
    return f"{_second(seconds)}.{nanoseconds // 1_000_000:03}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """Return seconds since 1970 as text. All requests within a second share the work."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00")
