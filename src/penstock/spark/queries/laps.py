"""Where a batch's time goes."""

from __future__ import annotations

import time


class Laps:
    """How long each part of something took, in seconds."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._at = time.monotonic()

    def end(self, part: str) -> None:
        """Note that a part, which began where the one before it ended, is done."""
        now = time.monotonic()
        self.parts[part] = now - self._at
        self._at = now

    @property
    def seconds(self) -> float:
        """All parts together."""
        return sum(self.parts.values())
