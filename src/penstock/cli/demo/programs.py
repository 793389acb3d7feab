"""Commands and scripts as child processes of a demo. They never outlive the demo."""

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
    """Running command, and the file with the output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise PartFailed, with the last lines of output, if the program has ended."""
        code = self.process.poll()
        if code is not None:
            raise self.failed(how_it_ended(code))

    def failed(self, what: str) -> LocalError:
        """Return the error for a failed program, with the last lines of output."""
        return failed(self.name, what, self.log)


class Start(Protocol):
    """Function to run a program for the duration of a block."""

    def __call__(
        self, name: str, *words: object, environment: Mapping[str, str], directory: Path
    ) -> AbstractContextManager[Program]:
        """Run the program. `name` also names its log."""
        ...


def program(
    name: str, *words: object, environment: Mapping[str, str], directory: Path
) -> AbstractContextManager[Program]:
    """Run `penstock` with these arguments during the block, then send SIGTERM."""
    return _running(name, ("-P", "-m", "penstock", *words), environment, directory)


def script(
    name: str, *words: object, environment: Mapping[str, str], directory: Path
) -> AbstractContextManager[Program]:
    """Run a Python file, the first argument, during the block."""
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
