"""Display of Penstock's log on stderr during long commands."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from penstock.cli.output import err, text

_OF_ACTIONS = "penstock.actions.log"
"""Logger of the action `log`. All lines are shown, because they are the pipeline's output."""


class _ToConsole(logging.Handler):
    """Handler for Penstock's warnings and the lines of the action `log`."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.startswith(f"{_OF_ACTIONS}.")

    def emit(self, record: logging.LogRecord) -> None:
        level = f"[{_colour(record.levelno)}]{record.levelname.lower()}[/]"
        self._console.print(f"{level} {text(record.getMessage())}", emoji=False)


class LastResort(logging.Handler):
    """Prints records without a handler, like Python's default but safe for a terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message, with its traceback if any."""
        err.out(self.format(record))


@contextmanager
def logged(console: Console = err) -> Iterator[None]:
    """Show warnings, errors and the log output of actions during the block."""
    logger, of_actions, handler = logging.getLogger("penstock"), logging.getLogger(_OF_ACTIONS), _ToConsole(console)
    level = of_actions.level
    of_actions.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        of_actions.setLevel(level)


def _colour(level: int) -> str:
    if level >= logging.ERROR:
        return "red"
    return "yellow" if level >= logging.WARNING else "dim"
