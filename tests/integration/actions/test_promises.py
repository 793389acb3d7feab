from __future__ import annotations

import json
import threading
import time
from base64 import b64decode
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from penstock import Consumer, Producer
from penstock.config import Settings
from penstock.errors import ActionFailed, TopicNotFound, Transient
from penstock.events.envelope import EventEnvelope
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.options import client_options
from penstock.kafka.topics import add_partitions
from penstock.schemas import AvroCodec, Schema, connect_registry
from tests.metadata_events import PLATFORM_EVENT, entity_change, platform_event
from tests.running_pipeline import Calling, RunningPipeline

LARGE = 8_000_000
QUICK = {"commit": "sync", "commit_every": 1}


def numbers(seen: list[EventEnvelope]) -> list[int]:
    return [event.event.version for event in seen]


@pytest.mark.parametrize("commit", ["sync", "async", "interval"])
def test_all_events_are_seen_in_order_and_committed_in_every_mode(
    topic: str, settings: Settings, create_topic: Any, send_events: Any, commit: str
) -> None:
    create_topic()
    send_events(range(1200))
    seen: list[EventEnvelope] = []
    source = {"commit": commit, "commit_interval": 0.2}
    with RunningPipeline(topic, settings, seen.append, source=source) as running:
        running.until(lambda: len(seen) == 1200)
        running.until(lambda: running.committed() == 1200)
    assert numbers(seen) == list(range(1200))
    counts = running.counts
    assert (counts.received, counts.done, counts.failed) == (1200, 1200, 0)
    place = {"topic": topic, "partition": 0, "offset": 7, "key": "7", "headers": {}}
    assert place.items() <= seen[7].meta["kafka"].items()


def test_bad_messages_are_failed_events_and_the_rest_goes_on(  # noqa: PLR0917 - fixtures
    topic: str, settings: Settings, create_topic: Any, send_events: Any, fill: Any, tmp_path: Path
) -> None:
    create_topic()
    send_events([0])
    codec = AvroCodec(connect_registry(settings))
    encode = codec.encoder(f"{topic}-value", Schema.from_text(json.dumps(PLATFORM_EVENT)))
    whole = encode(platform_event(entity_change()))
    bad = [b"garbage", b"", b"\0\x7f\xff\xff\xff1234", whole[:-9], encode(platform_event(b"no json"))]
    fill(topic, bad, key=b"\xff key", headers=[("own", b"1")])
    send_events([1])
    seen: list[EventEnvelope] = []

    def act(event: EventEnvelope) -> None:
        seen.append(event)
        if event.event.version == 1:
            raise ValueError("not this one")

    options = {"failed_events_dir": str(tmp_path), "dead_letters": f"{topic}.letters"}
    with RunningPipeline(topic, settings, act, options=options) as running:
        running.until(lambda: running.committed() == 7)
    assert (numbers(seen), running.counts.failed, running.counts.done) == ([0, 1], 6, 1)
    lines = [json.loads(line) for line in (tmp_path / topic.lower() / "failed_events.log").read_text().splitlines()]
    assert [line["origin"] for line in lines] == [f"{topic}/0/{offset}" for offset in range(1, 7)]
    assert [line["error"]["code"] for line in lines] == [
        *["record.undecodable"] * 2,
        "schema.not_found",
        *["record.undecodable"] * 2,
        "action.raised",
    ]
    with Consumer(f"{topic}.letters", settings=settings, on_undecodable="raw", timeout=2) as letters:
        kept = list(letters)
    assert [letter.value for letter in kept[:4]] == bad[:4]
    headers = dict(kept[0].headers)
    assert (kept[0].key, headers["own"], headers["penstock.origin"]) == (b"\xff key", b"1", f"{topic}/0/1".encode())
    assert (headers["penstock.pipeline"], headers["penstock.error.code"]) == (topic.encode(), b"record.undecodable")


def test_messages_that_are_large_or_nest_deeply_are_kept_too(
    topic: str, settings: Settings, create_topic: Any, tmp_path: Path
) -> None:
    create_topic(max_message_bytes=str(LARGE))
    sent = [b"no JSON" * 300_000, b'{"a":' * 800 + b"1" + b"}" * 800]
    with Producer(topic, serializer=bytes, settings=settings, options={"message.max.bytes": LARGE}) as producer:
        for value in sent:
            producer.send(value)

    def act(_event: EventEnvelope) -> None:
        raise ValueError("no")

    given = {"source": {"topic_routes": {"thing": topic}}, "options": {"failed_events_dir": str(tmp_path)}}
    with RunningPipeline(topic, settings, act, **given) as running:
        running.until(lambda: running.counts.failed == 2)
        running.until(lambda: running.committed() == 2)
    with Consumer(f"{topic}.dead", settings=settings, legacy="bytes", timeout=5) as letters:
        assert [letter.value for letter in letters] == sent
    (log,) = tmp_path.rglob("failed_events.log")
    kept = [json.loads(line)["message"]["value"] for line in log.read_text().splitlines()]
    assert [b64decode(value) for value in kept] == sent


@pytest.mark.parametrize("concurrency", [1, 4])
def test_throw_stops_before_the_event_is_committed_and_a_restart_begins_with_it(
    topic: str, settings: Settings, create_topic: Any, send_events: Any, concurrency: int
) -> None:
    create_topic()
    send_events(range(10))
    broken = [True]

    def act(event: EventEnvelope) -> None:
        if event.event.version == 4 and broken:
            raise ValueError("no")

    options = {"failure_mode": "THROW", "concurrency": concurrency}
    with RunningPipeline(topic, settings, act, options=options) as running:
        error = running.ended()
    assert isinstance(error, ActionFailed)
    assert f"{topic}/0/4: ValueError: no" in error.message
    assert running.committed() == 4
    broken.clear()
    seen: list[EventEnvelope] = []
    source = {"start": "committed"}
    with RunningPipeline(topic, settings, seen.append, source=source, options=options) as running:
        running.until(lambda: len(seen) == 6)
    assert sorted(numbers(seen)) == [4, 5, 6, 7, 8, 9]


def test_transient_errors_are_retried_and_each_attempt_sees_the_original_event(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    send_events([7])
    seen: list[int] = []

    def act(event: EventEnvelope) -> None:
        seen.append(event.event.data.pop("version"))
        if len(seen) < 3:
            raise Transient("not yet")

    with RunningPipeline(topic, settings, act, options={"retry_count": 3, "retry_backoff": 0.01}) as running:
        running.until(lambda: running.counts.done)
    assert (seen, running.counts.retried) == ([7, 7, 7], 2)


def test_deferred_events_are_committed_in_order_however_they_are_acknowledged(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    send_events(range(6))
    put_off: list[EventEnvelope] = []

    def act(event: EventEnvelope) -> bool:
        put_off.append(event)
        return event.event.version == 5

    with RunningPipeline(topic, settings, act, source=QUICK) as running:
        running.until(lambda: len(put_off) == 6)
        source = Calling.contexts[topic].event_source
        for event in (put_off[4], put_off[1]):
            source.ack(event)
        time.sleep(0.3)
        assert running.committed() == 0
        source.ack(put_off[0])
        running.until(lambda: running.committed() == 2)
        assert running.counts.done == 4
    assert running.committed() == 2


def test_an_action_may_acknowledge_what_it_put_off_when_it_is_closed(
    topic: str, settings: Settings, create_topic: Any, send_events: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic()
    send_events(range(3))
    put_off: list[EventEnvelope] = []

    def flush(_action: object) -> None:
        for event in put_off:
            Calling.contexts[topic].event_source.ack(event)

    monkeypatch.setattr(Calling, "close", flush)
    with RunningPipeline(topic, settings, lambda event: put_off.append(event) or False) as running:
        running.until(lambda: len(put_off) == 3)
    assert running.committed() == 3


def test_slow_actions_run_at_once_with_the_events_of_one_key_in_order(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic(partitions=2)
    send_events(range(600), key=lambda number: f"k{number % 40}")
    by_key: dict[str, list[int]] = defaultdict(list)
    together: list[int] = []
    busy: set[int] = set()

    def act(event: EventEnvelope) -> None:
        busy.add(event.event.version)
        together.append(len(busy))
        time.sleep(0.005)
        by_key[event.meta["kafka"]["key"]].append(event.event.version)
        busy.discard(event.event.version)

    with RunningPipeline(topic, settings, act, options={"concurrency": 16}) as running:
        running.until(lambda: running.counts.done == 600)
        running.until(lambda: (running.committed(0) or 0) + (running.committed(1) or 0) == 600)
    assert max(together) > 8
    assert len(by_key) == 40
    assert all(found == sorted(found) for found in by_key.values())


def test_a_full_buffer_stops_reading_and_the_member_stays_in_its_group(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    send_events(range(3000))
    gate, seen = threading.Event(), []

    def act(event: EventEnvelope) -> None:
        if event.event.version == 0:
            gate.wait(30)
        seen.append(event.event.version)

    impatient = {"max.poll.interval.ms": 6000, "session.timeout.ms": 6000}
    connection = {"bootstrap": settings.bootstrap, "consumer_config": impatient}
    options = {"concurrency": 8, "buffer": 100}
    with RunningPipeline(topic, settings, act, source={"connection": connection}, options=options) as running:
        time.sleep(8)
        assert running.pipeline.tracker.held <= 100 + 500
        assert running.committed() == 0, "nothing behind the first event is committed"
        gate.set()
        running.until(lambda: running.committed() == 3000)
    assert sorted(seen) == list(range(3000)), "nothing was read twice, so the member never left its group"


def test_partitions_that_go_are_finished_and_committed_first(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic(partitions=4)
    send_events(range(800))
    seen: list[int] = []

    def act(event: EventEnvelope) -> None:
        time.sleep(0.02)
        seen.append(event.event.version)

    options, goes_on = {"concurrency": 4}, {"start": "committed"}
    with RunningPipeline(topic, settings, act, options=options) as first:
        first.until(lambda: len(seen) > 50)
        with RunningPipeline(topic, settings, act, source=goes_on, options=options) as second:
            second.until(lambda: second.counts.done > 50)
            second.until(lambda: len(set(seen)) == 800)
    assert sorted(seen) == list(range(800)), "nothing was lost, and nothing done twice"


def test_a_pipeline_starts_where_it_is_told_to(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    send_events([0, 1], timestamp=1_600_000_000_000)
    send_events([2, 3], timestamp=1_700_000_000_000)
    found: dict[str, list[int]] = {}
    for start in ("earliest", "2022-01-01T00:00Z"):
        seen: list[EventEnvelope] = []
        with RunningPipeline(
            topic, settings, seen.append, name=f"{topic}-{start[:4]}", source={"start": start}
        ) as running:
            running.until(lambda seen=seen: seen and seen[-1].event.version == 3)
        found[start] = numbers(seen)
    assert found == {"earliest": [0, 1, 2, 3], "2022-01-01T00:00Z": [2, 3]}


@pytest.mark.parametrize(
    "source", [{"start": "committed"}, {"start": "latest"}, {"start": "latest", "stateless": True}]
)
def test_a_new_group_reads_what_arrives_from_its_start_on(
    topic: str, settings: Settings, create_topic: Any, send_events: Any, source: dict[str, Any]
) -> None:
    create_topic()
    send_events([0])
    seen: list[EventEnvelope] = []
    with RunningPipeline(topic, settings, seen.append, source=source) as running:
        running.until(lambda: running.pipeline.is_reading)
        send_events([1])
        running.until(lambda: seen)
    assert numbers(seen) == [1]
    assert running.committed() == (None if "stateless" in source else 2)


def test_what_arrives_while_a_group_that_never_saw_an_event_is_down_is_not_missed(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    seen: list[EventEnvelope] = []
    source = {"start": "committed"}
    with RunningPipeline(topic, settings, seen.append, source=source) as running:
        running.until(lambda: running.pipeline.is_reading)
    send_events([1])
    with RunningPipeline(topic, settings, seen.append, source=source) as running:
        running.until(lambda: seen)
    assert numbers(seen) == [1]


def test_a_topic_that_is_made_later_is_read_from_its_beginning(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic(name=f"{topic}-there")
    seen: list[EventEnvelope] = []
    connection = {"consumer_config": {"topic.metadata.refresh.interval.ms": 1000}}
    source = {"topic_routes": {"pe": [f"{topic}-there", topic]}, "start": "committed", "connection": connection}
    with RunningPipeline(topic, settings, seen.append, source=source) as running:
        running.until(lambda: running.pipeline.is_reading)
        create_topic()
        send_events([1, 2])
        running.until(lambda: len(seen) == 2)
    assert numbers(seen) == [1, 2]


def test_a_partition_that_is_added_is_read_from_its_beginning_by_a_member_that_came_second(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    seen: list[EventEnvelope] = []
    source = {"start": "latest", "connection": {"consumer_config": {"topic.metadata.refresh.interval.ms": 5000}}}
    with ExitStack() as running:
        with RunningPipeline(topic, settings, seen.append, source=source) as first:
            first.until(lambda: first.pipeline.standing.lag)
            second = running.enter_context(RunningPipeline(topic, settings, seen.append, source=source))
            second.until(lambda: second.pipeline.is_reading)
        second.until(lambda: second.pipeline.standing.lag)
        with Admin(settings) as admin:
            add_partitions(admin, topic, 2)
        send_events([1], partition=1)
        second.until(lambda: seen)
    assert numbers(seen) == [1]


def test_lag_is_what_is_not_done_of_each_partition(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic(partitions=2)
    send_events(range(10), partition=0)
    send_events(range(10, 14), partition=1)
    gate = threading.Event()
    with RunningPipeline(topic, settings, lambda _event: gate.wait(30), options={"concurrency": 2}) as running:
        running.until(lambda: lags(running) == {0: 10, 1: 4})
        gate.set()
        running.until(lambda: lags(running) == {0: 0, 1: 0})
        assert running.thread.vitals()[0].is_connected


def lags(running: RunningPipeline) -> dict[int, int]:
    """The lag of each partition, as health and metrics tell it."""
    return {int(place.partition): behind for place, behind in running.thread.vitals()[0].lag.items()}


def test_it_is_an_error_if_not_one_of_the_topics_is_there(topic: str, settings: Settings) -> None:
    with RunningPipeline(f"{topic}-absent", settings, print) as running:
        assert isinstance(running.ended(), TopicNotFound)


def test_a_topic_that_is_deleted_and_created_again_is_committed_from_its_new_start(
    topic: str, settings: Settings, create_topic: Any, send_events: Any
) -> None:
    create_topic()
    send_events(range(5))
    seen: list[EventEnvelope] = []
    with RunningPipeline(topic, settings, seen.append) as running:
        running.until(lambda: running.committed() == 5)
        admin = AdminClient(client_options(settings))
        admin.delete_topics([topic])[topic].result(30)
        running.until(lambda: not exists(settings, topic))
        create_topic()
        send_events(range(3))
        running.until(lambda: len(seen) == 8, 60)
        running.until(lambda: running.committed() == 3)
    assert numbers(seen) == [0, 1, 2, 3, 4, 0, 1, 2]


def exists(settings: Settings, topic: str) -> bool:
    with Admin(settings) as admin:
        return topic in read_cluster(admin).topics
