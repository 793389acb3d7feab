"""Timing of the steps of a batch."""

from __future__ import annotations

import time


class Laps:
    """Duration of each step, in seconds."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._at = time.monotonic()

    def end(self, part: str) -> None:
        """Record the end of a step that began when the previous step ended."""
        now = time.monotonic()
        self.parts[part] = now - self._at
        self._at = now

    @property
    def seconds(self) -> float:
        """The total of all steps."""
        return sum(self.parts.values())
