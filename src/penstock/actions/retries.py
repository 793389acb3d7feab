"""Retry policy of events: which errors are retried, with growing and randomized pauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.actions.spec import Options
from penstock.errors import PenstockError, Transient

RAISED = "action.raised"
"""Code of exceptions that are not Penstock's."""

_DRIVER_ERROR = "OperationalError"
"""PEP 249's name for database errors outside the program's control. Every driver has a class of this name."""

_MAX_CAUSES = 20
_BUSY = frozenset({408, 425, 429})
_SERVER_ERROR = 500
_ERRORS = range(400, 600)


@dataclass(frozen=True)
class Retries:
    """Retry policy: the number of retries, and the pauses in seconds."""

    count: int
    first_pause: float
    longest_pause: float
    every_error: bool

    @classmethod
    def of(cls, options: Options) -> Retries:
        """Return the policy of a pipeline's options. With a count but no `retry_on`, every error is retried."""
        every = options.retry_on == "any" or (options.retry_on is None and options.retry_count > 0)
        return cls(options.retry_count, options.retry_backoff, options.retry_backoff_max, every)

    def pause(self, attempts: int, error: BaseException, chance: float) -> float | None:
        """Return the pause before the next attempt, or None to give up. `chance` is random, between 0 and 1.

        Half of the pause is random, to spread the retries of events that failed together. An error with `retry_after`
        sets the pause, up to the longest pause.
        """
        if attempts > self.count or not (self.every_error or may_pass(error)):
            return None
        wanted = getattr(error, "retry_after", None)
        if wanted is not None:
            return min(float(wanted), self.longest_pause)
        doubled = self.first_pause * 2.0 ** min(attempts - 1, 30)
        return min(self.longest_pause, doubled) * (0.5 + chance / 2)


def may_pass(error: BaseException) -> bool:
    """Return whether a retry may succeed.

    Libraries such as requests and httpx wrap connection errors; the original error is the cause. The first conclusive
    error in the chain decides: a Penstock error by its class, an HTTP status, an error of the operating system or of a
    database driver.
    """
    for each in _causes(error):
        if isinstance(each, PenstockError):
            return isinstance(each, Transient)
        status = _http_status(each)
        if status is not None:
            return status >= _SERVER_ERROR or status in _BUSY
        if isinstance(each, OSError) or any(base.__name__ == _DRIVER_ERROR for base in type(each).__mro__):
            return True
    return False


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status behind an error of requests, httpx, aiohttp or urllib."""
    answer = getattr(error, "response", None)
    for holder, name in ((answer, "status_code"), (error, "status"), (error, "code")):
        status = getattr(holder, name, None)
        if isinstance(status, int) and status in _ERRORS:
            return status
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its chain of causes, including causes hidden by `from None`."""
    found: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def told(error: BaseException) -> tuple[str, str]:
    """Return the code and the text of an error for dead letters and reports."""
    if isinstance(error, PenstockError):
        return error.code, error.message
    return RAISED, f"{type(error).__name__}: {error}".removesuffix(": ")
