import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.types import Message

from penstock.collector.answers import Answer
from penstock.collector.body import Headers
from penstock.collector.config import CollectorSettings, CorsSettings, KeySettings
from penstock.collector.intake import Intake
from penstock.collector.metrics import Metrics
from penstock.collector.parse import Parsed, parse_body
from penstock.collector.refusals import Busy, RateExceeded, Refusal, TooLarge, Unsupported
from penstock.collector.shared_window import SharedWindow
from penstock.collector.topics import load_topics
from penstock.collector.window import EventKey, OwnWindow, Window
from penstock.config import load_settings
from penstock.errors import BufferFull
from penstock.kafka.acknowledged import AcknowledgedProducer

AWAY = load_settings(env={}, options={"bootstrap": "127.0.0.1:9"}).settings
JSON_TYPE = {b"content-type": b"application/json"}
EVENT = {"Event_Type": "ListingView", "Event_Version": "1", "User_ID": "u-1"}
KEY = EventKey("anonymous", "events", "a")


@pytest.fixture
async def producer() -> AsyncIterator[AcknowledgedProducer]:
    producer = AcknowledgedProducer(AWAY, max_bytes=100_000, give_up=60)
    yield producer
    await producer.close(0)


def intake(producer: AcknowledgedProducer, window: Window, **more: Any) -> Intake:
    settings = CollectorSettings(answer_within=0.05, **more)
    return Intake(settings, load_topics(settings), producer, Metrics(), window)


async def answered(intake: Intake, events: object, headers: Headers | None = None) -> Answer:
    """Posts events, and ticks until the answer is there."""
    body = events if isinstance(events, bytes) else json.dumps(events).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    taking = asyncio.create_task(intake.take("events", JSON_TYPE | (headers or {}), "", receive))
    while not taking.done():
        await asyncio.sleep(0.01)
        intake.tick()
    return await taking


async def test_who_repeats_an_id_while_kafka_is_away_leaves_nothing_behind(producer: AcknowledgedProducer) -> None:
    window = OwnWindow(60, 10)
    taker, events = intake(producer, window), [{**EVENT, "event_id": "a"}] * 10
    for _ in range(5):
        assert (await answered(taker, events)).status == 503
    delivery = window.find(KEY)
    assert delivery is not None
    assert len(delivery.waiting) == 1
    assert producer.bytes_underway == delivery.size


async def test_events_that_never_fit_into_the_buffer_are_too_large_and_others_wait(
    producer: AcknowledgedProducer,
) -> None:
    window = OwnWindow(60, 10)
    taker, large = intake(producer, window), {**EVENT, "Listing_ID": "x" * 60_000}
    with pytest.raises(TooLarge):
        await answered(taker, [{**large, "event_id": "a"}, large])
    assert window.find(KEY) is None
    assert (await answered(taker, large)).status == 503
    with pytest.raises(BufferFull):
        await answered(taker, large)


async def test_ids_of_a_request_that_was_refused_half_way_are_free_again(
    producer: AcknowledgedProducer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, disk = Path.symlink_to, {"room": 1}

    def on_a_full_disk(link: Path, target: str) -> None:
        if not disk["room"]:
            raise OSError(28, "No space left on device")
        disk["room"] -= 1
        make(link, target)

    taker = intake(producer, SharedWindow(tmp_path, 60, 10))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "symlink_to", on_a_full_disk)
        with pytest.raises(Busy, match="No space left"):
            await answered(taker, [{**EVENT, "event_id": name} for name in "ab"])
    assert producer.bytes_underway == 0
    assert SharedWindow(tmp_path, 60, 10).find(KEY) is None


@pytest.mark.parametrize("body", [b"[" + b",".join([b"{}"] * 200) + b"]", b"[" + b"{}," * 200])
async def test_a_refused_body_counts_against_the_rate_by_its_events(
    producer: AcknowledgedProducer, body: bytes
) -> None:
    keys = [KeySettings(name="app", secret=SecretStr("s"), rate=50.0)]
    taker = intake(producer, OwnWindow(60, 10), keys=keys, max_events=100)
    with pytest.raises(Refusal):
        await answered(taker, body, {b"x-api-key": b"s"})
    with pytest.raises(RateExceeded):
        await answered(taker, EVENT, {b"x-api-key": b"s"})


async def test_the_event_loop_goes_on_while_a_large_body_is_looked_at(
    producer: AcknowledgedProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def parse(*args: Any) -> Parsed:
        threads.append(threading.current_thread())
        return parse_body(*args)

    monkeypatch.setattr("penstock.collector.intake.parse_body", parse)
    taker = intake(producer, OwnWindow(60, 10))
    assert (await answered(taker, [{**EVENT, "User_ID": 5}] * 2_000)).status == 422
    assert threads != [threading.main_thread()]


@pytest.mark.parametrize(
    ("origins", "origin", "is_taken"),
    [
        (None, None, False),
        (None, b"https://evil.example", False),
        (["https://shop.example"], b"https://evil.example", False),
        (["https://shop.example"], None, False),
        (["https://shop.example"], b"https://shop.example", True),
        (["*"], b"https://any.example", True),
    ],
)
async def test_a_body_without_a_content_type_needs_an_allowed_origin(
    producer: AcknowledgedProducer, origins: list[str] | None, origin: bytes | None, is_taken: bool
) -> None:
    cors = CorsSettings(origins=origins) if origins else None
    taker = intake(producer, OwnWindow(60, 10), cors=cors)
    headers = {b"origin": origin} if origin else {}
    body = json.dumps({**EVENT, "User_ID": 5}).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    if is_taken:
        assert (await taker.take("events", headers, "", receive)).status == 422
        return
    with pytest.raises(Unsupported, match="content type"):
        await taker.take("events", headers, "", receive)


@pytest.mark.parametrize("simple", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data"])
async def test_content_types_that_browsers_send_without_asking_are_refused(
    producer: AcknowledgedProducer, simple: bytes
) -> None:
    with pytest.raises(Unsupported):
        await answered(intake(producer, OwnWindow(60, 10)), EVENT, {b"content-type": simple})
