"""Record of verified cache files, so that each file is compared with each version of the lock only once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from penstock.local.lock import LockedFile


class Checked:
    """List of verified coordinates, in a file named after the content of the lock."""

    def __init__(self, directory: Path, lock: Iterable[LockedFile]) -> None:
        content = "\n".join(sorted(f"{file.coordinate} {file.sha256}" for file in lock))
        self._file = directory / hashlib.sha256(content.encode()).hexdigest()

    def missing(self, files: Iterable[LockedFile]) -> tuple[LockedFile, ...]:
        """Return the files not yet compared with this lock."""
        try:
            known = set(self._file.read_text(encoding="ascii").split())
        except OSError:
            known = set()
        return tuple(file for file in files if str(file.coordinate) not in known)

    def add(self, files: Iterable[LockedFile]) -> None:
        """Record files that match the lock. If the cache is read-only, files are compared at every start."""
        found = [f"{file.coordinate}\n" for file in files]
        if not found:
            return
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="ascii") as checked:
                checked.writelines(found)
