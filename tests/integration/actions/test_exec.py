"""The exec action with real processes: input, exit codes, the time limit, and what is never passed on."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.actions.builtin.exec import Exec, ExecConfig
from penstock.errors import OperationTimedOut, TargetRefused, TargetUnavailable
from tests.action_context import context, event

EVENT = event({"category": "TAG; rm -rf $HOME"})


def run(script: str, *arguments: str, **config: Any) -> None:
    action = Exec.create({"command": [sys.executable, "-c", script, *arguments], **config}, context())
    try:
        action.act(EVENT)
    finally:
        action.close()


def test_the_event_is_on_standard_input_and_no_shell_sees_anything(tmp_path: Path) -> None:
    script = "import sys, pathlib; pathlib.Path('out').write_text(sys.argv[1] + sys.stdin.read())"
    run(script, "$HOME;", directory=tmp_path)
    written = (tmp_path / "out").read_text()
    assert written.startswith("$HOME;")
    assert json.loads(written.removeprefix("$HOME;")) == json.loads(EVENT.as_json())


def test_a_command_that_does_not_read_its_input_is_done_all_the_same() -> None:
    action = Exec.create({"command": ["true"]}, context())
    action.act(event({"big": "x" * 1_000_000}))


@pytest.mark.parametrize(
    ("code", "config", "outcome"),
    [
        (0, {}, None),
        (3, {}, TargetRefused),
        (75, {}, TargetUnavailable),
        (3, {"ok": [0, 3]}, None),
        (4, {"retry": [4]}, TargetUnavailable),
        (75, {"retry": []}, TargetRefused),
    ],
)
def test_exit_codes_decide(code: int, config: dict[str, Any], outcome: type[Exception] | None) -> None:
    script = f"import sys; print('the reason', file=sys.stderr); sys.exit({code})"
    if outcome is None:
        run(script, **config)
        return
    with pytest.raises(outcome, match="the reason"):
        run(script, **config)


def test_a_command_that_is_killed_by_a_signal_is_refused() -> None:
    with pytest.raises(TargetRefused, match="killed by signal 9"):
        run("import os; os.kill(os.getpid(), 9)")


def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    script = "import subprocess, time, pathlib; p = subprocess.Popen(['sleep', '60']); "
    script += "pathlib.Path('pid').write_text(str(p.pid)); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(OperationTimedOut, match=r"after 1 s"):
        run(script, timeout=1, directory=tmp_path)
    assert time.monotonic() - began < 10
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while _runs(child):
        assert time.monotonic() < deadline, "the child was not killed"
        time.sleep(0.01)


def test_closing_kills_what_still_runs() -> None:
    action = Exec.create({"command": ["sleep", "60"]}, context())
    failures: list[Exception] = []

    def work() -> None:
        try:
            action.act(EVENT)
        except TargetRefused as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not action._commands._running:
        time.sleep(0.01)
    action.close()
    thread.join(10)
    assert "signal 9" in str(failures[0])


def test_endless_words_on_standard_error_are_cut() -> None:
    with pytest.raises(TargetRefused) as failure:
        run("import sys; sys.stderr.write('x' * 5_000_000 + 'END'); sys.exit(1)")
    assert str(failure.value).endswith("END")
    assert len(str(failure.value)) < 1500


def test_secrets_of_this_process_are_not_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    script = "import os, json; json.dump(dict(os.environ), open('env', 'w'))"
    run(script, env={"API_TOKEN": "t0ken"}, directory=tmp_path)
    given = json.loads((tmp_path / "env").read_text())
    assert given["PENSTOCK_PIPELINE"] == "test"
    assert given["API_TOKEN"] == "t0ken"
    assert "DATABASE_PASSWORD" not in given
    assert "t0ken" not in repr(ExecConfig.model_validate({"command": ["true"], "env": {"API_TOKEN": "t0ken"}}))


def test_a_wrong_config_is_refused() -> None:
    for config in (
        {},
        {"command": []},
        {"command": "echo hi"},
        {"command": ["no-such-command"]},
        {"command": ["true"], "ok": [300]},
    ):
        with pytest.raises(ValidationError):
            ExecConfig.model_validate(config)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
