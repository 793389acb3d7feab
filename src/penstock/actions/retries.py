"""When an event is retried: after which errors, and with pauses that grow and vary by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.actions.spec import Options
from penstock.errors import PenstockError, Transient

RAISED = "action.raised"
"""The code of errors that are none of ours."""

_DRIVER_ERROR = "OperationalError"
"""PEP 249's name for errors of a database that are not the program's: every driver has a class of this name."""

_MAX_CAUSES = 20
_BUSY = frozenset({408, 425, 429})
_SERVER_ERROR = 500
_ERRORS = range(400, 600)


@dataclass(frozen=True)
class Retries:
    """How often to try again, and after which pauses, in seconds."""

    count: int
    first_pause: float
    longest_pause: float
    every_error: bool

    @classmethod
    def of(cls, options: Options) -> Retries:
        """Read a pipeline's options; where a count is given and `retry_on` is not, every error is retried."""
        every = options.retry_on == "any" or (options.retry_on is None and options.retry_count > 0)
        return cls(options.retry_count, options.retry_backoff, options.retry_backoff_max, every)

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

    Libraries such as requests and httpx wrap the error of a connection in their own; the original is its cause. The
    first error in the chain that gives an answer decides: one of ours by its class, an HTTP status, an error of the
    system or of a database driver.
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
    """The status of the HTTP answer that an error stands for: requests, httpx, aiohttp and urllib."""
    answer = getattr(error, "response", None)
    for holder, name in ((answer, "status_code"), (error, "status"), (error, "code")):
        status = getattr(holder, name, None)
        if isinstance(status, int) and status in _ERRORS:
            return status
    return None


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
