"""Schema of a captured table, as an event for the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

SCHEMA_EVENTS: Final = "MetadataChangeEvent"
"""Default topic of schema events, which WhereHows' jobs read."""

_ACTOR: Final = "urn:li:corpuser:penstock"
_PLATFORMS: Mapping[str, str] = {"postgresql": "postgres"}


@dataclass(frozen=True)
class TableField:
    """Column: name, type in the database, and whether null is allowed."""

    path: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class TableSchema:
    """Columns of a table. `table` is `<capture>.<schema>.<table>`, `connector` the kind of database."""

    connector: str
    table: str
    fields: tuple[TableField, ...]

    @property
    def urn(self) -> str:
        """URN of the table as a dataset."""
        platform = _PLATFORMS.get(self.connector, self.connector)
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{self.table},PROD)"

    def altered_from(self, before: TableSchema) -> list[str]:
        """Return the columns added or changed in type. Older rows may hold values that the database never sent."""
        known = {each.path: each.type for each in before.fields}
        return [
            f"{each.path} was added"
            if each.path not in known
            else f"{each.path} is {each.type}, was {known[each.path]}"
            for each in self.fields
            if known.get(each.path) != each.type
        ]

    def event(self, at: int) -> dict[str, Any]:
        """Return the schema event for a timestamp in milliseconds."""
        columns = [{"fieldPath": each.path, "type": each.type, "nullable": each.nullable} for each in self.fields]
        return {
            "auditHeader": {"time": at},
            "urn": self.urn,
            "changeAuditStamp": {"actorUrn": _ACTOR, "type": "UPDATE"},
            "schema": {"fieldSchema": columns},
        }


def schema_event_avro() -> str:
    """Return the Avro schema of the event."""
    name = f"{SCHEMA_EVENTS}.avsc"
    return files("penstock.events").joinpath("schemas", name).read_text(encoding="utf-8")
