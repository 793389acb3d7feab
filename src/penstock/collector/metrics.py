"""What Prometheus is told; with several workers every one of them answers for all."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from penstock.collector.answers import Tally

SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus_client learns, when imported, where the workers share their numbers."""

CONTENT_TYPE = CONTENT_TYPE_LATEST

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nobody asks for


def forget_dead_workers() -> None:
    """What a dead worker counted stays; what it measured at its last moment does not."""
    shared = os.environ.get(SHARED_DIRECTORY)
    for file in Path(shared).glob("gauge_live*_*.db") if shared else ():
        pid = int(file.stem.rpartition("_")[2])
        if not psutil.pid_exists(pid):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]


class Metrics:
    """Counts events, bytes and requests, and measures how long answers take."""

    def __init__(self) -> None:
        forget_dead_workers()
        self._registry = registry = CollectorRegistry()
        events = Counter(
            "penstock_collector_events",
            "Events by topic and what became of them",
            ["topic", "status"],
            registry=registry,
        )
        rejections = Counter(
            "penstock_collector_rejections", "Events and requests not taken, by reason", ["reason"], registry=registry
        )
        sizes = Counter(
            "penstock_collector_bytes", "Bytes of accepted events as sent to Kafka", ["topic"], registry=registry
        )
        requests = Counter(
            "penstock_collector_requests", "Answers to POSTs by HTTP status", ["status"], registry=registry
        )
        self._seconds = Histogram(
            "penstock_collector_request_seconds",
            "From a POST's head to its answer",
            buckets=_BUCKETS,
            registry=registry,
        )
        self._event, self._rejection = cache(events.labels), cache(rejections.labels)
        self._byte, self._request = cache(sizes.labels), cache(requests.labels)
        self.bytes_underway = Gauge(
            "penstock_collector_underway_bytes",
            "Bytes that wait for Kafka's acknowledgement",
            multiprocess_mode="livesum",
            registry=registry,
        )

    def answered(self, status: int, seconds: float) -> None:
        """Count an answer and its time."""
        self._request(str(int(status))).inc()
        self._seconds.observe(seconds)

    def not_taken(self, reason: str) -> None:
        """Count a request, or an event of one, that was not taken."""
        self._rejection(reason).inc()

    def counted(self, topic: str, counts: Tally, size: int) -> None:
        """Count the events of a request and the bytes that were accepted."""
        for status, count in counts.items():
            self._event(topic, status).inc(count)
        if size:
            self._byte(topic).inc(size)

    def page(self) -> bytes:
        """The numbers in Prometheus' text form."""
        if SHARED_DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
