"""Whether there is a Delta table, as its log tells."""

from __future__ import annotations

import re
from typing import Final

from penstock.spark.files import Files

_COMMIT: Final = re.compile(r"\d{20}\.(json|checkpoint)")


def is_delta_table(files: Files, path: str) -> bool:
    """Whether a Delta table is there: a driver that was killed in the first commit leaves a log without any."""
    return any(_COMMIT.match(found.path) for found in files.below(log_path(path)))


def log_path(path: str) -> str:
    """Where the log of the table at this path lies."""
    return f"{path}/_delta_log"
