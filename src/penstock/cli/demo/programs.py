"""Other commands of ours as programs of a demo: each in its own process, which never outlives the demo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM

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


@contextmanager
def program(name: str, *words: object, environment: Mapping[str, str], directory: Path) -> Iterator[Program]:
    """Run `penstock` with these words while the block runs; then let it end as SIGTERM ends it."""
    log = directory / f"{name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            guarded([sys.executable, "-P", "-m", "penstock", *map(str, words)], orphan_signal=SIGTERM),
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
