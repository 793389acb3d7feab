"""How long fuzz tests run: a few repeatable examples in `make test`, many random ones in `make faults`."""

from __future__ import annotations

import os

import hypothesis

IS_LONG = bool(os.environ.get("ROUNDS"))


def fuzz(short: int, long: int) -> hypothesis.settings:
    """Return the settings of a fuzz test: `short` repeatable examples, or `long` random ones if ROUNDS is set."""
    return hypothesis.settings(
        max_examples=long if IS_LONG else short,
        derandomize=not IS_LONG,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
