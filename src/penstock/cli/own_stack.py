"""Temporary stack, isolated from existing stacks by free ports and a temporary directory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.cli.options import settings
from penstock.cli.output import err
from penstock.cli.stack_run import fetch_jars
from penstock.config import Settings
from penstock.local.ports import free_port_settings
from penstock.local.stack import Stack, StackOptions
from penstock.local.state import PartState


@contextmanager
def own_stack(
    options: StackOptions | None = None, on_change: Callable[[PartState], None] = lambda _state: None
) -> Iterator[Settings]:
    """Start a stack on free ports in a temporary directory, yield its client settings, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as directory:
        chosen = settings().model_copy(update={"data": Path(directory), "ports": free_port_settings()})
        fetch_jars(options or StackOptions(), chosen)
        with Stack(options, chosen, notice=err.print, on_change=on_change) as stack:
            yield stack.settings()


def client_environment(client: Settings) -> dict[str, str]:
    """Return this process's environment plus the variables to connect a Penstock program to the stack."""
    found = {
        "PENSTOCK_BOOTSTRAP": client.bootstrap,
        "PENSTOCK_REGISTRY": client.registry,
        "PENSTOCK_DATABASE": client.database.get_secret_value(),
        "PENSTOCK_CONNECT": client.connect,
    }
    return {**os.environ, **found}
