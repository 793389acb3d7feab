"""Preflight checks of a database: facts, and pure functions that find problems and the SQL to fix them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_NOT_IN_TOPICS = re.compile(r"[^a-zA-Z0-9._-]")


class ReplicaIdentity(StrEnum):
    """Replica identity of a table: how the log describes the old row. Values as in `pg_class.relreplident`."""

    DEFAULT = "d"
    NOTHING = "n"
    FULL = "f"
    INDEX = "i"


@dataclass(frozen=True)
class ServerFacts:
    """Server limits, their current usage, and the user's privileges."""

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
class Relation:
    """Name of a table or of a partition."""

    schema: str
    name: str

    @property
    def full_name(self) -> str:
        """The name used by patterns and in topic names."""
        return f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """The name quoted for SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


@dataclass(frozen=True)
class Partition(Relation):
    """Partition of a table, with its own replica identity: PostgreSQL does not inherit the table's."""

    identity: ReplicaIdentity
    has_key: bool
    index_is_key: bool = False


@dataclass(frozen=True)
class TableFacts(Relation):
    """Table with its replica identity and the user's privileges.

    If `index_is_key`, the index of the replica identity is the primary key's index. PostgreSQL does not send
    `generated` columns. `children` inherit from the table. `partitions` contains partitions at every depth.
    """

    identity: ReplicaIdentity
    has_key: bool
    is_own: bool
    may_read: bool
    index_is_key: bool = False
    generated: tuple[str, ...] = ()
    generated_key: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()

    @property
    def own_rows(self) -> str:
        """The query for the table's rows without the rows of child tables."""
        return f"SELECT * FROM ONLY {self.quoted}"  # noqa: S608 - names are quoted


@dataclass(frozen=True)
class Finding:
    """Problem or note about a database, with the SQL to fix the problem."""

    message: str
    sql: str
    fatal: bool = True


@dataclass(frozen=True)
class Wanted:
    """Resources that a connector will use: slot, publication and tables."""

    slot: str
    publication: str
    tables: Sequence[TableFacts]


def quoted(name: str) -> str:
    """Quote a name as an SQL identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def findings(server: ServerFacts, wanted: Wanted) -> list[Finding]:
    """Return all problems and notes to report before a connector is created."""
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
    """Yield missing privileges to create the publication. An existing publication needs none."""
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
    yield from _identity_findings(table)
    for partition in table.partitions:
        yield from _partition_findings(table, partition)
    yield from _not_streamed(table)


def _identity_findings(table: TableFacts) -> Iterator[Finding]:
    """Yield problems with the old row in the log entries of UPDATE and DELETE."""
    if _has_no_identity(table):
        why = "no primary key" if not table.has_key else "REPLICA IDENTITY NOTHING"
        yield Finding(
            f"{table.full_name} has {why}: once captured, PostgreSQL refuses its UPDATEs and DELETEs",
            f"ALTER TABLE {table.quoted} REPLICA IDENTITY {'DEFAULT' if table.has_key else 'FULL'};",
        )
    elif _hides_key(table):
        yield Finding(
            f"{table.full_name} has REPLICA IDENTITY USING INDEX beside its primary key: its deletions are sent "
            "without the primary key, so their rows cannot be found",
            f"ALTER TABLE {table.quoted} REPLICA IDENTITY DEFAULT;",
        )
    elif not table.has_key:
        yield Finding(
            f"{table.full_name} has no primary key: its changes carry no key, and can be kept only as a log",
            f"ALTER TABLE {table.quoted} ADD PRIMARY KEY (...);",
            fatal=False,
        )


def _partition_findings(table: TableFacts, partition: Partition) -> Iterator[Finding]:
    """Yield problems of a partition, whose rows are logged with the partition's own replica identity."""
    if _has_no_identity(partition) or _hides_key(partition):
        yield Finding(
            f"{partition.full_name}, a partition of {table.full_name}, has a replica identity without the primary key: "
            "its UPDATEs and DELETEs are refused by PostgreSQL, or sent without the key",
            f"ALTER TABLE {partition.quoted} REPLICA IDENTITY {'DEFAULT' if partition.has_key else 'FULL'};",
        )


def _has_no_identity(table: TableFacts | Partition) -> bool:
    return table.identity is ReplicaIdentity.NOTHING or (
        table.identity is ReplicaIdentity.DEFAULT and not table.has_key
    )


def _hides_key(table: TableFacts | Partition) -> bool:
    return table.identity is ReplicaIdentity.INDEX and table.has_key and not table.index_is_key


def _not_streamed(table: TableFacts) -> Iterator[Finding]:
    """Yield data of a table missing from PostgreSQL's change stream, so that a mirror would differ."""
    if table.generated_key:
        yield Finding(
            f"{table.full_name} has generated columns in its primary key ({', '.join(table.generated_key)}): "
            "PostgreSQL does not send them, so rows cannot be told apart",
            f"-- capture other tables, or give {table.quoted} a primary key of stored columns",
        )
    elif table.generated:
        columns = ", ".join(table.generated)
        excluded = ",".join(f"{table.full_name}.{column}" for column in table.generated)
        yield Finding(
            f"{table.full_name} has generated columns ({columns}): PostgreSQL does not send them, so they are null in "
            "rows that change",
            f"penstock cdc add ... --set column.exclude.list={excluded}",
            fatal=False,
        )
    if table.partitions:
        yield Finding(
            f"{table.full_name} is partitioned: it is captured as one table, and its partitions are not captured as "
            "tables of their own; TRUNCATE, DETACH and DROP of a partition are not sent, and its rows stay in mirrors",
            "DELETE FROM the partition;  -- first: this is sent",
            fatal=False,
        )
    if table.children:
        yield Finding(
            f"{table.full_name} has child tables ({', '.join(table.children)}) by INHERITS: each is a table itself, "
            "and their rows are not in the mirror of the parent",
            f"{table.own_rows};  -- the rows that the mirror has",
            fatal=False,
        )


def clashes(prefix: str, tables: Sequence[TableFacts]) -> list[tuple[str, str, str]]:
    """Return pairs of tables with a common Kafka topic, and the topic.

    Debezium replaces invalid characters in topic names by `_`. Kafka rejects topics whose names differ only in `.` and
    `_`.
    """
    found: dict[str, TableFacts] = {}
    pairs = []
    for table in tables:
        topic = topic_of(prefix, table)
        other = found.setdefault(topic.replace(".", "_"), table)
        if other is not table:
            pairs.append((other.full_name, table.full_name, topic))
    return pairs


def topic_of(prefix: str, table: TableFacts) -> str:
    """Return Debezium's topic name for the changes of a table."""
    return _NOT_IN_TOPICS.sub("_", f"{prefix}.{table.full_name}")


def clash_findings(prefix: str, tables: Sequence[TableFacts]) -> list[Finding]:
    """Return a problem for each pair of tables that would overwrite each other's rows."""
    return [
        Finding(
            f"{one} and {other} have the same Kafka topic, {topic}: their rows would overwrite each other",
            f"-- rename one of the tables, or name only one of {one} and {other} with --tables",
        )
        for one, other, topic in clashes(prefix, tables)
    ]
