"""Lock of all downloaded files of the local stack: parts, coordinate, hash and size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from penstock.errors import LocalError

LOCK_FILE = "jars.lock"
_FIELDS = 4
_COORDINATE_FIELDS = (3, 4)


@dataclass(frozen=True)
class Coordinate:
    """Maven file, written `organisation:name:version[:classifier]@extension`."""

    organisation: str
    name: str
    version: str
    classifier: str = ""
    extension: str = "jar"

    def __str__(self) -> str:
        """Return the single-word form used in the lock file and messages."""
        fields = (self.organisation, self.name, self.version, self.classifier)
        return ":".join(field for field in fields if field) + f"@{self.extension}"

    @property
    def file_name(self) -> str:
        """Name of the file in a Maven repository."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"


@dataclass(frozen=True)
class LockedFile:
    """One file in the lock."""

    parts: frozenset[str]
    coordinate: Coordinate
    sha256: str
    size: int

    @property
    def path(self) -> PurePosixPath:
        """Path of the file below the cache's directory of jars."""
        return PurePosixPath(self.coordinate.organisation, self.coordinate.file_name)

    def __str__(self) -> str:
        """Return the file's line in the lock."""
        return f"{','.join(sorted(self.parts))} {self.coordinate} {self.sha256} {self.size}"


def parse_coordinate(text: str) -> Coordinate:
    """Parse `organisation:name:version[:classifier]@extension`."""
    names, _, extension = text.partition("@")
    fields = names.split(":")
    if len(fields) not in _COORDINATE_FIELDS or not extension:
        raise LocalError(f"{text!r} is not organisation:name:version[:classifier]@extension")
    organisation, name, version, *classifier = fields
    return Coordinate(organisation, name, version, "".join(classifier), extension)


def parse_lock(text: str) -> tuple[LockedFile, ...]:
    """Parse a lock. Each line is `parts coordinate sha256 size`; `#` starts a comment."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return tuple(_locked_file(fields) for fields in lines if fields)


def _locked_file(fields: list[str]) -> LockedFile:
    if len(fields) != _FIELDS or not fields[3].isdigit():
        raise LocalError(
            f"{LOCK_FILE}: {' '.join(fields)!r} is not `parts coordinate sha256 size`", hint="install penstock again"
        )
    parts, coordinate, sha256, size = fields
    return LockedFile(frozenset(parts.split(",")), parse_coordinate(coordinate), sha256, int(size))


@cache
def shipped_lock() -> tuple[LockedFile, ...]:
    """Return the lock shipped with this version of Penstock."""
    return parse_lock(files("penstock.local").joinpath(LOCK_FILE).read_text(encoding="utf-8"))


def files_of(parts: Iterable[str], lock: tuple[LockedFile, ...] | None = None) -> tuple[LockedFile, ...]:
    """Return the files needed by any of these parts, without duplicates."""
    wanted = set(parts)
    return tuple(file for file in (lock or shipped_lock()) if file.parts & wanted)
