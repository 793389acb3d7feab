"""Kafka dies while events are posted, and comes back: what was answered with success is in the topic, once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import httpx
import pytest

from penstock.config import Settings
from penstock.local.stack import Stack
from tests.collector_process import EVENT, collector, headers_of, product_topic, read_topic
from tests.faults.conftest import ROUNDS

CLIENTS = 16
BATCH = 10
AWAY_SECONDS = 8.0


class Clients:
    """Clients that send every event until it is accepted, under one id, as careful apps do."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self.accepted: Counter[str] = Counter()
        self.answers: Counter[int] = Counter()

    def send(self, number: int) -> None:
        """Send the batch of this number until all of it is accepted."""
        waiting = {f"event-{number}-{place}" for place in range(BATCH)}
        with httpx.Client(base_url=self._url, timeout=60) as http:
            while waiting:
                events = [{**EVENT, "event_id": name} for name in sorted(waiting)]
                # Each attempt on a connection of its own, so that another worker may get it.
                answer = http.post("/events", json=events, headers={"connection": "close"})
                taken = {result["id"] for result in answer.json().get("events", []) if result["status"] == "accepted"}
                waiting -= taken
                with self._lock:
                    self.answers[answer.status_code] += 1
                    self.accepted.update(taken)
                if waiting:
                    time.sleep(float(answer.headers["retry-after"]))


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [1, 2] if ROUNDS else [2])
def test_every_event_answered_with_success_is_in_the_topic_once(
    stack_settings: Settings, tmp_path: Path, rounds: int, tell: Callable[[str], None], workers: int
) -> None:
    events = 10_000 * rounds or 2_000
    topics = {"events": product_topic()}
    with (
        Stack(settings=stack_settings) as stack,
        collector(tmp_path, stack.settings(), topics=topics, answer_within=2, workers=workers) as process,
    ):
        clients = Clients(process.url)
        with ThreadPoolExecutor(CLIENTS) as pool:
            sending = [pool.submit(clients.send, number) for number in range(events // BATCH)]
            wait_until(lambda: len(clients.accepted) >= events // 4)
            stack.kill("kafka")
            time.sleep(AWAY_SECONDS)
            stack.restart("kafka")
            for each in sending:
                each.result()
        assert process.process.poll() is None, process.log.read_text()
        messages = read_topic(stack.settings(), "events", events)
    found = Counter(headers_of(message)["penstock.event_id"] for message in messages)
    lost = clients.accepted.keys() - found.keys()
    repeated = sum(found.values()) - len(found)
    tell(
        f"killed Kafka for {AWAY_SECONDS:g} s while posting {events:,} events to a collector with {workers} worker(s): "
        f"{len(clients.accepted):,} answered with success, {clients.answers[503]} answers of 503, {len(lost)} lost, "
        f"{repeated} repeated"
    )
    assert len(clients.accepted) == events
    assert clients.answers[503] > 0
    assert not lost
    assert repeated == 0


def wait_until(done: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for something to become true."""
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.05)
