"""The schemas that messages of a topic were written with, by the bytes that stand before each record.

Messages with ids of 4, 8 and 16 bytes may stand side by side; `schemas.wire` says how they are told apart.
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
"""How many ids that nobody knows one batch may have: more of them speak of messages that are not Avro."""


@dataclass(frozen=True)
class Writer:
    """How messages begin that one schema wrote, what they are called, and the schema."""

    framed: Framed
    schema: Schema

    @property
    def header(self) -> bytes:
        """The bytes before the record."""
        return self.framed.header


@dataclass
class Writers:
    """Asks the registry for every id once; what it does not know is asked for again after a minute."""

    registry: SchemaRegistry
    widths: Collection[IdWidth] = tuple(IdWidth)
    _known: dict[bytes, Writer] = field(default_factory=dict)
    unknown: Unknown[bytes] = field(default_factory=Unknown)
    """The first bytes of messages whose id the registry did not know when it was last asked."""

    @property
    def known(self) -> Mapping[bytes, Writer]:
        """The writers by header."""
        return MappingProxyType(self._known)

    def learn(self, beginnings: Iterable[bytes]) -> list[bytes]:
        """Find out about messages by their first bytes; gives back those whose id the registry does not know."""
        return [beginning for beginning in beginnings if not self._learn(beginning)]

    def note_unknown(self, beginnings: Iterable[bytes]) -> None:
        """Remember that the registry does not know these; refuses so many that the messages cannot be Avro."""
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
    """Why the reader's schema cannot read what the writer's wrote; empty if it can."""
    return "; ".join(found.message for found in misreadings(reader.type, writer.type))


def newest(registry: SchemaRegistry, subjects: Iterable[str]) -> Schema:
    """The newest schema of the first subject that has one."""
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
