"""Sinks available to pipelines, with a module and a line for each."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.pipelines.sinks.base import SinkConfig
from penstock.pipelines.sinks.console import ConsoleSinkConfig
from penstock.pipelines.sinks.kafka import KafkaSinkConfig
from penstock.pipelines.sinks.lake import LakeSinkConfig

SINKS: Mapping[str, type[SinkConfig]] = {
    "kafka": KafkaSinkConfig,
    "lake": LakeSinkConfig,
    "console": ConsoleSinkConfig,
}
