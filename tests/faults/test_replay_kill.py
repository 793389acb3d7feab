"""A replay of dead letters dies by -9, again and again: in the end every letter is back in its topic, once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from penstock.config import Settings
from penstock.events.dead_letter import dead_letter_headers
from penstock.kafka.producer import Producer
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topics import ensure_topic

LETTERS = 3_000
SHORT = 2
PATIENCE = 120.0


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_every_letter_is_back_once_however_often_its_replay_died(
    settings: Settings, topic: str, rounds: int, tell: Callable[[str], None]
) -> None:
    box = _filled_box(settings, topic)
    kills = rounds or SHORT
    before = [_die_while_replaying(settings, topic, box) for _ in range(kills)]
    assert _replay(settings, box).wait(PATIENCE) == 0
    back = Counter(record.value for record in read_span(settings, find_span(settings, [topic])))
    tell(f"replay killed {kills} times at {before} of {LETTERS:,} letters: {LETTERS - len(back)} lost, 0 twice")
    assert back == Counter(b"%d" % number for number in range(LETTERS))


def _filled_box(settings: Settings, topic: str) -> str:
    box = f"{topic}.dead"
    for name in (topic, box):
        ensure_topic(settings, name, partitions=2)
    about = {"code": "record.invalid", "message": "no", "pipeline": "p", "failed_at": datetime.now(UTC)}
    with Producer(box, serializer=bytes, key_type="bytes", settings=settings) as producer:
        for number in range(LETTERS):
            producer.send(b"%d" % number, headers=dead_letter_headers([], origin=f"{topic}/0/{number}", **about))
    return box


def _die_while_replaying(settings: Settings, topic: str, box: str) -> int:
    """Kill a replay a moment after it has begun to send; how many letters are back by then."""
    start = _count(settings, topic)
    process = _replay(settings, box)
    give_up = time.monotonic() + PATIENCE
    while _count(settings, topic) == start and process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.01)
    time.sleep(random.random() * 0.5)  # noqa: S311 - a moment, not a secret
    process.kill()
    process.wait()
    return len(list(read_span(settings, find_span(settings, [topic]))))


def _replay(settings: Settings, box: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "penstock", "deadletters", "replay", "--letters", box, "--yes"]
    environment = {**os.environ, "PENSTOCK_BOOTSTRAP": settings.bootstrap}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _count(settings: Settings, topic: str) -> int:
    return sum(find_span(settings, [topic]).ends.values())
