"""Helpers shared by demos: temporary directory, chapter headings, and readiness of the stack's parts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import penstock
from penstock.cli.output import out, text
from penstock.cli.signals import ends_by_signal
from penstock.errors import UsageError
from penstock.local.part import Condition
from penstock.local.state import PartState

_EXAMPLES = Path(penstock.__file__).parents[2] / "examples"


def example(name: str) -> Path:
    """Return the folder of an example. Raise UsageError if Penstock was installed without examples."""
    folder = _EXAMPLES / name
    if not folder.is_dir():
        raise UsageError("the demo's files are not installed", hint="run it in a checkout of Penstock: make demo")
    return folder


@contextmanager
def stage() -> Iterator[Path]:
    """Create a temporary directory for a demo, removed after Ctrl-C as well.

    Report at the end that everything is stopped.
    """
    began = time.monotonic()
    try:
        with ends_by_signal(), tempfile.TemporaryDirectory(prefix="penstock-demo-") as directory:
            yield Path(directory)
    except KeyboardInterrupt:
        out.print("\ninterrupted; everything is stopped")
        raise
    out.print(f"  all stopped after {time.monotonic() - began:.0f} s; nothing is left behind")


def step(title: str) -> None:
    """Print a chapter heading."""
    out.print(f"\n[bold]{text(title)}[/]")


def tell_ready(state: PartState) -> None:
    """Report that a part of the stack is ready."""
    if state.condition is Condition.READY:
        out.print(f"  [green]✓[/] {state.name} {state.version} at {state.address}")
