"""Runs pipelines side by side: one that fails leaves the others running, and all end in good order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event
from typing import Protocol

from penstock.actions.vitals import Vitals
from penstock.config import Settings
from penstock.errors import PenstockError

_LOOK_SECONDS = 0.1


class Charge(Protocol):
    """What a runner looks after: a pipeline on a thread, or in processes of its own."""

    name: str
    settings: Settings
    failure: PenstockError | None

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self) -> None:
        """Ask it to end; nothing is waited for."""
        ...

    def join(self, timeout: float) -> bool:
        """Wait until it has ended by itself; whether it has."""
        ...

    def end(self) -> None:
        """Wait until it has ended, to its time limit."""
        ...

    def vitals(self) -> list[Vitals]:
        """How it is, in each of its processes."""
        ...


class Runner:
    """Starts its charges, looks after them until all have ended or `stop` is set, and ends them."""

    def __init__(self, charges: Sequence[Charge]) -> None:
        self._charges = charges

    def run(self, stop: Event) -> dict[str, PenstockError]:
        """The failures of those that failed, by their names."""
        for charge in self._charges:
            charge.start()
        try:
            while not stop.is_set() and not self._have_ended():
                stop.wait(_LOOK_SECONDS)
        finally:
            self._end()
        return {charge.name: charge.failure for charge in self._charges if charge.failure is not None}

    def vitals(self) -> Iterator[Vitals]:
        """How all of them are."""
        for charge in self._charges:
            yield from charge.vitals()

    def _have_ended(self) -> bool:
        """Whether all have; each is looked after, whatever the others do."""
        ended = [charge.join(0) for charge in self._charges]
        return all(ended)

    def _end(self) -> None:
        for charge in self._charges:
            charge.stop()
        for charge in self._charges:
            charge.end()
