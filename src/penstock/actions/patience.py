"""Retries while a system is unreachable. No event is at fault, so only the end of the pipeline ends the retries."""

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
    """Call repeatedly while the error is Transient. Raise the last error when the pipeline stops."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return call()
        except Transient as error:
            _log.warning("trying again in %.1f s: %s", pause, error)
            if halt.wait(pause):
                raise
            pause = min(2 * pause, _LONGEST_PAUSE)
