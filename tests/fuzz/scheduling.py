"""Several actors at work on the same files, one file operation at a time, in an order that a test chooses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.spark.files import Files, FoundFile

_MOST = 50
"""How many operations an actor does in one go: it may wait for a lock that another actor has."""


class Killed(BaseException):
    """The actor dies here; it is no Exception, so that nothing handles it."""


class Actor:
    """Work on a thread that stops before each of its file operations until it may go on."""

    def __init__(self, name: str, work: Callable[[Actor], None]) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self.taken: list[str] = []
        self.is_done = False
        self._is_killed = False
        self._may_go, self._has_stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()
        self._has_stopped.acquire()

    def go(self) -> None:
        """Let it do one operation."""
        if not self.is_done:
            self._may_go.release()
            self._has_stopped.acquire()

    def go_past(self, kind: str) -> None:
        """Let it go on until it has done an operation of a kind, such as `create`; it may never do one again."""
        before = self._count(kind)
        for _ in range(_MOST):
            if self._count(kind) > before:
                return
            self.go()

    def kill(self) -> None:
        """End it before its next operation."""
        self._is_killed = True
        self.go()
        self._thread.join()

    def finish(self) -> None:
        """Let it come to its end."""
        while not self.is_done:
            self.go()
        self._thread.join()

    def stop_before(self, operation: str) -> None:
        """Wait for the turn; called by the actor itself."""
        self._has_stopped.release()
        self._may_go.acquire()
        if self._is_killed:
            raise Killed(operation)
        self.taken.append(operation)

    def _count(self, kind: str) -> int:
        return sum(operation.startswith(kind) for operation in self.taken)

    def _run(self, work: Callable[[Actor], None]) -> None:
        try:
            self.stop_before("start")
            work(self)
        except Killed:
            pass
        except BaseException as failure:  # noqa: BLE001 - it is the test's to judge
            self.failure = failure
        finally:
            self.is_done = True
            self._has_stopped.release()


@dataclass(frozen=True)
class ScheduledFiles:
    """Files of one actor, who waits for its turn before each operation."""

    files: Files
    actor: Actor

    def read(self, path: str) -> bytes | None:
        self.actor.stop_before(f"read {path}")
        return self.files.read(path)

    def write(self, path: str, data: bytes) -> None:
        self.actor.stop_before(f"write {path}")
        self.files.write(path, data)

    def create(self, path: str, data: bytes) -> bool:
        self.actor.stop_before(f"create {path}")
        return self.files.create(path, data)

    def below(self, directory: str) -> list[FoundFile]:
        self.actor.stop_before(f"list {directory}")
        return self.files.below(directory)

    def names(self, directory: str) -> list[str]:
        self.actor.stop_before(f"list {directory}")
        return self.files.names(directory)

    def move(self, source: str, target: str) -> None:
        self.actor.stop_before(f"move {source} to {target}")
        self.files.move(source, target)

    def remove(self, path: str) -> None:
        """Remove file by file, so that it may be cut off in its middle."""
        for found in self.files.below(path):
            self.actor.stop_before(f"remove {path}/{found.path}")
            self.files.remove(f"{path}/{found.path}")
        self.actor.stop_before(f"remove {path}")
        self.files.remove(path)

    def remove_if_empty(self, directory: str) -> None:
        self.actor.stop_before(f"remove {directory} if empty")
        self.files.remove_if_empty(directory)

    @contextmanager
    def lock(self, path: str) -> Iterator[None]:
        self.actor.stop_before(f"lock {path}")
        with self.files.lock(path):
            yield
