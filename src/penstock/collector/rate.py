"""Rate limit that admits any single batch and makes the next batch wait for it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class TokenBucket:
    """Token bucket that refills with `rate` tokens a second and holds at most a second's worth.

    One batch may overdraw the bucket. A batch can be larger than the bucket, and the rate holds on average.
    """

    def __init__(self, rate: float, now: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._now = now
        self._tokens = rate
        self._filled_at = now()

    def wait_seconds(self) -> float:
        """Return the seconds until tokens may be taken; 0 means now."""
        now = self._now()
        self._tokens = min(self._rate, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        return 0.0 if self._tokens > 0 else -self._tokens / self._rate + 1 / self._rate

    def take(self, tokens: int) -> None:
        """Take tokens, even more than available."""
        self._tokens -= tokens
