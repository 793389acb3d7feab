"""Rows on the screen, for trying things."""

from __future__ import annotations

from pydantic import Field

from penstock.pipelines.sinks.base import SinkConfig, Site
from penstock.spark.sinks.console_sink import ConsoleSink
from penstock.spark.sinks.sink import Sink


class ConsoleSinkConfig(SinkConfig):
    """How much of each batch is printed."""

    rows: int = Field(20, ge=1, le=10_000, description="rows of each batch")

    @property
    def target(self) -> str:
        """As the base says: there is only one screen."""
        return ""

    def build(self, site: Site) -> Sink:  # noqa: ARG002 - a screen is a screen
        """As the base says."""
        return ConsoleSink(self.rows)
