import os
from pathlib import Path

import pytest

from penstock.collector.metrics import Metrics


def samples(page: bytes) -> dict[str, float]:
    lines = (line for line in page.decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_events_bytes_requests_and_rejections_are_counted() -> None:
    metrics = Metrics()
    metrics.counted("events", {"accepted": 2, "rejected": 1}, 300)
    metrics.counted("events", {"accepted": 1}, 100)
    metrics.not_taken("record.invalid")
    metrics.answered(207, 0.004)
    told = samples(metrics.page())
    assert told['penstock_collector_events_total{status="accepted",topic="events"}'] == 3
    assert told['penstock_collector_bytes_total{topic="events"}'] == 400
    assert told['penstock_collector_rejections_total{reason="record.invalid"}'] == 1
    assert told['penstock_collector_requests_total{status="207"}'] == 1


def test_answer_times_fall_into_buckets_that_add_up() -> None:
    metrics = Metrics()
    for seconds in (0.0005, 0.001, 0.004, 100):
        metrics.answered(200, seconds)
    told = samples(metrics.page())
    assert told['penstock_collector_request_seconds_bucket{le="0.001"}'] == 2
    assert told['penstock_collector_request_seconds_bucket{le="0.005"}'] == 3
    assert told['penstock_collector_request_seconds_bucket{le="+Inf"}'] == 4
    assert told["penstock_collector_request_seconds_sum"] == pytest.approx(100.0055)


def test_any_worker_answers_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Metrics(tmp_path), Metrics(tmp_path)
    for pid, metrics in ((1, one), (2, other)):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        metrics.counted("events", {"accepted": pid}, 10)
        metrics.share(underway=5)
    told = samples(other.page())
    assert told['penstock_collector_events_total{status="accepted",topic="events"}'] == 3
    assert told["penstock_collector_underway_bytes"] == 10


def test_a_dead_worker_counts_still_but_has_nothing_underway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    dead = Metrics(tmp_path)
    dead.counted("events", {"accepted": 1}, 10)
    dead.share(underway=5)
    os.utime(tmp_path / "1.numbers", (0, 0))
    monkeypatch.setattr(os, "getpid", lambda: 2)
    told = samples(Metrics(tmp_path).page())
    assert told['penstock_collector_events_total{status="accepted",topic="events"}'] == 1
    assert told["penstock_collector_underway_bytes"] == 0


def test_numbers_that_cannot_be_written_stop_nobody_and_are_complained_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shared = tmp_path / "away"
    metrics = Metrics(shared)
    metrics.share(1)
    metrics.share(2)
    assert len(caplog.records) == 1
    shared.mkdir()
    metrics.share(3)
    assert len(list(shared.iterdir())) == 1
    assert samples(metrics.page())["penstock_collector_underway_bytes"] == 3
