"""Prometheus metrics of a process's pipelines and workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.actions.tally import BUCKETS, Counts, Histogram, label_of
from penstock.actions.vitals import Vitals

Readings = Callable[[], Iterable[Vitals]]

_COUNTERS = {
    "received": "Events read",
    "filtered": "Events that the pipeline is not for",
    "done": "Events done",
    "failed": "Events that failed for good",
    "retried": "Attempts after the first one",
}
_HISTOGRAMS = {
    "wait": "From the message's timestamp until its action began",
    "action": "What transformers and action took, at each attempt",
}


class ActionMetrics(Collector):
    """Prometheus collector. Each scrape reads the current status; event counts are summed over a pipeline's workers."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with its name, help text and values."""
        vitals = list(self._readings())
        counts = _added_up(vitals)
        for name, text in _COUNTERS.items():
            yield _counter(name, text, counts)
        for name, text in _HISTOGRAMS.items():
            yield _histogram(name, text, counts)
        yield _lag(vitals)
        yield _gauge("up", "1 while the pipeline runs", vitals, lambda each: each.stage == "running")
        yield _gauge("healthy", "0 when it is dead or stuck", vitals, lambda each: each.trouble is None)
        yield _gauge("in_work", "Events in work now", vitals, lambda each: each.in_work)
        yield _gauge("held", "Events read and not yet committable", vitals, lambda each: each.held)


def _added_up(vitals: Iterable[Vitals]) -> dict[tuple[str, str], Counts]:
    found: dict[str, dict[str, Counts]] = {}
    for each in vitals:
        types = found.setdefault(each.pipeline, {})
        for event_type, counts in list(each.counts.items()):
            types.setdefault(label_of(event_type, types), Counts()).add(counts)
    return {(pipeline, event_type): counts for pipeline, types in found.items() for event_type, counts in types.items()}


def _counter(name: str, text: str, counts: dict[tuple[str, str], Counts]) -> Metric:
    family = CounterMetricFamily(f"penstock_action_events_{name}", text, labels=("pipeline", "event_type"))
    for labels, values in counts.items():
        family.add_metric(labels, getattr(values, name))
    return family


def _histogram(name: str, text: str, counts: dict[tuple[str, str], Counts]) -> Metric:
    family = HistogramMetricFamily(f"penstock_action_{name}_seconds", text, labels=("pipeline", "event_type"))
    for labels, values in counts.items():
        found: Histogram = getattr(values, name)
        bounds = [*map(str, BUCKETS), "+Inf"]
        family.add_metric(labels, list(zip(bounds, accumulate(found.counts), strict=True)), found.seconds)
    return family


def _lag(vitals: Iterable[Vitals]) -> Metric:
    labels = ("pipeline", "topic", "partition")
    family = GaugeMetricFamily("penstock_action_lag_events", "Events of the partition not yet done", labels=labels)
    for each in vitals:
        for place, behind in each.lag.items():
            family.add_metric((each.pipeline, place.topic, str(place.partition)), behind)
    return family


def _gauge(name: str, text: str, vitals: Iterable[Vitals], value: Callable[[Vitals], float]) -> Metric:
    family = GaugeMetricFamily(f"penstock_action_{name}", text, labels=("pipeline", "worker"))
    for each in vitals:
        family.add_metric((each.pipeline, str(each.worker)), value(each))
    return family
