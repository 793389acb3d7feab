"""Settings of Debezium connectors: Penstock's choices, which given settings override."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from penstock.config import Settings
from penstock.connect.client import ConnectorName, ConnectorSettings
from penstock.connect.facts import TableFacts
from penstock.connect.patterns import as_regular_expressions
from penstock.connect.postgres import SIGNALS_SCHEMA, Address
from penstock.errors import UsageError

ValueFormat = Literal["json", "bare-json", "avro"]

POSTGRES: Final = "io.debezium.connector.postgresql.PostgresConnector"
_CLASS: Final = "connector.class"
_OTHERS: Mapping[str, str] = {
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
    "mariadb": "io.debezium.connector.mariadb.MariaDbConnector",
}
SIGNALS: Final = "signal.data.collection"
NOTIFICATIONS: Final = "notification.sink.topic.name"
SERVER: Final = "penstock.server"
"""Connector setting with the server's identity. Debezium ignores it."""
SERVER_HEADER: Final = "penstock.server"
"""Header of each change with the server's identity."""
_TRANSFORMS: Final = "org.apache.kafka.connect.transforms"
_SNAPSHOT_QUERIES: Final = "snapshot.select.statement.overrides"
_DEFAULT_PORT = 3306
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MOST = 48
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"

_COMMON: Mapping[str, str] = {
    "tasks.max": "1",
    # By default Debezium skips truncates, and a mirror would keep the truncated rows.
    "skipped.operations": "none",
    "tombstones.on.delete": "true",
    # Only strings hold exact numbers of any size, and NaN. The source types are sent as schema parameters.
    "decimal.handling.mode": "string",
    "column.propagate.source.type": ".*",
    "time.precision.mode": "microseconds",
    # Heartbeats let the server remove old log even while the captured tables have no traffic.
    "heartbeat.interval.ms": "10000",
}
_OF_POSTGRES: Mapping[str, str] = {
    _CLASS: POSTGRES,
    "plugin.name": "pgoutput",
    "publication.autocreate.mode": "filtered",
    "publish.via.partition.root": "true",
    "interval.handling.mode": "string",
    "hstore.handling.mode": "json",
    "include.unknown.datatypes": "true",
    # `cdc resnapshot` creates a signal table, inserts a signal, and reads the completion from a topic.
    "signal.enabled.channels": "source",
    "notification.enabled.channels": "sink",
}


@dataclass(frozen=True)
class Capture:
    """Capture to be added: connector name, tables, and value format."""

    name: ConnectorName
    tables: tuple[str, ...]
    values: ValueFormat = "json"

    def __post_init__(self) -> None:
        """Reject names that are invalid as topic prefix or slot name."""
        if not _NAME.fullmatch(self.name) or len(self.name) > _MOST:
            raise UsageError(
                f"{self.name!r} cannot name a capture",
                hint=f"use up to {_MOST} letters, digits, '_' and '-', beginning with a letter",
            )

    @property
    def slot(self) -> str:
        """The name of the replication slot and the publication."""
        return f"penstock_{re.sub(r'[^a-z0-9_]', '_', self.name.lower())}"


def postgres_settings(
    capture: Capture,
    address: Address,
    settings: Settings,
    given: ConnectorSettings,
    tables: Sequence[TableFacts] = (),
    *,
    server: str = "",
) -> dict[str, str]:
    """Return all settings of a PostgreSQL connector for the current tables. Given settings win."""
    database = {
        "database.hostname": address.host,
        "database.port": str(address.port),
        "database.user": address.user,
        "database.password": address.password,
        "database.dbname": address.database,
        **({"database.sslmode": address.sslmode} if address.sslmode else {}),
    }
    own = {
        "slot.name": capture.slot,
        "publication.name": capture.slot,
        SIGNALS: f"{SIGNALS_SCHEMA}.{capture.slot}",
        NOTIFICATIONS: f"{capture.name}.notifications",
    }
    chosen = {**_OF_POSTGRES, **own, **_shared(capture, settings), **_of_tables(capture, tables), **database}
    return {**chosen, **_transforms(capture, server), **given}


def _transforms(capture: Capture, server: str) -> dict[str, str]:
    """Return Connect's transforms: drop signal records, and add the server's identity to each change as a header."""
    signals = {
        "predicates": "signals",
        "predicates.signals.type": f"{_TRANSFORMS}.predicates.TopicNameMatches",
        "predicates.signals.pattern": re.escape(f"{capture.name}.{SIGNALS_SCHEMA}.{capture.slot}"),
        "transforms.signals.type": f"{_TRANSFORMS}.Filter",
        "transforms.signals.predicate": "signals",
    }
    if not server:
        return {"transforms": "signals", **signals}
    return {
        "transforms": "signals,server",
        **signals,
        SERVER: server,
        "transforms.server.type": f"{_TRANSFORMS}.InsertHeader",
        "transforms.server.header": SERVER_HEADER,
        "transforms.server.value.literal": server,
    }


def _of_tables(capture: Capture, tables: Sequence[TableFacts]) -> dict[str, str]:
    """Return the table settings.

    Snapshots read partitions only through their table, and child rows only through the child table.
    """
    partitions = [partition.full_name for table in tables for partition in table.partitions]
    parents = [table for table in tables if table.children]
    queries = {f"{_SNAPSHOT_QUERIES}.{table.full_name}": table.own_rows for table in parents}
    named = {_SNAPSHOT_QUERIES: ",".join(table.full_name for table in parents)} if parents else {}
    return {"table.include.list": as_regular_expressions(capture.tables, partitions), **named, **queries}


def other_settings(capture: Capture, url: str, settings: Settings, given: ConnectorSettings) -> dict[str, str]:
    """Return all settings of a MySQL or MariaDB connector, or of a given connector class. Given settings win."""
    parts = urlsplit(url)
    if parts.scheme not in _OTHERS and _CLASS not in given:
        hint = f"{', '.join(['postgresql', *_OTHERS])}; others by --set {_CLASS}=..."
        raise UsageError(f"databases of the kind {parts.scheme or 'nothing'} are not known", hint=hint)
    history = {
        "schema.history.internal.kafka.bootstrap.servers": settings.bootstrap,
        "schema.history.internal.kafka.topic": f"{capture.name}.schema-history",
    }
    database = {
        "database.hostname": parts.hostname or "localhost",
        "database.user": unquote(parts.username or ""),
        "database.password": unquote(parts.password or ""),
        **({"database.port": str(parts.port)} if parts.port else {}),
    }
    own = _own_settings(capture, parts.scheme) if parts.scheme in _OTHERS else {}
    return {**history, **_shared(capture, settings), **own, **database, **given}


def _own_settings(capture: Capture, kind: str) -> dict[str, str]:
    return {
        _CLASS: _OTHERS[kind],
        "database.port": str(_DEFAULT_PORT),
        # Every client of the server's log needs a unique number.
        "database.server.id": str(zlib.crc32(capture.name.encode()) % 2**31 + 1),
    }


def is_postgres(url: str) -> bool:
    """Whether a URL refers to a PostgreSQL database."""
    return urlsplit(url).scheme in {"postgresql", "postgres"}


def _shared(capture: Capture, settings: Settings) -> dict[str, str]:
    tables = {"topic.prefix": capture.name, "table.include.list": as_regular_expressions(capture.tables)}
    return {**_COMMON, **tables, **_converters(capture.values, settings)}


def _converters(values: ValueFormat, settings: Settings) -> dict[str, str]:
    match values:
        case "json" | "bare-json":
            with_schema = "true" if values == "json" else "false"
            chosen = {"": _JSON, ".schemas.enable": with_schema}
        case "avro":
            chosen = {"": _AVRO, **_AVRO_SETTINGS, ".apicurio.registry.url": _apicurio_url(settings)}
    converters = {f"{part}.converter{name}": value for part in ("key", "value") for name, value in chosen.items()}
    return {**converters, **(_AVRO_NAMES if values == "avro" else {})}


_AVRO_SETTINGS: Mapping[str, str] = {
    ".apicurio.registry.as-confluent": "true",
    ".apicurio.registry.use-id": "contentId",
    ".apicurio.registry.headers.enabled": "false",
    ".apicurio.registry.auto-register": "true",
    ".apicurio.registry.find-latest": "true",
}
# Characters that are invalid in Avro names are replaced by '_'.
_AVRO_NAMES: Mapping[str, str] = {"schema.name.adjustment.mode": "avro", "field.name.adjustment.mode": "avro"}


def _apicurio_url(settings: Settings) -> str:
    return f"{settings.registry.split(',')[0].rstrip('/')}/apis/registry/v2"
