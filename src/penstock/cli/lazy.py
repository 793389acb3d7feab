"""Lazy import of commands, so that each command starts without loading the rest."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError

COMMANDS = {
    "up": "stack:up",
    "down": "stack:down",
    "status": "stack:status",
    "demo": "demo:app",
    "collector": "collector:run",
    "console": "console:run",
    "run": "run:run",
    "actions": "actions:app",
    "topics": "topics:app",
    "groups": "groups:app",
    "brokers": "brokers:app",
    "schemas": "schemas:app",
    "produce": "produce:produce",
    "consume": "consume:consume",
    "cdc": "cdc:app",
    "lake": "lake:app",
    "deadletters": "deadletters:app",
    "jobs": "jobs:app",
    "catalog": "catalog:app",
    "config": "config:show",
    "bench": "bench:run",
}
"""Name of each command or group, with its module and function or app."""


class LazyGroup(TyperGroup):
    """Root group. Commands are imported on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - Typer's signature
        """Return the names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - Typer's signature
        """Return the command. For an unknown name, raise UsageError with the closest name."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            hint = did_you_mean(cmd_name, COMMANDS, "`penstock --help` lists the commands")
            raise UsageError(f"there is no command {cmd_name}", hint=hint)
        module, _, attribute = place.partition(":")
        found = getattr(import_module(f"penstock.cli.{module}"), attribute)
        command = get_group(found) if isinstance(found, typer.Typer) else get_command(_app_of(found))
        command.name = cmd_name
        return command


def _app_of(function: Any) -> typer.Typer:  # noqa: ANN401 - any command function
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command()(function)
    return app
