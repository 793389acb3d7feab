"""Interface of sink configurations, and the inputs for creating a sink."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - the usual alias

from penstock.config import Settings
from penstock.config.yaml_file import KeyPath
from penstock.pipelines.spec import Part
from penstock.spark.kafka_source import MOST_RECORDS
from penstock.spark.sinks.sink import Sink


@dataclass(frozen=True)
class Site:
    """Inputs for creating a sink: session, settings of the source cluster, query name, and the file's directory."""

    session: SparkSession
    settings: Settings
    query: str
    directory: Path


@dataclass(frozen=True)
class SourceTable:
    """Database table with captured changes."""

    schema: str
    name: str

    def fill(self, text: str) -> str:
        """Replace `{schema}` and `{table}` in the text. Characters invalid in lake names become `_`."""
        schema, name = (re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (self.schema, self.name))
        return text.replace("{schema}", schema).replace("{table}", name)

    def __str__(self) -> str:
        """Render as `schema.table`."""
        return self.fill("{schema}.{table}" if self.schema else "{table}")


class Target(NamedTuple):
    """Public identity of a sink's output: a topic, or a table of the lake."""

    kind: Literal["topic", "table"]
    name: str


class SinkConfig(Part, ABC):
    """Configuration of one sink."""

    default_trigger: ClassVar[str] = "1 second"

    @property
    @abstractmethod
    def target(self) -> str:
        """Name suffix for sinks without a configured name, appended to the type."""

    @abstractmethod
    def build(self, site: Site) -> Sink:
        """Create the sink of a query, without writing or creating anything yet."""

    @property
    def writes(self) -> Target | None:
        """Topic or table written by the sink, or None without a persistent output."""
        return None

    def stored_columns(self, site: Site) -> T.StructType | None:  # noqa: ARG002 - unknown by default
        """Return the target's current columns, or None if unknown or not created yet."""
        return None

    @property
    def most_records(self) -> int:
        """Maximum number of messages per batch, unless the source sets a limit."""
        return MOST_RECORDS

    @property
    def mixes_tables(self) -> bool:
        """Whether rows of several tables would be mixed in a single target."""
        return False

    def for_table(self, table: SourceTable) -> Self:  # noqa: ARG002 - unchanged by default
        """Return the configuration for the changes of a table."""
        return self

    def refusals(self, settings: Settings, *, runs_once: bool) -> Iterator[tuple[KeyPath, str, str]]:  # noqa: ARG002 - none by default
        """Yield invalid combinations with these settings: position in the configuration, reason, and hint."""
        return iter(())

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the columns named in the configuration, with positions. The rows must have these columns."""
        return iter(())

    def jars(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002 - none by default
        """Return the parts of the lock needed in addition to Spark's."""
        return frozenset()
