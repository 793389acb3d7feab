"""Sink that prints rows on the screen, for experiments."""

from __future__ import annotations

from pydantic import Field

from penstock.pipelines.sinks.base import SinkConfig, Site
from penstock.spark.sinks.console_sink import ConsoleSink
from penstock.spark.sinks.sink import Sink


class ConsoleSinkConfig(SinkConfig):
    """Number of rows to print from each batch."""

    rows: int = Field(20, ge=1, le=10_000, description="rows of each batch")

    @property
    def target(self) -> str:
        """Return an empty text: there is only a single screen."""
        return ""

    def build(self, site: Site) -> Sink:  # noqa: ARG002 - the screen needs no inputs
        """Create a sink that prints the first rows of each batch."""
        return ConsoleSink(self.rows)
