"""The few file operations that state, ledgers and tables rest on; here for paths of this machine."""

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
    """A file below a directory: its path, relative to the directory, and its bytes."""

    path: str
    size: int


class Files(Protocol):
    """Files by path; a crash in the middle of any call leaves either the old or the new state of each file.

    Every call raises QueryInterrupted where the file system refuses: it may be full, or away for a while.
    """

    def read(self, path: str) -> bytes | None:
        """The content, or None where there is no such file."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Put a file there as a whole, in the place of one that may be there."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Put a file there as a whole unless one is there; of several who try at once, one gets True."""
        ...

    def below(self, directory: str) -> list[FoundFile]:
        """Every file below a directory, at any depth, by name; none if it is not there."""
        ...

    def names(self, directory: str) -> list[str]:
        """List the files and directories that are directly in a directory; none if it does not exist."""
        ...

    def move(self, source: str, target: str) -> None:
        """Move a file; nothing happens if it was moved before, also if that was interrupted half way.

        Raise LedgerLost if there is another file at the target.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it, if it is there."""
        ...

    def remove_if_empty(self, directory: str) -> None:
        """Remove a directory if nothing is in it."""
        ...

    def lock(self, path: str) -> AbstractContextManager[None]:
        """Keep everybody else out who locks the same path, for as long as the block or this process lasts.

        An object store has no locks, so nobody may rely on them there.
        """
        ...


def is_local(location: str) -> bool:
    """Whether a location is on this machine's own file system."""
    return urlsplit(location).scheme in {"", "file"}


def local_path(location: str) -> Path:
    """The path of a local location, with or without `file:` before it."""
    return Path(urlsplit(location).path if location.startswith("file:") else location).absolute()


class LocalFiles:
    """Files of this machine: renaming is atomic, so it is what makes a new file seen."""

    def read(self, path: str) -> bytes | None:
        """As the protocol says."""
        with told(path):
            try:
                return local_path(path).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, path: str, data: bytes) -> None:
        """As the protocol says; the bytes are on the disk before the name is."""
        with told(path), _written(local_path(path), data) as new:
            new.replace(local_path(path))

    def create(self, path: str, data: bytes) -> bool:
        """As the protocol says: a link is made by one only."""
        with told(path), _written(local_path(path), data) as new:
            try:
                local_path(path).hardlink_to(new)
            except FileExistsError:
                return False
        return True

    def below(self, directory: str) -> list[FoundFile]:
        """As the protocol says."""
        root = local_path(directory)
        with told(directory):
            found = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
            return sorted(FoundFile(str(path.relative_to(root)), path.stat().st_size) for path in found)

    def names(self, directory: str) -> list[str]:
        """As the protocol says."""
        with told(directory):
            try:
                return sorted(entry.name for entry in local_path(directory).iterdir())
            except FileNotFoundError:
                return []

    def move(self, source: str, target: str) -> None:
        """As the protocol says."""
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
        """As the protocol says."""
        target = local_path(path)
        with told(path):
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    def remove_if_empty(self, directory: str) -> None:
        """As the protocol says."""
        with suppress(OSError):
            local_path(directory).rmdir()

    @contextmanager
    def lock(self, path: str) -> Iterator[None]:
        """As the protocol says; who waits for too long is told."""
        target = local_path(path)
        with told(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            file = target.open("ab")
        with file:
            _lock(file, path)
            yield


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn the system's refusals inside the block into ours."""
    try:
        yield
    except OSError as error:
        raise QueryInterrupted(
            f"{path}: {error.strerror or error}", hint="is there room, and the right to write?"
        ) from error


def occupied(target: str) -> LedgerLost:
    """The error of a move onto a file that holds something else."""
    return LedgerLost(
        f"{target} exists already, with another content",
        hint="was the ledger of its table restored from an older copy? restore the newest one",
    )


def _is_another(origin: Path, goal: Path) -> bool:
    try:
        return not origin.samefile(goal)
    except FileNotFoundError:  # it was moved by somebody else meanwhile
        return False


@contextmanager
def _written(target: Path, data: bytes) -> Iterator[Path]:
    """The bytes in a file beside the target, which is gone afterwards."""
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
