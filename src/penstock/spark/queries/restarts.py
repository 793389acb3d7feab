"""Restart policy of failed queries: a pure decision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.errors import BatchFailed, PenstockError, Transient, UnknownFailure

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0

SUSPECT_AFTER: Final = 3
"""Unknown failures of one kind after which the batch is searched for messages that cause the failure."""

MOST_REPEATS: Final = 10
"""Unknown failures of one kind, about four minutes, after which the query is not restarted."""

_PASSING: Final = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|[0-9]+")
"""Text that differs between failures of one kind: numbers, and random parts of names."""


class Verdict(NamedTuple):
    """Result of a failure: new counters, the error to report, and the pause; a pause of None means no restart."""

    restarts: Restarts
    error: PenstockError
    pause: float | None


@dataclass(frozen=True)
class Restarts:
    """Failures since the last progress, restarts in total, and consecutive unknown failures of the same kind."""

    failures: int = 0
    total: int = 0
    repeats: int = 0
    kind: str = ""

    @property
    def is_suspect(self) -> bool:
        """Whether messages of the batch may cause the failures."""
        return self.repeats == SUSPECT_AFTER

    def after(self, error: PenstockError, *, got_on: bool) -> Verdict:
        """Decide how to react to a failure.

        Pauses double with each failure and reset after progress. An unknown failure that repeats without progress
        becomes a BatchFailed.
        """
        if not isinstance(error, Transient):
            return Verdict(self, error, None)
        failures = 1 if got_on else self.failures + 1
        kind = _PASSING.sub("#", error.message) if isinstance(error, UnknownFailure) else ""
        repeats = self.repeats + 1 if kind and kind == self.kind and not got_on else int(bool(kind))
        if repeats >= MOST_REPEATS:
            return Verdict(self, _given_up(error), None)
        pause = error.retry_after or min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
        return Verdict(Restarts(failures, self.total + 1, repeats, kind), error, pause)


def _given_up(error: PenstockError) -> BatchFailed:
    hint = error.hint or "remove the cause and start the pipeline again; it goes on with the same batch"
    return BatchFailed(f"the batch failed {MOST_REPEATS} times in the same way: {error.message}", hint=hint)
