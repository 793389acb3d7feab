"""Facts about a Delta table from the log's files, without a Spark job."""

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
    """Whether a Delta table exists: a driver killed during the first commit leaves a log without a commit."""
    return any(is_commit(found.path) for found in files.below(log_path(path)))


def is_commit(name: str) -> bool:
    """Whether a log file describes a commit, by the file's name within the log."""
    return _COMMIT.match(name) is not None


def log_path(path: str) -> str:
    """Return the path of the log of a table."""
    return f"{path}/{LOG}"


def remove_unfinished_commits(files: Files, path: str) -> None:
    """Remove all files from a log that are not commits: leftovers of a killed driver."""
    for found in files.below(log_path(path)):
        if not is_commit(found.path):
            files.remove(f"{log_path(path)}/{found.path}")
    files.remove_if_empty(log_path(path))


def commits(files: Files, path: str) -> list[str]:
    """Return the file names of the commits in the log, newest first."""
    found = (file.path for file in files.below(log_path(path)))
    return sorted(filter(_ACTIONS.fullmatch, found), reverse=True)


def versions_below(version: int) -> Iterator[str]:
    """Yield the file names of commits from `version` down to the first."""
    return (f"{number:020}.json" for number in range(version, -1, -1))


def is_first(commit: str) -> bool:
    """Whether a commit is the table's first, so that no older commit can be missing from the log."""
    return commit == _FIRST


def note_of(files: Files, path: str, commit: str) -> str | None:
    """Return a commit's user metadata; None if there is none, or if the log has dropped the commit meanwhile."""
    actions = files.read(f"{log_path(path)}/{commit}") or b""
    about = next((line for line in actions.splitlines() if line.startswith(_ABOUT)), None)
    return None if about is None else json.loads(about)["commitInfo"].get("userMetadata")
