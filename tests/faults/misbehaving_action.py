"""An action that notes every event, and does something bad with one of them."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from penstock.events.envelope import EventEnvelope

BAD = 2


class Misbehaving:
    """`how` says what is bad; with `once`, a file, it is bad only until that file is there."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._how = config["how"]
        self._notes = Path(config["notes"])
        self._once = Path(config["once"]) if "once" in config else None

    @classmethod
    def create(cls, config: dict[str, Any], _ctx: object) -> Misbehaving:
        return cls(config)

    def act(self, event: EventEnvelope) -> object:
        number = event.event["number"]
        answer = BEHAVIOURS[self._how]() if number == BAD and not self._is_over() else None
        with self._notes.open("a") as notes:
            notes.write(f"{number}\n")
        return answer

    def close(self) -> None:
        pass

    def _is_over(self) -> bool:
        if self._once is None:
            return False
        if self._once.exists():
            return True
        self._once.touch()
        return False


def _raise() -> None:
    raise ValueError("no")


def _recurse() -> None:
    _recurse()


def _leak() -> None:
    threading.Thread(target=time.sleep, args=(3600,), daemon=False).start()


BEHAVIOURS = {
    "raises": _raise,
    "recurses": _recurse,
    "hangs": lambda: time.sleep(3600),
    "calls sys.exit": lambda: sys.exit(3),
    "ends the process": lambda: os._exit(3),
    "returns nonsense": lambda: "nonsense",
    "leaks a thread": _leak,
}
