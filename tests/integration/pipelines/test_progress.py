"""Where a query goes on: at its own progress, at that of its consumer group, or at the configured start."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.conftest import CreateTopic, Fill
from tests.pipeline_files import PipelineFiles, kafka_sink, kafka_source, sql


class Copying:
    """A pipeline that copies the text of one topic to others."""

    def __init__(self, files: PipelineFiles, topic: str) -> None:
        self._files = files
        self._topic = topic

    def run(self, *targets: str) -> None:
        """Copy to these topics all that has come."""
        path = self._files.write(
            self._topic,
            source=kafka_source(self._topic, format="raw"),
            transform=[sql("SELECT CAST(value AS STRING) AS text FROM source")],
            sinks=[kafka_sink(f"{self._topic}-{target}", format="json") for target in targets],
        )
        assert self._files.run(path) == {}

    def texts(self, target: str) -> list[bytes]:
        """What a topic got."""
        return [record.value for record in self._files.records(f"{self._topic}-{target}")]

    @property
    def states(self) -> Path:
        """Where the queries remember how far they are."""
        (found,) = self._files.lake.rglob("_queries")
        return found


@pytest.fixture
def copying(files: PipelineFiles, create_topic: CreateTopic, fill: Fill) -> Copying:
    """A pipeline that has copied one message to two topics, and has another one to read."""
    topic = create_topic()
    made = Copying(files, topic)
    fill(topic, [b"1"])
    made.run("a", "b")
    fill(topic, [b"2"])
    return made


def test_a_sink_that_is_added_or_renamed_writes_everything_again(copying: Copying) -> None:
    copying.run("a", "c")
    assert copying.texts("a") == copying.texts("c") == [b'{"text":"1"}', b'{"text":"2"}']
    assert copying.texts("b") == [b'{"text":"1"}']


def test_topics_whose_states_are_lost_go_on_at_the_consumer_group(copying: Copying) -> None:
    shutil.rmtree(copying.states)
    copying.run("a", "b")
    assert copying.texts("a") == copying.texts("b") == [b'{"text":"1"}', b'{"text":"2"}']


def test_a_topic_whose_state_alone_is_lost_goes_on_at_the_consumer_group(copying: Copying) -> None:
    (lost,) = copying.states.glob("*.kafka-*-a")
    shutil.rmtree(lost)
    copying.run("a", "b")
    assert copying.texts("a") == copying.texts("b") == [b'{"text":"1"}', b'{"text":"2"}']
