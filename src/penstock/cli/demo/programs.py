"""Other commands and scripts as programs of a demo: each in its own process, which never outlives the demo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM
from typing import Protocol

from penstock.errors import LocalError
from penstock.local.process import failed, guarded, how_it_ended

_END_SECONDS = 60.0


@dataclass(frozen=True)
class Program:
    """A running command, and the file that keeps its words."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise PartFailed, with its last words, if it has ended by itself."""
        code = self.process.poll()
        if code is not None:
            raise self.failed(how_it_ended(code))

    def failed(self, what: str) -> LocalError:
        """The error for a program that failed, with its last words."""
        return failed(self.name, what, self.log)


class Start(Protocol):
    """Starts a program for the length of a block."""

    def __call__(
        self, name: str, *words: object, environment: Mapping[str, str], directory: Path
    ) -> AbstractContextManager[Program]:
        """Run it under this name, which its log has too."""
        ...


def program(
    name: str, *words: object, environment: Mapping[str, str], directory: Path
) -> AbstractContextManager[Program]:
    """Run `penstock` with these words while the block runs; then let it end as SIGTERM ends it."""
    return _running(name, ("-P", "-m", "penstock", *words), environment, directory)


def script(
    name: str, *words: object, environment: Mapping[str, str], directory: Path
) -> AbstractContextManager[Program]:
    """Run a Python file, the first of these words, while the block runs."""
    return _running(name, words, environment, directory)


@contextmanager
def _running(name: str, words: Sequence[object], environment: Mapping[str, str], directory: Path) -> Iterator[Program]:
    log = directory / f"{name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            guarded([sys.executable, *map(str, words)], orphan_signal=SIGTERM),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    try:
        yield Program(name, process, log)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
