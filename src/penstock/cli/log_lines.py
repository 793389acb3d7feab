"""Penstock's own log as lines on stderr, while a command runs for long."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from penstock.cli.output import err, text


class _ToConsole(logging.Handler):
    """Puts Penstock's own warnings where a person sees them."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        colour = "red" if record.levelno >= logging.ERROR else "yellow"
        self._console.print(f"[{colour}]{record.levelname.lower()}[/] {text(record.getMessage())}")


@contextmanager
def logged(console: Console = err) -> Iterator[None]:
    """Show warnings and errors while the block runs."""
    logger, handler = logging.getLogger("penstock"), _ToConsole(console)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
