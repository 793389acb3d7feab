"""Metrics server for running queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli.output import err
from penstock.spark.queries.metrics import Readings, serve_metrics


@contextmanager
def served_metrics(readings: Readings, port: int | None) -> Iterator[None]:
    """Serve metrics on a port of localhost during the block, if a port is given."""
    if port is None:
        yield
        return
    close = serve_metrics(readings, port)
    err.print(f"metrics are at http://127.0.0.1:{port}/metrics")
    try:
        yield
    finally:
        close()
