"""How long an event takes: from its POST until it is readable in the Avro topic, and countable in the lake."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import yaml
from _common import own_topic
from _spark import EVENT_SCHEMA, pipeline, to_avro, to_lake

from penstock import Consumer
from penstock.cli.demo.programs import program
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.errors import TableNotFound
from penstock.kafka.heartbeat import TOPIC as HEARTBEATS
from penstock.kafka.topics import ensure_topic
from penstock.lake.lake import Lake
from penstock.lake.question import ask
from penstock.local.ports import free_ports

RATE = 1_000
LAKE_TRIGGER_SECONDS = 10

_BATCH, _SENDERS = 10, 4
_LOOK_SECONDS = 0.25
_WARM_UP_SECONDS, _CAUGHT_UP_SECONDS, _PATIENCE_SECONDS = 20.0, 5.0, 300.0


@dataclass
class Journey:
    """When each event was sent, by the stamp that it carries, and when it was seen where."""

    answered: dict[str, float] = field(default_factory=dict)
    in_topic: dict[str, float] = field(default_factory=dict)
    in_lake: dict[str, float] = field(default_factory=dict)


def seconds_of(seen: dict[str, float], stamps: Sequence[str]) -> list[float]:
    """How long these events took until they were seen, the shortest first."""
    return sorted(seen[stamp] - sent_at(stamp) for stamp in stamps)


def sent_at(stamp: str) -> float:
    """When the event with this stamp was sent."""
    return int(stamp) / 1e9


@contextmanager
def journey(settings: Settings) -> Iterator[tuple[Journey, Callable[[float], list[str]]]]:
    """Run collector, pipeline, senders and watchers; gives what they see, and how to measure for so many seconds."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory, ExitStack() as running:
        topic, avro = running.enter_context(own_topic(settings, 1)), running.enter_context(own_topic(settings, 1))
        own = settings.model_copy(update={"lake": f"{directory}/lake"})
        ensure_topic(own, HEARTBEATS, partitions=1)
        url = _start(own, topic, avro, Path(directory), running)
        seen, ended = Journey(), threading.Event()
        watchers: tuple[Callable[[], None], ...] = (
            *(lambda number=number: _send(url, number, seen, ended) for number in range(_SENDERS)),
            lambda: _read_topic(own, avro, seen, ended),
            lambda: _count_lake(own, seen, ended),
        )
        pool = running.enter_context(ThreadPoolExecutor(len(watchers)))
        running.callback(ended.set)
        for watcher in watchers:
            pool.submit(watcher).add_done_callback(_tell_failure)
        yield seen, lambda seconds: _measure(seen, seconds)


def _start(own: Settings, topic: str, avro: str, directory: Path, running: ExitStack) -> str:
    (port,) = free_ports(1)
    taken = {"schema": str(EVENT_SCHEMA), "key": "User_ID", "time": "Server_Time"}
    section = {"topic": topic, "topics": {topic: taken}}
    (directory / "penstock.yaml").write_text(yaml.safe_dump({"ports": {"collector": port}, "collector": section}))
    sinks = to_avro(avro, "200 milliseconds"), to_lake("events", f"{LAKE_TRIGGER_SECONDS} seconds")
    (directory / "pipeline.yaml").write_text(yaml.safe_dump(pipeline(own, topic, *sinks)))
    environment = {**client_environment(own), "PENSTOCK_LAKE": own.lake}
    for name, words in (("collector", ["collector"]), ("pipeline", ["run", "pipeline.yaml"])):
        running.enter_context(program(name, *words, environment=environment, directory=directory))
    return f"http://127.0.0.1:{port}"


def _measure(seen: Journey, seconds: float) -> list[str]:
    """Wait until what came while Spark started is done, measure for so long, wait for the last ones; their stamps."""
    _wait(lambda: _age(seen.in_topic) < _CAUGHT_UP_SECONDS)
    _wait(lambda: _age(seen.in_lake) < LAKE_TRIGGER_SECONDS + _CAUGHT_UP_SECONDS)
    time.sleep(_WARM_UP_SECONDS)
    since = time.time()
    time.sleep(seconds)
    until = time.time()
    wanted = [stamp for stamp in list(seen.answered) if since <= sent_at(stamp) < until]
    _wait(lambda: all(stamp in seen.in_lake and stamp in seen.in_topic for stamp in wanted))
    return sorted(wanted)


def _age(seen: dict[str, float]) -> float:
    """How long ago the newest event that was seen had been sent."""
    return time.time() - sent_at(max(list(seen), default="0"))


def _wait(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while not done():
        if time.monotonic() > give_up:
            sys.exit("the events do not arrive")
        time.sleep(_LOOK_SECONDS)


def _send(url: str, number: int, seen: Journey, ended: threading.Event) -> None:
    """One sender's share of the events, at an even pace."""
    pause = _BATCH * _SENDERS / RATE
    due = time.monotonic() + pause * number / _SENDERS
    with httpx.Client(base_url=url, timeout=60, transport=httpx.HTTPTransport(retries=100)) as http:
        while not ended.wait(max(0.0, due - time.monotonic())):
            due += pause
            now = time.time_ns()
            stamps = [str(now + place * _SENDERS + number) for place in range(_BATCH)]
            answer = http.post("/events", json=[_event(stamp) for stamp in stamps])
            answer.raise_for_status()
            seen.answered |= dict.fromkeys(stamps, time.time())


def _event(stamp: str) -> dict[str, str]:
    return {"Event_Type": "Click", "Event_Version": "1", "User_ID": f"user-{stamp[-4:]}", "Listing_ID": stamp}


def _read_topic(settings: Settings, topic: str, seen: Journey, ended: threading.Event) -> None:
    with Consumer(topic, settings=settings, timeout=1) as records:
        while not ended.is_set():
            for record in records:
                seen.in_topic.setdefault(record.value["Listing_ID"], time.time())
                if ended.is_set():
                    return


def _count_lake(settings: Settings, seen: Journey, ended: threading.Event) -> None:
    """Ask again and again for the events that were not there yet."""
    while not ended.wait(_LOOK_SECONDS):
        oldest = min((stamp for stamp in list(seen.answered) if stamp not in seen.in_lake), default="")
        try:
            sql = f"SELECT Listing_ID FROM events WHERE Listing_ID >= '{oldest}'"  # noqa: S608 - a number of ours
            with ask(Lake(settings), sql) as answer:
                found = [value for batch in answer.batches() for value in batch.column(0).to_pylist()]
        except TableNotFound:
            continue
        now = time.time()
        for stamp in found:
            seen.in_lake.setdefault(stamp, now)


def _tell_failure(future: object) -> None:
    error = future.exception()  # type: ignore[attr-defined]
    if error is not None:
        print(f"  {type(error).__name__}: {error}")


def batch_parts(settings: Settings, since: float) -> dict[str, dict[str, float]]:
    """Where a batch's time went, the median of the heartbeats since then, by query."""
    parts: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with Consumer(HEARTBEATS, settings=settings, timeout=3) as beats:
        for beat in beats:
            told = json.loads(beat.value)
            if told.get("last_batch") and beat.time is not None and beat.time.timestamp() >= since:
                for name, seconds in told["last_batch"]["parts"].items():
                    parts[told["sink"]][name].append(seconds)
    return {sink: {name: statistics.median(found) for name, found in named.items()} for sink, named in parts.items()}
