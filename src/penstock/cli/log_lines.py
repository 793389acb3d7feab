"""Penstock's own log as lines on stderr, while a command runs for long."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli.output import err, text


class _ToConsole(logging.Handler):
    """Puts Penstock's own warnings where a person sees them."""

    def emit(self, record: logging.LogRecord) -> None:
        colour = "red" if record.levelno >= logging.ERROR else "yellow"
        err.print(f"[{colour}]{record.levelname.lower()}[/] {text(record.getMessage())}")


@contextmanager
def logged() -> Iterator[None]:
    """Show warnings and errors while the block runs."""
    logger, handler = logging.getLogger("penstock"), _ToConsole(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
