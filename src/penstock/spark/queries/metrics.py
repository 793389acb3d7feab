"""Prometheus metrics of a driver's queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import start_http_server
from prometheus_client.registry import Collector, CollectorRegistry

from penstock.errors import PortInUse
from penstock.kafka.offsets import Offsets
from penstock.spark.queries.vitals import Vitals

Readings = Callable[[], Iterable[tuple[Vitals, Offsets]]]
"""The status of every query, with the end offsets of its partitions."""

_LABELS = ("pipeline", "sink")


class QueryMetrics(Collector):
    """Collector that reads the status of all queries at every scrape."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with name, description and values."""
        found = list(self._readings())
        yield _counter("messages_read", "Messages read", [(v, v.read) for v, _ in found])
        yield _counter("messages_refused", "Messages sent to the dead letters", [(v, v.refused) for v, _ in found])
        yield _counter("batches", "Batches done", [(v, v.batches) for v, _ in found])
        yield _counter("restarts", "Starts after a failure", [(v, v.restarts) for v, _ in found])
        yield _gauge("up", "1 while the query runs", [(v, v.stage == "running") for v, _ in found])
        yield _gauge("lag_messages", "Messages still to be read", [(v, v.lag(ends)) for v, ends in found])
        seconds = [(v, v.last_batch.seconds) for v, _ in found if v.last_batch]
        yield _gauge("last_batch_seconds", "How long the newest batch took", seconds)
        times = [(v, v.last_batch.at.timestamp()) for v, _ in found if v.last_batch]
        yield _gauge("last_batch_timestamp_seconds", "When the newest batch was done", times)


def serve_metrics(readings: Readings, port: int, host: str = "127.0.0.1") -> Callable[[], None]:
    """Serve `/metrics` on a background thread. Return a function that stops the server."""
    registry = CollectorRegistry()
    registry.register(QueryMetrics(readings))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise PortInUse(
            f"metrics cannot be served on {host}:{port}: {error.strerror}", hint="name another port"
        ) from error

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close


def _counter(name: str, text: str, values: Iterable[tuple[Vitals, float]]) -> Metric:
    family = CounterMetricFamily(f"penstock_query_{name}", text, labels=_LABELS)
    for vitals, value in values:
        family.add_metric([vitals.pipeline, vitals.sink], value)
    return family


def _gauge(name: str, text: str, values: Iterable[tuple[Vitals, float]]) -> Metric:
    family = GaugeMetricFamily(f"penstock_query_{name}", text, labels=_LABELS)
    for vitals, value in values:
        family.add_metric([vitals.pipeline, vitals.sink], value)
    return family
