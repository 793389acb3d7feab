"""When an event is tried again: after errors that may pass, with pauses that grow and vary by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from socket import gaierror

from penstock.actions.spec import Options
from penstock.errors import PenstockError, Transient

RAISED = "action.raised"
"""The code of errors that are none of ours."""

_MAY_PASS = (ConnectionError, TimeoutError, gaierror)
_MAX_CAUSES = 20


@dataclass(frozen=True)
class Retries:
    """How often to try again, and after which pauses, in seconds."""

    count: int
    first_pause: float
    longest_pause: float
    every_error: bool

    @classmethod
    def of(cls, options: Options) -> Retries:
        """As a pipeline's options say."""
        return cls(options.retry_count, options.retry_backoff, options.retry_backoff_max, options.retry_on == "any")

    def pause(self, attempts: int, error: BaseException, chance: float) -> float | None:
        """How long to wait after so many attempts, at a chance between 0 and 1; None to give up.

        Half of the pause is by chance, so that many who failed together do not come back together.
        """
        if attempts > self.count or not (self.every_error or may_pass(error)):
            return None
        wanted = getattr(error, "retry_after", None)
        if wanted is not None:
            return min(float(wanted), self.longest_pause)
        doubled = self.first_pause * 2.0 ** min(attempts - 1, 30)
        return min(self.longest_pause, doubled) * (0.5 + chance / 2)


def may_pass(error: BaseException) -> bool:
    """Whether the same attempt may work later.

    Libraries such as requests and httpx have errors of their own for a connection that fails, and what failed
    beneath is their cause.
    """
    for each in _causes(error):
        if isinstance(each, PenstockError):
            return isinstance(each, Transient)
        if isinstance(each, _MAY_PASS):
            return True
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, what it was raised from, what that was raised from, and so on; also what `from None` hides."""
    found: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def told(error: BaseException) -> tuple[str, str]:
    """An error's code and text, as dead letters and reports have them."""
    if isinstance(error, PenstockError):
        return error.code, error.message
    return RAISED, f"{type(error).__name__}: {error}".removesuffix(": ")
