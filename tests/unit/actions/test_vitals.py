from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.actions.health import health, serve_health
from penstock.actions.metrics import ActionMetrics
from penstock.actions.tally import Tally
from penstock.actions.vitals import InWork, Vitals
from penstock.errors import PortInUse, UsageError
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.events.vitals import LastError
from penstock.kafka.offsets import PartitionId
from penstock.local.ports import free_ports

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = PartitionId(TopicName("t"), Partition(0))
HOST = "127.0.0.1"


def vitals(**given: object) -> Vitals:
    return Vitals("p", 0, "running", NOW, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "trouble"),
    [
        ({}, None),
        ({"oldest": InWork(Origin(*PLACE, Offset(3)), 299)}, None),
        ({"oldest": InWork(Origin(*PLACE, Offset(3)), 301)}, "stuck: t/0/3 is in work for 301 s"),
        ({"waits_for_acks": True, "held": 5000}, "stuck: 5,000 events wait for their action to acknowledge them"),
        ({"unheard": 299}, None),
        ({"unheard": 301}, "stuck: its process has not been heard of for 301 s"),
        ({"is_connected": False}, "stuck: no broker answers"),
    ],
)
def test_a_pipeline_that_is_stuck_says_why(given: dict[str, object], trouble: str | None) -> None:
    assert vitals(**given).trouble == trouble


def test_one_dead_pipeline_turns_health_red_and_is_named() -> None:
    dead = Vitals("q", 1, "failed", NOW, last_error=LastError(NOW, "c", "t/0/3: no", ""))
    status, told = health([vitals(), dead])
    assert (status, told["troubles"]) == (HTTPStatus.SERVICE_UNAVAILABLE, {"q.1": "dead: t/0/3: no"})
    assert health([vitals()])[0] == HTTPStatus.OK


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_health_and_metrics_are_served_and_workers_are_added_up() -> None:
    tally = Tally()
    tally.received("E", 0.2)
    tally.done("E", 0.004)
    tally.filtered("E")
    readings: Iterable[Vitals] = [
        vitals(counts=tally.by_type, lag={PLACE: 7}),
        Vitals("p", 1, "running", NOW, counts=tally.by_type),
    ]
    (port,) = free_ports(1)
    close = serve_health(lambda: readings, port, HOST)
    try:
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").json()["status"] == "ok"
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == HTTPStatus.NOT_FOUND
        found = samples(httpx.get(f"http://127.0.0.1:{port}/metrics").text)
        with pytest.raises(PortInUse):
            serve_health(lambda: readings, port, HOST)
    finally:
        close()
    assert found["penstock_action_events_received_total", "E", "p"] == 4
    assert found["penstock_action_events_filtered_total", "E", "p"] == 2
    assert found["penstock_action_events_done_total", "E", "p"] == 2
    assert found["penstock_action_lag_events", "0", "p", "t"] == 7
    assert found["penstock_action_wait_seconds_bucket", "E", "0.25", "p"] == 2
    assert found["penstock_action_wait_seconds_bucket", "E", "0.1", "p"] == 0
    assert found["penstock_action_action_seconds_count", "E", "p"] == 2


def test_health_is_served_on_the_address_that_is_asked_for_and_an_impossible_one_is_told() -> None:
    (port,) = free_ports(1)
    close = serve_health(list, port, "127.0.0.2")
    try:
        assert httpx.get(f"http://127.0.0.2:{port}/healthz").status_code == HTTPStatus.OK
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{port}/healthz")
    finally:
        close()
    with pytest.raises(UsageError, match=r"cannot be served on 192\.0\.2\.1"):
        serve_health(list, port, "192.0.2.1")


def test_a_heartbeat_is_plain_data() -> None:
    data = vitals(lag={PLACE: 7}, position={PLACE: Offset(3)}).as_data(NOW)
    told = json.loads(json.dumps(data))
    assert (told["pipeline"], told["kind"], told["lag"], told["position"]) == ("p", "action", 7, {"t": {"0": 3}})


def test_types_of_events_cannot_grow_the_metrics_without_bound() -> None:
    tallies = [Tally(), Tally()]
    for number in range(1000):
        for worker, tally in enumerate(tallies):
            tally.filtered(f"type-{worker}-{number}")
    for name in ("x" * 101, "a\u001b[31m", "b\nc"):
        fresh = Tally()
        fresh.filtered(name)
        assert list(fresh.by_type) == ["other"]
    everything = (
        Vitals("p", 0, "running", NOW, counts=tallies[0].by_type),
        Vitals("p", 1, "running", NOW, counts=tallies[1].by_type),
    )
    received = next(iter(ActionMetrics(lambda: everything).collect()))
    assert len(received.samples) <= 101
    assert sum(sample.value for sample in received.samples) == 2000
