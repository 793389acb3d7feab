"""The files of a lake, wherever it is: the one module that knows Arrow's file systems and their errors."""

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
    """A file of the lake: its path below the lake, its bytes, and when it was written."""

    path: str
    size: int
    written: datetime


@dataclass(frozen=True)
class Store:
    """A lake's files; every call raises LakeUnavailable where the system below does not answer."""

    location: str
    root: str
    system: fs.FileSystem
    delta_uri: str
    delta_options: dict[str, str] = field(default_factory=dict, repr=False)

    def below(self, directory: str = "") -> list[StoredFile]:
        """Every file below a directory, at any depth, by name; none if it is not there, or a file itself."""
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
        """The content of a file that is there."""
        with told(path), self.system.open_input_file(self.full(path)) as file:
            return bytes(file.read())

    def full(self, path: str) -> str:
        """The path as the file system has it."""
        return f"{self.root}/{path}" if path else self.root


def open_store(settings: Settings) -> Store:
    """The store behind the setting `lake`."""
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
    """Turn the system's refusals inside the block into ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise LakeUnavailable(f"{place}: {error}", hint="a writer may have replaced it; ask again") from error
    except OSError as error:
        hint = (
            "is it there, and may you read it? for S3, look at the settings s3.endpoint, s3.access.key, s3.secret.key"
        )
        raise LakeUnavailable(f"{place}: {error.strerror or error}", hint=hint) from error
