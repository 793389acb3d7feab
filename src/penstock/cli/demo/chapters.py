"""What every demo prints: the heads of its chapters, and the parts of the stack as they become ready."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.cli.output import out, text
from penstock.errors import UsageError
from penstock.local.part import Condition
from penstock.local.state import PartState

_EXAMPLES = Path(penstock.__file__).parents[2] / "examples"


def example(name: str) -> Path:
    """The folder of an example; UsageError where Penstock was installed without them."""
    folder = _EXAMPLES / name
    if not folder.is_dir():
        raise UsageError("the demo's files are not installed", hint="run it in a checkout of Penstock: make demo")
    return folder


def step(title: str) -> None:
    """Head a chapter."""
    out.print(f"\n[bold]{text(title)}[/]")


def tell_ready(state: PartState) -> None:
    """Say that a part of the stack is ready."""
    if state.condition is Condition.READY:
        out.print(f"  [green]✓[/] {state.name} {state.version} at {state.address}")
