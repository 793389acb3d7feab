"""The few file operations that state, ledgers and tables rest on; here for paths of this machine."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from penstock.errors import QueryInterrupted


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

    def below(self, directory: str) -> list[FoundFile]:
        """Every file below a directory, at any depth, by name; none if it is not there."""
        ...

    def move(self, source: str, target: str) -> None:
        """Move a file; nothing happens if it was moved before, also if that was interrupted half way."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it, if it is there."""
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
        target = local_path(path)
        new = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.new")
        with told(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _write_durably(new, data)
                new.replace(target)
            finally:
                new.unlink(missing_ok=True)

    def below(self, directory: str) -> list[FoundFile]:
        """As the protocol says."""
        root = local_path(directory)
        with told(directory):
            found = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
            return sorted(FoundFile(str(path.relative_to(root)), path.stat().st_size) for path in found)

    def move(self, source: str, target: str) -> None:
        """As the protocol says."""
        origin, goal = local_path(source), local_path(target)
        with told(target):
            goal.parent.mkdir(parents=True, exist_ok=True)
            try:
                origin.replace(goal)
            except FileNotFoundError:
                if not goal.exists():
                    raise

    def remove(self, path: str) -> None:
        """As the protocol says."""
        target = local_path(path)
        with told(path):
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn the system's refusals inside the block into ours."""
    try:
        yield
    except OSError as error:
        raise QueryInterrupted(
            f"{path}: {error.strerror or error}", hint="is there room, and the right to write?"
        ) from error


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
