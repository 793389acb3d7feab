"""Compatibility of schema versions: the levels of a registry, and the reasons for rejecting a new version.

BACKWARD requires the new schema to read old data. FORWARD requires the old schema to read new data. FULL requires both.
The plain levels check the newest version; the TRANSITIVE forms check every version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from penstock.schemas.avro.misreading import Kind, Misreading, Roles, misreadings
from penstock.schemas.registry.protocol import RegisteredSchema
from penstock.schemas.schema import Schema


class Compatibility(Enum):
    """Rule of the registry for new versions of a subject."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def new_reads_old(self) -> bool:
        """Whether the new schema must read data of older versions."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        """Whether older versions must read data of the new schema."""
        return self.value.startswith(("FORWARD", "FULL"))

    @property
    def is_transitive(self) -> bool:
        """Whether every older version is checked, not only the newest."""
        return self.value.endswith("TRANSITIVE")


@dataclass(frozen=True)
class Reason:
    """Reason for rejecting a new schema: the version, the direction, and the misreading with its position."""

    version: int
    new_reads_old: bool
    misreading: Misreading

    @property
    def direction(self) -> str:
        """Return the direction in words: the reading and the writing schema."""
        if self.new_reads_old:
            return f"the new schema must read what version {self.version} wrote"
        return f"version {self.version} must read what the new schema writes"

    @property
    def suggestion(self) -> str:
        """Return a suggestion to fix the problem."""
        return (_FOR_NEW_READER if self.new_reads_old else _FOR_OLD_READER)[self.misreading.kind]


def reasons_against(new: Schema, old: Iterable[RegisteredSchema], level: Compatibility) -> list[Reason]:
    """Return every reason why the level rejects the new schema after the old versions."""
    versions = sorted(old, key=lambda registered: registered.version, reverse=True)
    asked = versions if level.is_transitive else versions[:1]
    return [reason for registered in asked for reason in _against(new, registered, level)]


def _against(new: Schema, old: RegisteredSchema, level: Compatibility) -> Iterator[Reason]:
    if level.new_reads_old:
        for found in misreadings(new.type, old.schema.type, Roles(reader="new", writer="old")):
            yield Reason(old.version, new_reads_old=True, misreading=found)
    if level.old_reads_new:
        for found in misreadings(old.schema.type, new.type, Roles(reader="old", writer="new")):
            yield Reason(old.version, new_reads_old=False, misreading=found)


_FOR_NEW_READER = {
    Kind.READER_FIELD_MISSING_DEFAULT_VALUE: "give the new field a default",
    Kind.TYPE_MISMATCH: "keep the type, make a union of both, or add a field of another name with a default",
    Kind.MISSING_ENUM_SYMBOLS: "keep the old symbols, or give the enum a default",
    Kind.MISSING_UNION_BRANCH: "keep the old branch in the union",
    Kind.NAME_MISMATCH: "keep the name, or list the old one in the type's aliases",
    Kind.FIXED_SIZE_MISMATCH: "keep the size, or add a field of another name with a default",
}
_FOR_OLD_READER = {
    Kind.READER_FIELD_MISSING_DEFAULT_VALUE: "keep the field; to drop it later, first give it a default in a version",
    Kind.TYPE_MISMATCH: "keep the type, or add a field of another name with a default",
    Kind.MISSING_ENUM_SYMBOLS: "old readers do not know the new symbols: first give the enum a default in a version",
    Kind.MISSING_UNION_BRANCH: "old readers do not know the new branch: add it as a field of another name instead",
    Kind.NAME_MISMATCH: "keep the name",
    Kind.FIXED_SIZE_MISMATCH: "keep the size, or add a field of another name with a default",
}
