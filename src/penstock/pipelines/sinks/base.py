"""What a sink's configuration promises, and what it is told when its sink is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.config.yaml_file import KeyPath
from penstock.pipelines.spec import Part
from penstock.spark.sink import Sink


@dataclass(frozen=True)
class Site:
    """Where a sink is made: the session, the settings of the source's cluster, its query, and its file's directory."""

    session: SparkSession
    settings: Settings
    query: str
    directory: Path


class SinkConfig(Part, ABC):
    """The configuration of one sink."""

    default_trigger: ClassVar[str] = "1 second"

    @property
    @abstractmethod
    def target(self) -> str:
        """What the sink is called beside its type, if no name is given."""

    @abstractmethod
    def build(self, site: Site) -> Sink:
        """The sink of one query; nothing is written or created yet."""

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """The columns that the configuration names, each with its place in it: rows must have them."""
        return iter(())

    def jars(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002 - most need none
        """The parts of the lock that the sink needs beside Spark's."""
        return frozenset()
