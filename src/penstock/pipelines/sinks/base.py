"""What a sink's configuration promises, and what it is told when its sink is made."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.config import Settings
from penstock.config.yaml_file import KeyPath
from penstock.pipelines.spec import Part
from penstock.spark.kafka_source import MOST_RECORDS
from penstock.spark.sinks.sink import Sink


@dataclass(frozen=True)
class Site:
    """Where a sink is made: the session, the settings of the source's cluster, its query, and its file's directory."""

    session: SparkSession
    settings: Settings
    query: str
    directory: Path


@dataclass(frozen=True)
class SourceTable:
    """A table of a database whose changes are read."""

    schema: str
    name: str

    def fill(self, text: str) -> str:
        """The text with `{schema}` and `{table}` replaced; what a name of the lake does not take becomes `_`."""
        schema, name = (re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (self.schema, self.name))
        return text.replace("{schema}", schema).replace("{table}", name)

    def __str__(self) -> str:
        """Render as `schema.table`."""
        return self.fill("{schema}.{table}" if self.schema else "{table}")


class Target(NamedTuple):
    """What a sink writes, as others know it: a topic, or a table of the lake."""

    kind: Literal["topic", "table"]
    name: str


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

    @property
    def writes(self) -> Target | None:
        """The topic or table that is there afterwards; None where nothing stays."""
        return None

    def stored_columns(self, site: Site) -> T.StructType | None:  # noqa: ARG002 - most targets do not tell
        """The columns that the target has by now; None where it does not tell, or has none yet."""
        return None

    @property
    def most_records(self) -> int:
        """How many messages one batch takes at most, unless the source says it."""
        return MOST_RECORDS

    @property
    def mixes_tables(self) -> bool:
        """Whether rows of several tables would end in one place where they do not belong together."""
        return False

    def for_table(self, table: SourceTable) -> Self:  # noqa: ARG002 - most do not mind
        """The configuration for the changes of one table."""
        return self

    def refusals(self, settings: Settings, *, runs_once: bool) -> Iterator[tuple[KeyPath, str, str]]:  # noqa: ARG002 - most have none
        """Yield what cannot work with these settings: the place in the configuration, the reason, and a hint."""
        return iter(())

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """The columns that the configuration names, each with its place in it: rows must have them."""
        return iter(())

    def jars(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002 - most need none
        """The parts of the lock that the sink needs beside Spark's."""
        return frozenset()
