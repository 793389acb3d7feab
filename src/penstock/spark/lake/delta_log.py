"""Whether there is a Delta table, as its log tells."""

from __future__ import annotations

import re
from typing import Final

from penstock.spark.files import Files

LOG: Final = "_delta_log"
_COMMIT: Final = re.compile(r"\d{20}\.(json|checkpoint)")


def is_delta_table(files: Files, path: str) -> bool:
    """Whether a Delta table is there: a driver that was killed in the first commit leaves a log without any."""
    return any(is_commit(found.path) for found in files.below(log_path(path)))


def is_commit(name: str) -> bool:
    """Whether a file of a log, by its name in there, tells of a commit."""
    return _COMMIT.match(name) is not None


def log_path(path: str) -> str:
    """Where the log of the table at this path lies."""
    return f"{path}/{LOG}"
