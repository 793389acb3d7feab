"""Commit policies: how and when processed offsets are committed. `Consumer` lists the guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import UsageError

How = Literal["auto", "sync", "async", "none"]
Every = Literal["record", "batch"] | float

_AUTO_SECONDS = 5.0


@dataclass(frozen=True)
class CommitPolicy:
    """How, and how often, a group's offsets are committed."""

    how: How
    every: Every

    def due(self, seconds: float, *, batch_ends: bool) -> bool:
        """Whether to commit now, `seconds` after the last commit."""
        if self.how == "none":
            return False
        if self.every == "batch":
            return batch_ends
        return self.every == "record" or seconds >= float(self.every)


def commit_policy(how: How | None, every: Every | None, *, group: str | None) -> CommitPolicy:
    """Return the policy for the caller's arguments. Raise UsageError for invalid combinations."""
    if group is None:
        if how not in {None, "none"}:
            raise UsageError(f"commit={how!r} needs a group", hint="name one with group=, or leave commit out")
        how = "none"
    how = how or "auto"
    if how not in get_args(How):
        raise UsageError(f"commit={how!r} is not a way to commit", hint="choose auto, sync, async or none")
    if every is None:
        return CommitPolicy(how, _AUTO_SECONDS if how == "auto" else "batch")
    _check_every(how, every)
    return CommitPolicy(how, every)


def _check_every(how: How, every: Every) -> None:
    named = every in {"record", "batch"}
    if how == "none":
        raise UsageError(
            f"every={every!r} says nothing with commit='none'", hint="leave it out, or choose sync or async"
        )
    if how == "auto" and named:
        raise UsageError(
            f"commit='auto' goes by seconds, not by every={every!r}", hint="choose commit='sync' or 'async'"
        )
    if not named and not (isinstance(every, int | float) and every > 0):
        raise UsageError(f"every={every!r} is not 'record', 'batch' or a number of seconds")
