"""When a query that failed is started again: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PenstockError, Transient

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class Restarts:
    """How often a query failed since it last got on, and how often it was started again in all."""

    failures: int = 0
    total: int = 0

    def after(self, error: PenstockError, *, got_on: bool) -> tuple[Restarts, float | None]:
        """The next state, and the seconds to wait before the next start; None says that it stays down.

        Pauses double from one failure to the next, and begin anew once the query has got on in between.
        """
        if not isinstance(error, Transient):
            return self, None
        failures = 1 if got_on else self.failures + 1
        pause = error.retry_after or min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
        return Restarts(failures, self.total + 1), pause
