"""A collector for each module of tests, with topics of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from penstock.config import Settings
from tests.collector_process import CollectorProcess, collector, product_topic, read_topic
from tests.conftest import Running

StartCollector = Callable[..., CollectorProcess]


@dataclass(frozen=True)
class Served:
    """A collector, the topic of its events and that of its dead letters."""

    process: CollectorProcess
    settings: Settings
    topic: str
    dead_letters: str

    def events(self, count: int) -> list[Message]:
        """What is in the topic, at least so many."""
        return read_topic(self.settings, self.topic, count)

    def letters(self, count: int) -> list[Message]:
        """What is among the dead letters, at least so many."""
        return read_topic(self.settings, self.dead_letters, count)


@pytest.fixture(scope="module")
def section() -> dict[str, Any]:
    """Further settings of a module's collector; modules override it."""
    return {}


@pytest.fixture(scope="module")
def served(stack: Running, tmp_path_factory: pytest.TempPathFactory, section: dict[str, Any]) -> Iterator[Served]:
    """The module's collector."""
    name = f"events-{uuid.uuid4().hex[:8]}"
    topics = {name: product_topic()}
    given = {"topic": name, "topics": topics | section.pop("topics", {}), "dead_letters": f"{name}.dead"} | section
    with collector(tmp_path_factory.mktemp("collector"), stack.settings, **given) as process:
        yield Served(process, stack.settings, name, f"{name}.dead")


@pytest.fixture
def start(stack: Running, tmp_path: Path, topic: str) -> Iterator[StartCollector]:
    """Start a collector of the test's own; `settings` may lead elsewhere."""
    with ExitStack() as running:

        def one(settings: Settings = stack.settings, **section: Any) -> CollectorProcess:
            given = {"topic": topic, "topics": {topic: product_topic()}} | section
            return running.enter_context(collector(tmp_path, settings, **given))

        yield one
