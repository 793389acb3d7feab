"""Command in its own process group: input from a file, a time limit, and the end of standard error kept."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import IO, NamedTuple

from penstock.errors import TargetUnavailable

_KEPT_BYTES = 1000
_READ_BYTES = 64 * 1024
_LAST_WORDS_SECONDS = 0.5


class Ended(NamedTuple):
    """Result of a command: exit code (negative: minus the signal; None: timed out) and end of standard error."""

    code: int | None
    said: str


class Commands:
    """Runner of one command, callable on any thread. `kill_all` kills all running instances."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], directory: Path | None) -> None:
        self._command = command
        self._environment = environment
        self._directory = directory
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()

    def run(self, data: bytes, timeout: float) -> Ended:
        """Run the command with `data` on standard input. A file holds the input, so unread input blocks nothing."""
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            process = self._start(file)
        words = _LastWords(process.stderr)
        try:
            return Ended(process.wait(timeout), words.text())
        except subprocess.TimeoutExpired:
            _kill(process)
            return Ended(None, words.text())
        finally:
            with self._lock:
                self._running.discard(process)

    def kill_all(self) -> None:
        """Kill every running command with its children."""
        with self._lock:
            for process in self._running:
                _kill(process)

    def _start(self, stdin: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            with self._lock:
                process = subprocess.Popen(
                    self._command,
                    stdin=stdin,
                    stderr=subprocess.PIPE,
                    env=self._environment,
                    cwd=self._directory,
                    process_group=0,
                )
                self._running.add(process)
        except OSError as error:
            raise TargetUnavailable(f"{self._command[0]} cannot be started: {error.strerror}") from error
        return process


class _LastWords:
    """Reader of standard error. Reads to the end, so that the command never blocks, and keeps the last 1000 bytes."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._kept = b""
        self._thread = Thread(target=self._read, args=(stream,), name="penstock-exec", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the last output. Waits at most 0.5 s, because a background child may hold the stream open."""
        self._thread.join(_LAST_WORDS_SECONDS)
        return self._kept.decode("utf-8", "replace").strip()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), _READ_BYTES):
                self._kept = (self._kept + chunk)[-_KEPT_BYTES:]


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
