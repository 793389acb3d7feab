"""What fault tests share: their length, and a line on what was killed, lost and repeated."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

ROUNDS = int(os.environ.get("ROUNDS", "0"))


@pytest.fixture
def rounds() -> int:
    """How many full-length rounds are wanted; 0 asks for the short form."""
    return ROUNDS


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line past pytest's capture, so that every run shows it."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="", flush=True)  # noqa: T201 - the line is for who runs the faults

    return line
