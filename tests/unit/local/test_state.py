from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import NotRunning
from penstock.local.control import running_stack, stop_stack, wipe_data
from penstock.local.part import Condition
from penstock.local.state import (
    STATE_FILE,
    PartState,
    Phase,
    ProcessId,
    StackState,
    memory_of,
    own_process,
    read_state,
    write_state,
)

PART = PartState("kafka", "4.3.1", "localhost:9092", "kafka.log", Condition.DEAD, "ended by SIGKILL")


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = StackState(own_process(), Phase.RUNNING, {"bootstrap": "localhost:9092"}, (PART,))
    write_state(tmp_path, state)

    assert read_state(tmp_path) == state
    assert running_stack(tmp_path) == state


@pytest.mark.parametrize("text", ["", "{", '{"supervisor": 1}', "[]"])
def test_an_unreadable_state_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / STATE_FILE).write_text(text, encoding="utf-8")

    assert read_state(tmp_path) is None


def test_a_process_of_the_same_number_but_another_start_is_another_process() -> None:
    me = own_process()

    assert me.process() is not None
    assert ProcessId(os.getpid(), f"{me.started}0").process() is None


def test_a_stack_whose_process_is_gone_is_told_as_such(tmp_path: Path) -> None:
    write_state(tmp_path, StackState(ProcessId(os.getpid(), "before"), Phase.RUNNING, {}))

    with pytest.raises(NotRunning, match="did not stop by itself"):
        running_stack(tmp_path)
    assert stop_stack(tmp_path) == "the stack had died"


def test_without_a_state_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(NotRunning, match="no stack runs"):
        running_stack(tmp_path)
    assert stop_stack(tmp_path) == "nothing was running"


def test_a_directory_that_is_no_stack_s_is_never_wiped(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(NotRunning, match="no stack's data"):
        wipe_data(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_a_process_holds_memory_and_none_holds_nothing() -> None:
    assert memory_of(own_process()) > 1024 * 1024
    assert memory_of(None) == 0
