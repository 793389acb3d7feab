"""ASGI application of the collector: POSTs go directly to the intake, other requests to the pages."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from time import perf_counter

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.collector.answers import RETRY_SECONDS, Answer, refusal
from penstock.collector.config import CollectorSettings, CorsSettings
from penstock.collector.health import Readiness
from penstock.collector.intake import Intake
from penstock.collector.limits import REFUSED
from penstock.collector.metrics import Metrics
from penstock.collector.openapi import describe
from penstock.collector.pages import make_pages
from penstock.collector.refusals import Busy, Refusal, WrongMethod
from penstock.collector.shared_window import SharedWindow
from penstock.collector.topics import Topic
from penstock.collector.window import OwnWindow, Window
from penstock.config import Settings
from penstock.errors import BufferFull
from penstock.kafka.acknowledged import AcknowledgedProducer

EVENTS_PATH = "/events"
TOPICS_PATH = "/topics/"

_LOOK_SECONDS = 0.25
_log = logging.getLogger(__name__)


class CollectorApp:
    """Serves one worker's requests from the startup event to the shutdown event."""

    _producer: AcknowledgedProducer
    _intake: Intake
    _pages: Starlette

    def __init__(
        self, settings: Settings, collector: CollectorSettings, topics: dict[str, Topic], shared: Path | None
    ) -> None:
        self._settings = settings
        self._collector = collector
        self._topics = topics
        self._shared = shared
        self._metrics = Metrics(shared)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or handle the worker's lifespan events."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        topic = self._posted_topic(scope["path"])
        if topic is None and REFUSED not in scope:
            await self._pages(scope, receive, send)
        else:
            await self._post(topic or "", scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._start()
        looking_around = asyncio.create_task(self._look_around())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        looking_around.cancel()
        missing = await self._producer.close(self._collector.answer_within)
        if missing:
            _log.warning("%d events were not acknowledged by Kafka before the end", missing)
        await send({"type": "lifespan.shutdown.complete"})

    def _start(self) -> None:
        collector = self._collector
        self._producer = AcknowledgedProducer(
            self._settings, max_bytes=collector.buffer, give_up=collector.give_up_after
        )
        self._intake = Intake(collector, self._topics, self._producer, self._metrics, self._window())
        topics = [*self._topics, *([collector.dead_letters] if collector.dead_letters else [])]
        readiness = Readiness(self._producer, topics)
        self._pages = make_pages(self._producer, readiness, self._metrics, describe(collector, self._topics))

    def _window(self) -> Window:
        seconds, most = self._collector.window, self._collector.window_ids
        return OwnWindow(seconds, most) if self._shared is None else SharedWindow(self._shared, seconds, most)

    async def _look_around(self) -> None:
        while True:
            self._intake.tick()
            self._metrics.share(self._producer.bytes_underway)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _post(self, topic: str, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        address = scope["client"][0] if scope.get("client") else ""
        try:
            if REFUSED in scope:
                raise scope[REFUSED]
            if scope["method"] != "POST":
                raise WrongMethod(f"events are sent with POST, not {scope['method']:.20}", allowed="POST")
            answer = await self._intake.take(topic, dict(scope["headers"]), address, receive)
        except Refusal as error:
            answer = self._refused(error)
        except BufferFull as error:
            answer = self._refused(Busy(error.message, hint=error.hint, headers={"retry-after": RETRY_SECONDS}))
        self._metrics.answered(answer.status, perf_counter() - started)
        await send({"type": "http.response.start", "status": answer.status, "headers": _headers(answer)})
        await send({"type": "http.response.body", "body": answer.body})

    def _posted_topic(self, path: str) -> str | None:
        """Return the topic for events posted to this path, or None for the paths of the pages."""
        if path == EVENTS_PATH:
            return self._collector.topic
        return path[len(TOPICS_PATH) :] if path.startswith(TOPICS_PATH) else None

    def _refused(self, error: Refusal) -> Answer:
        self._metrics.not_taken(error.code)
        return refusal(error)


def make_app(
    settings: Settings, collector: CollectorSettings, topics: dict[str, Topic], shared: Path | None = None
) -> ASGIApp:
    """Return the application of one worker. Workers share a directory for metrics and event ids."""
    app = CollectorApp(settings, collector, topics, shared)
    return app if collector.cors is None else _open_to_other_origins(app, collector.cors)


def _open_to_other_origins(app: ASGIApp, cors: CorsSettings) -> ASGIApp:
    return CORSMiddleware(
        app,
        allow_origins=cors.origins,
        allow_methods=["POST"],
        allow_headers=["authorization", "content-encoding", "content-type", "idempotency-key", "x-api-key"],
        expose_headers=["retry-after"],
        max_age=int(cors.max_age),
    )


def _headers(answer: Answer) -> list[tuple[bytes, bytes]]:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer.body))]
    for name, value in answer.headers.items():
        headers.append((name.encode(), value.encode("latin-1")))
    return headers
