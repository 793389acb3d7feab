"""Display of changing numbers: live on a terminal, occasional lines elsewhere."""

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
    """Show `draw` live during the block, or off a terminal print `line`. Both show a final state at the end."""
    if out.is_terminal:
        with Live(get_renderable=draw, console=out, refresh_per_second=4):
            yield
        return
    with _lines(line):
        yield


@contextmanager
def _lines(line: Callable[[], str]) -> Iterator[None]:
    """Print a changed line every few seconds, and a final line at the end."""
    said = ""

    def tell() -> None:
        nonlocal said
        if line() != said:
            said = line()
            out.print(f"  {said}")

    with repeated(tell, _LINE_SECONDS):
        yield
    out.print(f"  {line()}")
