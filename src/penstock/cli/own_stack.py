"""A stack of its own for a command that should not meet anybody else's: free ports, a directory that goes away."""

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
    """Start a stack on free ports in a temporary directory, and stop it at the end; gives its clients' settings."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as directory:
        chosen = settings().model_copy(update={"data": Path(directory), "ports": free_port_settings()})
        fetch_jars(options or StackOptions(), chosen)
        with Stack(options, chosen, notice=err.print, on_change=on_change) as stack:
            yield stack.settings()


def client_environment(client: Settings) -> dict[str, str]:
    """This process's environment with the variables that lead a program of ours to a stack."""
    found = {
        "PENSTOCK_BOOTSTRAP": client.bootstrap,
        "PENSTOCK_REGISTRY": client.registry,
        "PENSTOCK_DATABASE": client.database.get_secret_value(),
        "PENSTOCK_CONNECT": client.connect,
    }
    return {**os.environ, **found}
