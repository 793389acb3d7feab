"""Writer schemas of a topic's messages, by the bytes before each record.

A topic may mix messages with ids of 4, 8 and 16 bytes; `schemas.wire` describes how they are distinguished.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from penstock.errors import RecordUndecodable, SchemaError, SchemaNotFound
from penstock.schemas import IdWidth, Schema, SchemaRegistry
from penstock.schemas.avro.misreading import misreadings
from penstock.schemas.wire import Framed, candidates
from penstock.spark.learnt import Unknown

MOST_IDS = 10_000
"""Maximum number of unknown ids in a batch. More unknown ids indicate messages that are not Avro."""


@dataclass(frozen=True)
class Writer:
    """Writer schema, with the framing of its messages."""

    framed: Framed
    schema: Schema

    @property
    def header(self) -> bytes:
        """The bytes before the record."""
        return self.framed.header


@dataclass
class Writers:
    """Requests every schema id from the registry once. Missing ids are requested again after a minute."""

    registry: SchemaRegistry
    widths: Collection[IdWidth] = tuple(IdWidth)
    _known: dict[bytes, Writer] = field(default_factory=dict)
    unknown: Unknown[bytes] = field(default_factory=Unknown)
    """First bytes of messages whose id was missing from the registry at the last request."""

    @property
    def known(self) -> Mapping[bytes, Writer]:
        """The writers by header."""
        return MappingProxyType(self._known)

    def learn(self, beginnings: Iterable[bytes]) -> list[bytes]:
        """Look up schemas by the first bytes of messages.

        Return the beginnings with ids missing from the registry.
        """
        return [beginning for beginning in beginnings if not self._learn(beginning)]

    def note_unknown(self, beginnings: Iterable[bytes]) -> None:
        """Remember beginnings with missing ids. Raise RecordUndecodable above `MOST_IDS`."""
        self.unknown.note(beginnings)
        if len(self.unknown) > MOST_IDS:
            raise RecordUndecodable(
                f"the registry does not know {len(self.unknown):,} schema ids of one batch",
                hint="is the topic Avro, and the registry the right one? `format: raw` reads any bytes",
            )

    def _learn(self, beginning: bytes) -> bool:
        possible = (framed for framed in candidates(beginning) if framed.width in self.widths)
        found = [writer for framed in possible if (writer := self._ask(framed)) is not None]
        self._known.update((writer.header, writer) for writer in found)
        return bool(found)

    def _ask(self, framed: Framed) -> Writer | None:
        try:
            return Writer(framed, self.registry.by_id(framed.schema_id))
        except SchemaNotFound:
            return None


def readable(writer: Schema, reader: Schema) -> str:
    """Return why the reader schema cannot read data of the writer schema; empty if possible."""
    return "; ".join(found.message for found in misreadings(reader.type, writer.type))


def newest(registry: SchemaRegistry, subjects: Iterable[str]) -> Schema:
    """Return the newest schema of the first subject that has a schema."""
    names = list(subjects)
    for subject in names:
        try:
            return registry.by_version(subject, "latest").schema
        except SchemaNotFound:
            continue
    raise SchemaError(
        f"the registry has no schema under {' or '.join(names) or 'any subject'}",
        hint="name the schema that rows are to have: `schema: file.avsc` in the source's configuration",
    )
