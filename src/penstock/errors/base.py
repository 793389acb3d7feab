"""Root of all errors, its two branches, and the errors of configuration and usage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class PenstockError(Exception):
    """Base error: a stable code, a one-line message, a hint for the fix, and details as data."""

    code: ClassVar[str] = "penstock"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class Terminal(PenstockError):
    """Retrying does not help: a person has to fix something."""


class Transient(PenstockError):
    """A retry may succeed; `retry_after` holds the delay in seconds, if known."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None, **details: object) -> None:
        super().__init__(message, hint=hint, **details)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Problem:
    """A problem in a configuration, and the position of the problem."""

    place: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Render as `place: message (hint)`."""
        return f"{self.place}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class ConfigError(Terminal):
    """Invalid settings or an invalid file; `problems` lists every problem."""

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
    """A call exceeded its timeout."""

    code = "timeout"
