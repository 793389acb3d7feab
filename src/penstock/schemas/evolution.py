"""May a schema follow others? The compatibility levels of a registry, and why they refuse a new version.

BACKWARD asks that the new schema reads what the old one wrote, FORWARD that the old one reads what the new one will
write, FULL both. They ask about the newest version; their TRANSITIVE forms about every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from penstock.schemas.avro.misreading import Kind, Misreading, Roles, misreadings
from penstock.schemas.registry.protocol import RegisteredSchema
from penstock.schemas.schema import Schema


class Compatibility(Enum):
    """The registry's rule for a new version of a subject."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def new_reads_old(self) -> bool:
        """Whether the new schema must read what older versions wrote."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        """Whether older versions must read what the new schema writes."""
        return self.value.startswith(("FORWARD", "FULL"))

    @property
    def is_transitive(self) -> bool:
        """Whether every older version is asked, not only the newest."""
        return self.value.endswith("TRANSITIVE")


@dataclass(frozen=True)
class Reason:
    """Why a new schema may not follow a version: who would read whom, what is wrong and where, and what would help."""

    version: int
    new_reads_old: bool
    misreading: Misreading

    @property
    def direction(self) -> str:
        """Who would read whom, in words."""
        if self.new_reads_old:
            return f"the new schema must read what version {self.version} wrote"
        return f"version {self.version} must read what the new schema writes"

    @property
    def suggestion(self) -> str:
        """What would help."""
        return (_FOR_NEW_READER if self.new_reads_old else _FOR_OLD_READER)[self.misreading.kind]


def reasons_against(new: Schema, old: Iterable[RegisteredSchema], level: Compatibility) -> list[Reason]:
    """Every reason why the level forbids the new schema after the old versions."""
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
