"""Files of a lake in any location, through Arrow's file systems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from pyarrow import fs

from penstock.config import Settings
from penstock.errors import ConfigError, LakeUnavailable, Problem
from penstock.lake.s3 import s3_access
from penstock.spark.files import is_local, local_path

_S3 = ("s3a", "s3")


class StoredFile(NamedTuple):
    """File in the lake: path relative to the lake, size in bytes, and time of the last write."""

    path: str
    size: int
    written: datetime


@dataclass(frozen=True)
class Store:
    """File access for a lake. Every call raises LakeUnavailable if the underlying system fails."""

    location: str
    root: str
    system: fs.FileSystem
    delta_uri: str
    delta_options: dict[str, str] = field(default_factory=dict, repr=False)

    def below(self, directory: str = "") -> list[StoredFile]:
        """Return every file below a directory, recursively, by name.

        A missing directory or a plain file yields none.
        """
        selector = fs.FileSelector(self.full(directory), recursive=True, allow_not_found=True)
        with told(self.location):
            try:
                found = self.system.get_file_info(selector)
            except NotADirectoryError:
                return []
        start = len(self.root) + 1
        return sorted(
            StoredFile(info.path[start:], info.size or 0, info.mtime) for info in found if info.type == fs.FileType.File
        )

    def read(self, path: str) -> bytes:
        """Return the content of an existing file."""
        with told(path), self.system.open_input_file(self.full(path)) as file:
            return bytes(file.read())

    def full(self, path: str) -> str:
        """Return the path in the file system's form."""
        return f"{self.root}/{path}" if path else self.root


def open_store(settings: Settings) -> Store:
    """Open the store for the setting `lake`."""
    location = settings.lake.rstrip("/")
    if is_local(location):
        path = str(local_path(location))
        return Store(location, path, fs.LocalFileSystem(), path)
    scheme, bucket, path = urlsplit(location)[:3]
    if scheme not in _S3:
        hint = "name a directory or s3a://bucket/path; Spark reads other places"
        raise ConfigError([Problem("lake", f"{location} cannot be read without Spark", hint)])
    access = s3_access(settings.s3)
    with told(location):
        system = access.filesystem(settings.timeout)
    return Store(location, f"{bucket}{path}", system, f"s3://{bucket}{path}", access.delta_options(settings.timeout))


@contextmanager
def told(place: str) -> Iterator[None]:
    """Translate errors of the file system into LakeUnavailable."""
    try:
        yield
    except FileNotFoundError as error:
        raise LakeUnavailable(f"{place}: {error}", hint="a writer may have replaced it; ask again") from error
    except OSError as error:
        hint = (
            "is it there, and may you read it? for S3, look at the settings s3.endpoint, s3.access.key, s3.secret.key"
        )
        raise LakeUnavailable(f"{place}: {error.strerror or error}", hint=hint) from error
