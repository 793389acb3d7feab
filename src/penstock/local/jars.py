"""Cache of downloaded files, shared by all projects.

A file enters the cache only if its hash matches the lock. Each version of the lock verifies every file once.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.config import Settings
from penstock.errors import DiskFull, JarRefused
from penstock.local.checked import Checked
from penstock.local.files import make_directory
from penstock.local.ivy import Source, retrieve, source_of
from penstock.local.lock import LockedFile, files_of, shipped_lock
from penstock.local.unpack import unpack

_ROOM = 3
_log = logging.getLogger(__name__)
_MIB = 1024 * 1024

OnProgress = Callable[[int, int], None]
"""Progress callback, called with the bytes done and the total bytes."""


class JarCache:
    """Downloads missing files once, then resolves each part's files without network access."""

    def __init__(self, root: Path, source: Source, lock: tuple[LockedFile, ...] | None = None) -> None:
        self._root = root.absolute()
        self._source = source
        self._lock = lock or shipped_lock()
        self._checked = Checked(self._root / "checked", self._lock)

    @classmethod
    def from_settings(cls, settings: Settings) -> JarCache:
        """Create the cache with the directory and download source from the settings."""
        return cls(settings.cache, source_of(settings))

    def missing(self, parts: Iterable[str]) -> tuple[LockedFile, ...]:
        """Return the missing files of these parts, judged by size. `fetch` compares hashes."""
        return tuple(file for file in files_of(parts, self._lock) if not _is_here(self.path(file), file))

    def fetch(self, parts: Iterable[str], on_progress: OnProgress = lambda _done, _total: None) -> None:
        """Download missing files of these parts and unpack archives. Wait if a concurrent process is fetching."""
        wanted = set(parts)
        if not self._damaged(wanted) and not self.missing(wanted) and not self._packed(wanted):
            return
        with _exclusive(self._root / "fetch.lock"):
            self._remove(self._damaged(wanted))
            if missing := self.missing(wanted):
                self._download(missing, on_progress)
            for file in self._packed(wanted):
                unpack(self.path(file), self.unpacked(file))

    def path(self, file: LockedFile) -> Path:
        """Return the path of a file in the cache, whether or not the file exists yet."""
        return self._root / "jars" / file.path

    def classpath(self, part: str) -> tuple[Path, ...]:
        """Return the jars of one part."""
        return tuple(self.path(file) for file in files_of([part], self._lock) if file.coordinate.extension == "jar")

    def unpacked(self, file: LockedFile) -> Path:
        """Return the directory of an archive's content, unpacked or not."""
        return self._root / "unpacked" / file.coordinate.file_name.removesuffix(".tar.gz")

    def home(self, part: str) -> Path:
        """Return the unpacked archive of a part shipped as an archive."""
        archive = next(file for file in files_of([part], self._lock) if file.coordinate.extension == "tar.gz")
        return self.unpacked(archive)

    def _damaged(self, parts: Iterable[str]) -> tuple[LockedFile, ...]:
        """Return cached files with a hash different from the lock's, among files not yet verified against this lock."""
        here = [file for file in files_of(parts, self._lock) if _is_here(self.path(file), file)]
        unchecked = self._checked.missing(here)
        damaged = tuple(file for file in unchecked if sha256_of(self.path(file)) != file.sha256)
        self._checked.add(file for file in unchecked if file not in damaged)
        return damaged

    def _remove(self, damaged: Iterable[LockedFile]) -> None:
        for file in damaged:
            _log.warning("%s is not what the lock names; it is downloaded again", self.path(file))
            shutil.rmtree(self.unpacked(file), ignore_errors=True)
            self.path(file).unlink()

    def _packed(self, parts: Iterable[str]) -> tuple[LockedFile, ...]:
        archives = (file for file in files_of(parts, self._lock) if file.coordinate.extension == "tar.gz")
        return tuple(file for file in archives if not self.unpacked(file).is_dir())

    def _download(self, missing: Sequence[LockedFile], on_progress: OnProgress) -> None:
        total = sum(file.size for file in missing)
        _check_room(self._root, total)
        incoming = self._root / "incoming"
        coordinates = [file.coordinate for file in missing]
        finished = retrieve(coordinates, incoming, self._source, lambda done: on_progress(min(done, total), total))
        for file in missing:
            self._admit(finished / file.path, file)
        shutil.rmtree(incoming)
        on_progress(total, total)

    def _admit(self, arrived: Path, file: LockedFile) -> None:
        found = sha256_of(arrived)
        if found != file.sha256:
            shutil.rmtree(self._root / "incoming")
            raise JarRefused(
                f"{file.coordinate} is not what the lock names: sha256 {found}, not {file.sha256}",
                hint="the repository or mirror gives another file; name another mirror in the settings, or report it",
            )
        place = self.path(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        arrived.replace(place)
        self._checked.add([file])


def sha256_of(path: Path) -> str:
    """Return the SHA-256 hash of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_room(directory: Path, total: int) -> None:
    """Require free space for the download, its copy in Ivy's cache and the unpacked archives."""
    free = shutil.disk_usage(directory).free
    if free < _ROOM * total:
        raise DiskFull(
            f"{free // _MIB} MiB are free for {directory}, and the download needs {_ROOM * total // _MIB} MiB",
            hint="free some room, or name another cache in the settings",
        )


def _is_here(path: Path, file: LockedFile) -> bool:
    try:
        return path.stat().st_size == file.size
    except FileNotFoundError:
        return False


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    make_directory(path.parent)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
