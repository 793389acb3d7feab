"""Waiting for a system that is away: it is no fault of an event, and ends only when the pipeline does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from penstock.actions.halt import Halt
from penstock.errors import Transient

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0

_log = logging.getLogger(__name__)
Result = TypeVar("Result")


def until_it_passes(call: Callable[[], Result], halt: Halt) -> Result:
    """Call again and again while the error is Transient; that one is raised when the pipeline is to end."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return call()
        except Transient as error:
            _log.warning("trying again in %.1f s: %s", pause, error)
            if halt.wait(pause):
                raise
            pause = min(2 * pause, _LONGEST_PAUSE)
