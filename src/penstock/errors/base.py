"""The root of all errors, its two branches, and the errors of configuration and usage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class PenstockError(Exception):
    """The root: a stable code, one line on what is wrong, a hint on what to do, and details as data."""

    code: ClassVar[str] = "penstock"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class Terminal(PenstockError):
    """Trying again changes nothing: a person has to fix something."""


class Transient(PenstockError):
    """The same call may succeed later; `retry_after` says when, if that is known."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None, **details: object) -> None:
        super().__init__(message, hint=hint, **details)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a configuration, and where it stands."""

    place: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Render as `place: message (hint)`."""
        return f"{self.place}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class ConfigError(Terminal):
    """Settings or a file are wrong; `problems` holds every one of them."""

    code = "config.invalid"
    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class UsageError(Terminal, ValueError):
    """A command or a call was used wrongly."""

    code = "usage"
    exit_code = 2


class OperationTimedOut(Transient, TimeoutError):
    """A call took longer than its stated time-out."""

    code = "timeout"
