from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.events.record import TopicName
from penstock.spark.files import LocalFiles
from penstock.spark.queries.begun import new_sinks
from penstock.spark.queries.position import Position
from penstock.spark.queries.state import QueryState

DONE = Position({}, {TopicName("events"): "id"})


class States:
    """The states of a pipeline's sinks in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def new(self, *sinks: str) -> set[str]:
        """Which of the sinks are new, as a driver that starts finds out."""
        states = {sink: self._state(sink) for sink in sinks}
        return new_sinks(LocalFiles(), f"{self._directory}/pipeline/begun.json", states)

    def move(self, *sinks: str) -> None:
        """Let queries get on."""
        for sink in sinks:
            state = self._state(sink)
            state.claim()
            state.save(DONE)

    def lose(self, sink: str) -> None:
        shutil.rmtree(self._directory / sink)

    def _state(self, sink: str) -> QueryState:
        return QueryState(LocalFiles(), f"{self._directory}/{sink}")


@pytest.fixture
def states(tmp_path: Path) -> States:
    """States that nobody has written yet."""
    return States(tmp_path)


def test_at_the_first_start_no_sink_is_new(states: States) -> None:
    assert states.new("topic", "table") == set()


def test_a_sink_that_is_added_or_renamed_is_new_until_it_has_got_on(states: States) -> None:
    states.new("topic", "table")
    states.move("topic", "table")
    assert states.new("topic", "renamed", "added") == {"renamed", "added"}
    assert states.new("topic", "renamed", "added") == {"renamed", "added"}
    states.move("renamed")
    assert states.new("topic", "renamed", "added") == {"added"}


def test_a_sink_whose_state_is_lost_is_not_new(states: States) -> None:
    states.new("topic")
    states.move("topic")
    assert states.new("topic", "added") == {"added"}
    states.move("added")
    states.new("topic", "added")
    states.lose("topic")
    states.lose("added")
    assert states.new("topic", "added") == set()


def test_a_driver_that_dies_after_its_first_sink_has_started_does_not_make_the_second_one_new(states: States) -> None:
    states.new("topic", "table")
    states.move("topic")
    assert states.new("topic", "table") == set()


def test_a_sink_beside_states_of_which_nothing_is_noted_yet_is_new(states: States) -> None:
    states.move("topic")
    assert states.new("topic", "added") == {"added"}
