"""Prometheus metrics, shared by the workers through files.

Counting is on the path of every request and must be as cheap as an addition. Each worker writes its numbers to a
separate file several times a second. The worker that answers a scrape sums all files.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from collections.abc import Hashable, Iterator
from itertools import accumulate
from pathlib import Path
from time import time
from typing import TypeVar

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from penstock.collector.answers import EventStatus, Tally

CONTENT_TYPE = CONTENT_TYPE_LATEST

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LIVE_SECONDS = 5
_log = logging.getLogger(__name__)

Label = TypeVar("Label", bound=Hashable)


class Numbers(msgspec.Struct):
    """Counts of a worker since the start, or the sum over all workers."""

    events: dict[str, dict[EventStatus, int]] = {}
    bytes: dict[str, int] = {}
    rejections: dict[str, int] = {}
    requests: dict[int, int] = {}
    seconds: float = 0.0
    buckets: list[int] = msgspec.field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))
    underway: int = 0

    def add(self, other: Numbers) -> None:
        """Add another worker's numbers."""
        for topic, counts in other.events.items():
            _add(self.events.setdefault(topic, {}), counts)
        _add(self.bytes, other.bytes)
        _add(self.rejections, other.rejections)
        _add(self.requests, other.requests)
        self.seconds += other.seconds
        self.buckets = [one + more for one, more in zip(self.buckets, other.buckets, strict=True)]
        self.underway += other.underway


class Metrics:
    """Counts for one worker. With a shared directory, reports the numbers of all workers."""

    def __init__(self, shared: Path | None = None) -> None:
        self._numbers = Numbers()
        self._shared = shared
        self._is_heard = True

    def answered(self, status: int, seconds: float) -> None:
        """Count an answer and its duration."""
        numbers = self._numbers
        numbers.requests[status] = numbers.requests.get(status, 0) + 1
        numbers.seconds += seconds
        numbers.buckets[bisect_left(_BUCKETS, seconds)] += 1

    def not_taken(self, reason: str) -> None:
        """Count a refused request or event."""
        self._numbers.rejections[reason] = self._numbers.rejections.get(reason, 0) + 1

    def counted(self, topic: str, counts: Tally, size: int) -> None:
        """Count the events of a request, and the bytes sent to Kafka."""
        numbers = self._numbers
        events = numbers.events.setdefault(topic, {})
        for status, count in counts.items():
            events[status] = events.get(status, 0) + count
        numbers.bytes[topic] = numbers.bytes.get(topic, 0) + size

    def share(self, underway: int) -> None:
        """Update the bytes underway and share all numbers with the other workers. Log a full disk once."""
        self._numbers.underway = underway
        if self._shared is None:
            return
        try:
            self._write(self._file(self._shared))
        except OSError as error:
            if self._is_heard:
                _log.warning("other workers do not hear this one's numbers: %s", error)
            self._is_heard = False
        else:
            self._is_heard = True

    def page(self) -> bytes:
        """Return the numbers of all workers in Prometheus' text format."""
        total = Numbers()
        total.add(self._numbers)
        for numbers in self._others():
            total.add(numbers)
        return generate_latest(_Exposition(total))

    def _write(self, own: Path) -> None:
        new = own.with_suffix(".new")
        new.write_bytes(msgspec.msgpack.encode(self._numbers))
        new.replace(own)

    def _others(self) -> Iterator[Numbers]:
        for file in self._shared.glob("*.numbers") if self._shared else ():
            if file != self._file(file.parent):
                numbers = msgspec.msgpack.decode(file.read_bytes(), type=Numbers)
                is_dead = time() - file.stat().st_mtime > _LIVE_SECONDS
                yield msgspec.structs.replace(numbers, underway=0) if is_dead else numbers

    def _file(self, directory: Path) -> Path:
        return directory / f"{os.getpid()}.numbers"


class _Exposition(Collector):
    """Numbers as metric families of prometheus_client."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        """Return every metric with its name, description and values."""
        events = CounterMetricFamily(
            "penstock_collector_events", "Events by topic and what became of them", labels=["topic", "status"]
        )
        for topic, counts in self._numbers.events.items():
            for status, count in counts.items():
                events.add_metric([topic, status], count)
        yield events
        yield _counter("bytes", "Bytes of events sent to Kafka", "topic", self._numbers.bytes)
        yield _counter("rejections", "Events and requests not taken", "reason", self._numbers.rejections)
        yield _counter("requests", "Answers to POSTs by their HTTP status", "status", self._numbers.requests)
        yield self._seconds()
        waiting = "Bytes that wait for Kafka's acknowledgement"
        yield GaugeMetricFamily("penstock_collector_underway_bytes", waiting, self._numbers.underway)

    def _seconds(self) -> Metric:
        bounds = [*map(str, _BUCKETS), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._numbers.buckets), strict=True))
        name, text = "penstock_collector_request_seconds", "From a POST's head to its answer"
        return HistogramMetricFamily(name, text, buckets, self._numbers.seconds)


def _counter(name: str, text: str, label: str, values: dict[Label, int]) -> Metric:
    family = CounterMetricFamily(f"penstock_collector_{name}", text, labels=[label])
    for key, value in values.items():
        family.add_metric([str(key)], value)
    return family


def _add(total: dict[Label, int], more: dict[Label, int]) -> None:
    for label, count in more.items():
        total[label] = total.get(label, 0) + count
