"""`exec`: run a command for every event, with the event as JSON on standard input; never through a shell."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from penstock.actions.action import Action
from penstock.actions.builtin.exec_process import Commands, Ended
from penstock.actions.context import PipelineContext
from penstock.errors import OperationTimedOut, PenstockError, TargetRefused, TargetUnavailable
from penstock.events.envelope import EventEnvelope

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""Environment variables passed on to commands. The rest of the environment may hold secrets."""

TEMPORARY_FAILURE = 75
"""EX_TEMPFAIL of sysexits.h: try again later."""


def _found(command: list[str]) -> list[str]:
    if command and shutil.which(command[0]) is None:
        raise ValueError(f"{command[0]} is not a command that can be run here")
    return command


ExitCode = Annotated[int, Field(ge=0, le=255)]


class ExecConfig(BaseModel):
    """Command, and the meaning of its exit codes."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    command: Annotated[list[str], AfterValidator(_found)] = Field(min_length=1, description="program and arguments")
    timeout: float = Field(60.0, gt=0, le=86_400, description="seconds; then the command is killed")
    ok: list[ExitCode] = Field([0], description="exit codes that mean done")
    retry: list[ExitCode] = Field([TEMPORARY_FAILURE], description="exit codes that mean: try again later")
    env: dict[str, SecretStr] = Field(default_factory=dict, description="variables beside PATH, HOME, LANG and TZ")
    directory: Path | None = Field(None, description="where to run it")


class Exec(Action):
    """Runs the command once for each event. `ok` exit codes mean done; `retry` exit codes and time-outs are Transient.

    Standard output is inherited from this process. Standard error is captured, and a failure's message quotes the end.
    """

    Config: ClassVar[type[BaseModel]] = ExecConfig

    def __init__(self, config: ExecConfig, pipeline: str) -> None:
        self._config = config
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        given = {name: value.get_secret_value() for name, value in config.env.items()}
        environment = {**inherited, "PENSTOCK_PIPELINE": pipeline, **given}
        self._commands = Commands(config.command, environment, config.directory)

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the action from `config`."""
        return cls(ExecConfig.model_validate(config), ctx.pipeline_name)

    def act(self, event: EventEnvelope) -> None:
        """Run the command for one event."""
        ended = self._commands.run(event.as_json().encode(), self._config.timeout)
        failure = self._failure(ended)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Kill running commands."""
        self._commands.kill_all()

    def _failure(self, ended: Ended) -> PenstockError | None:
        name, said = self._config.command[0], f": {ended.said}" if ended.said else ""
        if ended.code is None:
            return OperationTimedOut(f"{name} was killed after {self._config.timeout:g} s{said}", hint="raise timeout")
        if ended.code in self._config.ok:
            return None
        if ended.code in self._config.retry:
            return TargetUnavailable(f"{name} asks to try again later (exit code {ended.code}){said}")
        how = f"ended with exit code {ended.code}" if ended.code >= 0 else f"was killed by signal {-ended.code}"
        return TargetRefused(f"{name} {how}{said}", exit_code=ended.code)
