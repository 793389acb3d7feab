"""hello_world and log: every event is to be seen."""

from __future__ import annotations

import json
import logging
from io import StringIO

import pytest
from pydantic import ValidationError
from rich.console import Console

from penstock.actions.builtin.hello_world import HelloWorld
from penstock.actions.builtin.log import Log
from penstock.cli.log_lines import logged
from tests.action_context import context, event

EVENT = event({"category": "TAG"})


def test_hello_world_prints_the_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    HelloWorld.create({}, context()).act(EVENT)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "Hello world! Received event:"
    assert json.loads(second) == json.loads(EVENT.as_json())


def test_hello_world_prints_in_capitals(capsys: pytest.CaptureFixture[str]) -> None:
    HelloWorld.create({"to_upper": True}, context()).act(EVENT)
    assert '"CATEGORY":"TAG"' in capsys.readouterr().out


def test_log_writes_a_line_at_its_level(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Log.create({"level": "warning", "message": "{{ category }} %s {{ meta.kafka.offset }}"}, context()).act(EVENT)
        Log.create({"level": "debug"}, context()).act(EVENT)
    ours = [record for record in caplog.records if record.name.startswith("penstock.actions.log")]
    assert [(record.levelname, record.name) for record in ours] == [
        ("WARNING", "penstock.actions.log.test"),
        ("DEBUG", "penstock.actions.log.test"),
    ]
    assert [record.getMessage() for record in ours] == ["TAG %s 7", EVENT.as_json()]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_lines_of_log_are_shown_while_pipelines_run_whatever_their_level(level: str) -> None:
    shown = Console(file=StringIO(), soft_wrap=True)
    with logged(shown):
        Log.create({"level": level, "message": "{{ category }} :bug: [x]"}, context()).act(EVENT)
        Log.create({"level": level}, context()).act(EVENT)
        logging.getLogger("penstock.actions.pipeline").info("of no interest")
    Log.create({"level": level}, context()).act(EVENT)
    assert shown.file.getvalue().splitlines() == [f"{level} TAG :bug: [x]", f"{level} {EVENT.as_json()}"]  # type: ignore[attr-defined]


def test_a_wrong_config_is_refused() -> None:
    for config in ({"level": "loud"}, {"message": "{{ 1 + }}"}, {"text": "x"}):
        with pytest.raises(ValidationError):
            Log.Config.model_validate(config)
