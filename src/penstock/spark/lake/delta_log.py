"""What the log of a Delta table tells by its files alone, without a job of Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from penstock.spark.files import Files

LOG: Final = "_delta_log"
_COMMIT: Final = re.compile(r"\d{20}\.(json|checkpoint)")
_ACTIONS: Final = re.compile(r"\d{20}\.json")
_FIRST: Final = f"{0:020}.json"
_ABOUT: Final = b'{"commitInfo"'


def is_delta_table(files: Files, path: str) -> bool:
    """Whether a Delta table is there: a driver that was killed in the first commit leaves a log without any."""
    return any(is_commit(found.path) for found in files.below(log_path(path)))


def is_commit(name: str) -> bool:
    """Whether a file of a log, by its name in there, tells of a commit."""
    return _COMMIT.match(name) is not None


def log_path(path: str) -> str:
    """Where the log of the table at this path lies."""
    return f"{path}/{LOG}"


def remove_unfinished_commits(files: Files, path: str) -> None:
    """Remove from a log what is no commit: files that a driver wrote before it was killed."""
    for found in files.below(log_path(path)):
        if not is_commit(found.path):
            files.remove(f"{log_path(path)}/{found.path}")
    files.remove_if_empty(log_path(path))


def commits(files: Files, path: str) -> list[str]:
    """The commits that the log still has, by the names of their files, the newest first."""
    found = (file.path for file in files.below(log_path(path)))
    return sorted(filter(_ACTIONS.fullmatch, found), reverse=True)


def versions_below(version: int) -> Iterator[str]:
    """The names that commits have, from this version down to the first one."""
    return (f"{number:020}.json" for number in range(version, -1, -1))


def is_first(commit: str) -> bool:
    """Whether there is no older commit that the log could have forgotten."""
    return commit == _FIRST


def note_of(files: Files, path: str, commit: str) -> str | None:
    """What a commit notes of itself; None if it notes nothing, or was forgotten meanwhile."""
    actions = files.read(f"{log_path(path)}/{commit}") or b""
    about = next((line for line in actions.splitlines() if line.startswith(_ABOUT)), None)
    return None if about is None else json.loads(about)["commitInfo"].get("userMetadata")
