"""Runner of concurrent pipelines. A failed pipeline leaves the others running, and all end in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event
from typing import Protocol

from penstock.actions.vitals import Vitals
from penstock.config import Settings
from penstock.errors import PenstockError

_LOOK_SECONDS = 0.1


class Charge(Protocol):
    """Pipeline supervised by a runner, on a thread or in its own processes."""

    name: str
    settings: Settings
    failure: PenstockError | None

    def start(self) -> None:
        """Start the pipeline."""
        ...

    def stop(self) -> None:
        """Ask the pipeline to stop, without waiting."""
        ...

    def join(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds. Return whether the pipeline has ended by itself."""
        ...

    def end(self) -> None:
        """Wait until the pipeline has ended, up to its time limit."""
        ...

    def vitals(self) -> list[Vitals]:
        """Return the pipeline's status in each of its processes."""
        ...


class Runner:
    """Supervisor of several pipelines. Runs until all have ended or `stop` is set, then ends all."""

    def __init__(self, charges: Sequence[Charge]) -> None:
        self._charges = charges

    def run(self, stop: Event) -> dict[str, PenstockError]:
        """Run the pipelines. Return the errors of failed pipelines by name."""
        for charge in self._charges:
            charge.start()
        try:
            while not stop.is_set() and not self._have_ended():
                stop.wait(_LOOK_SECONDS)
        finally:
            self._end()
        return {charge.name: charge.failure for charge in self._charges if charge.failure is not None}

    def vitals(self) -> Iterator[Vitals]:
        """Yield the status of every pipeline."""
        for charge in self._charges:
            yield from charge.vitals()

    def _have_ended(self) -> bool:
        """Return whether all pipelines have ended. All are polled, because `join` also restarts dead processes."""
        ended = [charge.join(0) for charge in self._charges]
        return all(ended)

    def _end(self) -> None:
        for charge in self._charges:
            charge.stop()
        for charge in self._charges:
            charge.end()
