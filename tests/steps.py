"""A crash at any step: what a driver changes outside of itself is counted, and before the wanted one it dies."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import DataFrame

from penstock.spark.dead_letters import DeadLetters
from penstock.spark.files import Files, FoundFile
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.delta_sink import DeltaSink

KEEP = "keep dead letters"


class Crash(Exception):
    """The driver dies here."""


@dataclass
class Steps:
    """Counts steps; the driver dies before number `crash_at`, or the `nth` called `crash_before`, and does no more."""

    crash_at: int = 0
    crash_before: str = ""
    nth: int = 1
    taken: list[str] = field(default_factory=list)

    def take(self, name: str) -> None:
        """Go on to the next step, or die."""
        self.taken.append(name)
        if self.crash_before and self.taken.count(self.crash_before) == self.nth:
            self.crash_at = len(self.taken)
        if self.crash_at and len(self.taken) >= self.crash_at:
            raise Crash(f"before {name}")


@dataclass(frozen=True)
class SteppedFiles:
    """Files, each change to which is a step."""

    files: Files
    steps: Steps

    def read(self, path: str) -> bytes | None:
        return self.files.read(path)

    def write(self, path: str, data: bytes) -> None:
        self.steps.take(f"write {path}")
        self.files.write(path, data)

    def create(self, path: str, data: bytes) -> bool:
        self.steps.take(f"create {path}")
        return self.files.create(path, data)

    def below(self, directory: str) -> list[FoundFile]:
        return self.files.below(directory)

    def names(self, directory: str) -> list[str]:
        return self.files.names(directory)

    def move(self, source: str, target: str) -> None:
        self.steps.take(f"move {source} to {target}")
        self.files.move(source, target)

    def remove(self, path: str) -> None:
        self.steps.take(f"remove {path}")
        self.files.remove(path)

    def remove_if_empty(self, directory: str) -> None:
        self.files.remove_if_empty(directory)

    def lock(self, path: str) -> AbstractContextManager[None]:
        return self.files.lock(path)


def count_steps(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> None:
    """Let every driver that is made from now on take its steps by this count."""
    for module in ("tests.lake_queries", "penstock.spark.lake.parquet_sink", "penstock.spark.lake.delta_sink"):
        monkeypatch.setattr(f"{module}.files_at", lambda place, session: SteppedFiles(files_at(place, session), steps))
    commit, keep = DeltaSink._append, DeadLetters.write

    def stepped_commit(sink: DeltaSink, *given: Any) -> None:
        steps.take("commit")
        commit(sink, *given)

    def stepped_keep(letters: DeadLetters, refused: DataFrame) -> None:
        steps.take(KEEP)
        keep(letters, refused)

    monkeypatch.setattr(DeltaSink, "_append", stepped_commit)
    monkeypatch.setattr(DeadLetters, "write", stepped_keep)
