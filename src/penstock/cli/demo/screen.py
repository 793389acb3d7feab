"""Numbers that change while one looks: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import RenderableType
from rich.live import Live

from penstock.cli.output import out
from penstock.cli.repeating import repeated

_LINE_SECONDS = 5.0


@contextmanager
def shown(draw: Callable[[], RenderableType], line: Callable[[], str]) -> Iterator[None]:
    """Show what `draw` gives while the block runs, or off a terminal what `line` says, and once more at its end."""
    if out.is_terminal:
        with Live(get_renderable=draw, console=out, refresh_per_second=4):
            yield
        return
    with _lines(line):
        yield


@contextmanager
def _lines(line: Callable[[], str]) -> Iterator[None]:
    """Print a line every few seconds, if there is something new, and one at the end."""
    said = ""

    def tell() -> None:
        nonlocal said
        if line() != said:
            said = line()
            out.print(f"  {said}")

    with repeated(tell, _LINE_SECONDS):
        yield
    out.print(f"  {line()}")
