"""File operations for state, ledgers and tables, with an implementation for local paths."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple, Protocol
from urllib.parse import urlsplit

from penstock.errors import LedgerLost, QueryInterrupted

_LOCK_SECONDS = 30.0
_LOCK_PAUSE = 0.01


class FoundFile(NamedTuple):
    """File below a directory: relative path, and size in bytes."""

    path: str
    size: int


class Files(Protocol):
    """Files by path. A crash during a call leaves either the old or the new state of each file.

    Every call raises QueryInterrupted if the file system fails, for example because it is full or unreachable.
    """

    def read(self, path: str) -> bytes | None:
        """Return the content, or None if the file does not exist."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a complete file, replacing any existing file."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Create a complete file if none exists. Of several concurrent writers, exactly one gets True."""
        ...

    def below(self, directory: str) -> list[FoundFile]:
        """List every file below a directory at any depth, sorted by name; none if the directory does not exist."""
        ...

    def names(self, directory: str) -> list[str]:
        """List the files and directories directly in a directory; none if the directory does not exist."""
        ...

    def move(self, source: str, target: str) -> None:
        """Move a file. Repeating a finished or interrupted move is safe.

        Raise LedgerLost if the target is a different file.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its contents, if the path exists."""
        ...

    def remove_if_empty(self, directory: str) -> None:
        """Remove a directory if it is empty."""
        ...

    def lock(self, path: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock on a path until the block or the process ends.

        Object stores have no locks, so callers must not rely on locking there.
        """
        ...


def is_local(location: str) -> bool:
    """Whether a location is on this machine's own file system."""
    return urlsplit(location).scheme in {"", "file"}


def local_path(location: str) -> Path:
    """Return the path of a local location, with or without the prefix `file:`."""
    return Path(urlsplit(location).path if location.startswith("file:") else location).absolute()


class LocalFiles:
    """Files on this machine. An atomic rename or hard link makes a new file visible."""

    def read(self, path: str) -> bytes | None:
        """Return the content, or None if the file does not exist."""
        with told(path):
            try:
                return local_path(path).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, path: str, data: bytes) -> None:
        """Write a file; the bytes are on disk before the name appears."""
        with told(path), _written(local_path(path), data) as new:
            new.replace(local_path(path))

    def create(self, path: str, data: bytes) -> bool:
        """Create a file by a hard link, which succeeds only for the first writer."""
        with told(path), _written(local_path(path), data) as new:
            try:
                local_path(path).hardlink_to(new)
            except FileExistsError:
                return False
        return True

    def below(self, directory: str) -> list[FoundFile]:
        """List every file below a directory."""
        root = local_path(directory)
        with told(directory):
            found = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
            return sorted(FoundFile(str(path.relative_to(root)), path.stat().st_size) for path in found)

    def names(self, directory: str) -> list[str]:
        """List the entries of a directory."""
        with told(directory):
            try:
                return sorted(entry.name for entry in local_path(directory).iterdir())
            except FileNotFoundError:
                return []

    def move(self, source: str, target: str) -> None:
        """Move a file by a hard link and the removal of the source."""
        origin, goal = local_path(source), local_path(target)
        with told(target):
            goal.parent.mkdir(parents=True, exist_ok=True)
            try:
                goal.hardlink_to(origin)  # unlike a rename, a link never replaces another file
            except FileNotFoundError:
                if not goal.exists():
                    raise
            except FileExistsError:
                if _is_another(origin, goal):
                    raise occupied(target) from None
            origin.unlink(missing_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its contents."""
        target = local_path(path)
        with told(path):
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    def remove_if_empty(self, directory: str) -> None:
        """Remove a directory; ignore every error, for example if the directory is not empty."""
        with suppress(OSError):
            local_path(directory).rmdir()

    @contextmanager
    def lock(self, path: str) -> Iterator[None]:
        """Hold an exclusive lock; raise QueryInterrupted if the lock is not free within 30 s."""
        target = local_path(path)
        with told(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            file = target.open("ab")
        with file:
            _lock(file, path)
            yield


@contextmanager
def told(path: str) -> Iterator[None]:
    """Raise QueryInterrupted for operating system errors inside the block."""
    try:
        yield
    except OSError as error:
        raise QueryInterrupted(
            f"{path}: {error.strerror or error}", hint="is there room, and the right to write?"
        ) from error


def occupied(target: str) -> LedgerLost:
    """Return the error of a move onto a file with different content."""
    return LedgerLost(
        f"{target} exists already, with another content",
        hint="was the ledger of its table restored from an older copy? restore the newest one",
    )


def _is_another(origin: Path, goal: Path) -> bool:
    try:
        return not origin.samefile(goal)
    except FileNotFoundError:  # a concurrent process has moved the file
        return False


@contextmanager
def _written(target: Path, data: bytes) -> Iterator[Path]:
    """Yield a temporary file with the bytes beside the target; remove the file afterwards."""
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.new")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write_durably(new, data)
        yield new
    finally:
        new.unlink(missing_ok=True)


def _lock(file: IO[bytes], path: str) -> None:
    give_up = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > give_up:
                hint = "is a pipeline or a compaction stopped in its middle?"
                raise QueryInterrupted(f"{path} is locked for {_LOCK_SECONDS:g} s", hint=hint) from error
            time.sleep(_LOCK_PAUSE)
        else:
            return


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
