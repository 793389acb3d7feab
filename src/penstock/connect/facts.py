"""Whether a database can be captured: facts, and the pure decision what is wrong and which SQL mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class ReplicaIdentity(StrEnum):
    """What a table's log says of the old row, as PostgreSQL's catalogue names it."""

    DEFAULT = "d"
    NOTHING = "n"
    FULL = "f"
    INDEX = "i"


@dataclass(frozen=True)
class ServerFacts:
    """What the server allows, and how much of it is used."""

    wal_level: str
    role: str
    database: str
    may_replicate: bool
    may_create: bool
    may_see_lag: bool
    slots: int
    slots_used: Sequence[str]
    slots_idle: Sequence[str]
    senders: int
    senders_used: int
    publications: Sequence[str]


@dataclass(frozen=True)
class TableFacts:
    """A table, its identity in the log, and what the user may do with it."""

    schema: str
    name: str
    identity: ReplicaIdentity
    has_key: bool
    is_own: bool
    may_read: bool

    @property
    def full_name(self) -> str:
        """As patterns match it, and as topics are named."""
        return f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """As SQL takes it literally."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


@dataclass(frozen=True)
class Finding:
    """One thing that stands in the way, or that one should know, and the SQL that mends it."""

    message: str
    sql: str
    fatal: bool = True


@dataclass(frozen=True)
class Wanted:
    """What a connector will use: its slot, its publication and its tables."""

    slot: str
    publication: str
    tables: Sequence[TableFacts]


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def findings(server: ServerFacts, wanted: Wanted) -> list[Finding]:
    """Everything that is wrong, or worth knowing, before a connector is made."""
    return [*_server_findings(server), *_room_findings(server, wanted), *_rights_findings(server, wanted)] + [
        finding for table in wanted.tables for finding in _table_findings(table, server.role)
    ]


def _server_findings(server: ServerFacts) -> Iterator[Finding]:
    if server.wal_level != "logical":
        yield Finding(
            f"wal_level is {server.wal_level}, so that the log has no changes of rows",
            "ALTER SYSTEM SET wal_level = logical;  -- then restart the server",
        )
    if not server.may_replicate:
        yield Finding(f"{server.role} may not replicate", f"ALTER ROLE {quoted(server.role)} REPLICATION;")
    if not server.may_see_lag:
        yield Finding(
            f"{server.role} may not see statistics, so the lag is known in bytes but not in seconds",
            f"GRANT pg_read_all_stats TO {quoted(server.role)};",
            fatal=False,
        )


def _room_findings(server: ServerFacts, wanted: Wanted) -> Iterator[Finding]:
    if wanted.slot in server.slots_used:
        return
    if len(server.slots_used) >= server.slots:
        drops = "".join(
            f"SELECT pg_drop_replication_slot('{slot}');  -- nobody uses it\n" for slot in server.slots_idle
        )
        more = f"ALTER SYSTEM SET max_replication_slots = {server.slots + 5};  -- then restart the server"
        yield Finding(f"all {server.slots} replication slots are taken", drops + more)
    if server.senders_used >= server.senders:
        yield Finding(
            f"all {server.senders} WAL senders are at work",
            f"ALTER SYSTEM SET max_wal_senders = {server.senders + 5};  -- then restart the server",
        )


def _rights_findings(server: ServerFacts, wanted: Wanted) -> Iterator[Finding]:
    """What the user lacks to make the publication; one that is there was made by somebody who could."""
    foreign = [table.quoted for table in wanted.tables if not table.is_own]
    if wanted.publication in server.publications or not wanted.tables:
        return
    if foreign or not server.may_create:
        what = f"{server.role} does not own {', '.join(foreign)}" if foreign else f"{server.role} may not create"
        every = ", ".join(table.quoted for table in wanted.tables)
        yield Finding(
            f"{what}, so it cannot make the publication {wanted.publication} in {server.database}",
            f"CREATE PUBLICATION {quoted(wanted.publication)} FOR TABLE {every};  -- as owner of the tables",
        )


def _table_findings(table: TableFacts, role: str) -> Iterator[Finding]:
    if not table.may_read:
        yield Finding(
            f"{role} may not read {table.full_name}",
            f"GRANT USAGE ON SCHEMA {quoted(table.schema)} TO {quoted(role)}; "
            f"GRANT SELECT ON {table.quoted} TO {quoted(role)};",
        )
    no_identity = table.identity is ReplicaIdentity.NOTHING or (
        table.identity is ReplicaIdentity.DEFAULT and not table.has_key
    )
    if no_identity:
        why = "no primary key" if not table.has_key else "REPLICA IDENTITY NOTHING"
        yield Finding(
            f"{table.full_name} has {why}: once captured, PostgreSQL refuses its UPDATEs and DELETEs",
            f"ALTER TABLE {table.quoted} REPLICA IDENTITY {'DEFAULT' if table.has_key else 'FULL'};",
        )
    elif not table.has_key:
        yield Finding(
            f"{table.full_name} has no primary key: its changes carry no key, and can be kept only as a log",
            f"ALTER TABLE {table.quoted} ADD PRIMARY KEY (...);",
            fatal=False,
        )
