"""PostgreSQL as seen by change capture: server, tables, slots, publications and signals.

Errors of psycopg become `PenstockError`s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import namedtuple_row

from penstock.config.database_url import database_url_problem
from penstock.config.secrets import hide
from penstock.connect.facts import Partition, ReplicaIdentity, ServerFacts, TableFacts
from penstock.errors import ConfigError, DatabaseRefused, DatabaseUnavailable, Problem

SIGNALS_SCHEMA: Final = "penstock"
"""Schema of the signal tables. A signal requests a snapshot from a connector."""

_CONNECT_SECONDS = 10
_REFUSALS = ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry")

_SERVER = """
SELECT current_setting('wal_level') AS wal_level,
       current_user::text AS role,
       current_database()::text AS database,
       r.rolsuper OR r.rolreplication OR EXISTS (
           SELECT 1 FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(oid, 'MEMBER')) AS may_replicate,
       has_database_privilege(current_database(), 'CREATE') AS may_create,
       pg_has_role('pg_read_all_stats', 'USAGE') AS may_see_lag,
       current_setting('max_replication_slots')::int AS slots,
       ARRAY(SELECT slot_name::text FROM pg_replication_slots ORDER BY 1) AS slots_used,
       ARRAY(SELECT slot_name::text FROM pg_replication_slots WHERE NOT active ORDER BY 1) AS slots_idle,
       current_setting('max_wal_senders')::int AS senders,
       (SELECT count(*) FROM pg_stat_replication)::int AS senders_used,
       ARRAY(SELECT pubname::text FROM pg_publication ORDER BY 1) AS publications
FROM pg_roles r WHERE r.rolname = current_user
"""
_TABLES = """
SELECT n.nspname::text AS schema, c.relname::text AS name, c.relreplident::text AS identity,
       EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS has_key,
       pg_has_role(c.relowner, 'USAGE') AS is_own,
       has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE') AS may_read,
       EXISTS (SELECT 1 FROM pg_index i
               WHERE i.indrelid = c.oid AND i.indisreplident AND i.indisprimary) AS index_is_key,
       ARRAY(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attgenerated <> '' AND NOT a.attisdropped ORDER BY a.attnum) AS generated,
       ARRAY(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
             WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey) AND a.attgenerated <> ''
             ORDER BY a.attnum) AS generated_key,
       ARRAY(SELECT cn.nspname || '.' || child.relname
             FROM pg_inherits h JOIN pg_class child ON child.oid = h.inhrelid
             JOIN pg_namespace cn ON cn.oid = child.relnamespace
             WHERE h.inhparent = c.oid AND c.relkind = 'r' ORDER BY 1) AS children
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY 1, 2
"""
_MAY_IDENTIFY = """
SELECT has_function_privilege('pg_control_system()', 'EXECUTE') AND NOT pg_is_in_recovery() AS may_see
"""
# The first eight hex digits of a WAL file name are the timeline.
_IDENTITY = """
SELECT (SELECT system_identifier FROM pg_control_system())::text AS system,
       left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline
"""
_PARTITIONS = """
SELECT rn.nspname::text AS root_schema, root.relname::text AS root, n.nspname::text AS schema, c.relname::text AS name,
       c.relreplident::text AS identity,
       EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS has_key,
       EXISTS (SELECT 1 FROM pg_index i
               WHERE i.indrelid = c.oid AND i.indisreplident AND i.indisprimary) AS index_is_key
FROM pg_class root JOIN pg_namespace rn ON rn.oid = root.relnamespace
CROSS JOIN pg_partition_tree(root.oid) t
JOIN pg_class c ON c.oid = t.relid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE root.relkind = 'p' AND NOT root.relispartition AND c.oid <> root.oid
ORDER BY 1, 2, 3, 4
"""
_SLOT = """
SELECT s.active AND s.confirmed_flush_lsn IS NOT NULL AS streams, s.active_pid, s.wal_status,
       pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint AS behind_bytes,
       pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint AS kept_bytes,
       CASE WHEN r.sent_lsn IS NOT NULL THEN coalesce(r.flush_lag, interval '0') END AS flush_lag,
       clock_timestamp() - (to_jsonb(s) ->> 'inactive_since')::timestamptz AS idle
FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
WHERE s.slot_name = %s
"""
_IS_EMPTY = """
SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = %s) AND NOT EXISTS (
    SELECT 1 FROM pg_depend d JOIN pg_namespace n ON n.oid = d.refobjid AND d.refclassid = 'pg_namespace'::regclass
    WHERE n.nspname = %s)
"""
_PUBLISHED = "SELECT schemaname::text, tablename::text FROM pg_publication_tables WHERE pubname = %s ORDER BY 1, 2"


class TableName(NamedTuple):
    """Schema and name of a table."""

    schema: str
    name: str

    def __str__(self) -> str:
        """Render in Debezium's form."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Signal:
    """Signal for a connector: id, type of work, and details as JSON."""

    id: str
    type: str
    data: str


@dataclass(frozen=True)
class Slot:
    """Replication slot: whether a client streams, the lag, and the size of the log retained for the slot.

    `behind` is the replication lag, or how long an unused slot has been idle. It is None if unknown, for example
    because the user may not read replication statistics. `reader` is the server process of the streaming client. A
    restarted connector gets a new process.
    """

    streams: bool
    behind_bytes: int
    behind: timedelta | None
    kept_bytes: int
    wal_status: str
    reader: int | None = None


@dataclass(frozen=True)
class Address:
    """Address and credentials of a database. The text form omits the password."""

    host: str
    port: int
    user: str
    password: str
    database: str
    sslmode: str | None = None

    def __repr__(self) -> str:
        """Return the URL without the password."""
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"


class Postgres:
    """Connection to a database, in autocommit mode."""

    def __init__(self, connection: psycopg.Connection[Any], address: Address) -> None:
        self._connection = connection
        self.address = address

    def identity(self) -> tuple[str, int] | None:
        """Return system identifier and timeline; None on a standby, or if the user may not read them."""
        [(may_see,)] = self._rows(_MAY_IDENTIFY)
        if not may_see:
            return None
        [(system, timeline)] = self._rows(_IDENTITY)
        return str(system), int(str(timeline), 16)

    def log_end(self) -> int:
        """Return the end of the server's log."""
        [(end,)] = self._rows("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
        return int(end)

    def server(self) -> ServerFacts:
        """Return the server's limits and the user's privileges."""
        [row] = self._rows(_SERVER)
        return ServerFacts(**row._asdict())

    def tables(self) -> list[TableFacts]:
        """Return every capturable table."""
        partitions = defaultdict(list)
        for row in self._rows(_PARTITIONS):
            identity = ReplicaIdentity(row.identity)
            partitions[row.root_schema, row.root].append(
                Partition(row.schema, row.name, identity, has_key=row.has_key, index_is_key=row.index_is_key)
            )
        return [
            TableFacts(
                row.schema,
                row.name,
                ReplicaIdentity(row.identity),
                row.has_key,
                row.is_own,
                row.may_read,
                row.index_is_key,
                tuple(row.generated),
                tuple(row.generated_key),
                tuple(row.children),
                tuple(partitions[row.schema, row.name]),
            )
            for row in self._rows(_TABLES)
        ]

    def slot(self, name: str) -> Slot | None:
        """Return the current state of a slot, or None."""
        found = self._rows(_SLOT, name)
        if not found:
            return None
        row = found[0]
        behind = row.flush_lag if row.streams else row.idle
        return Slot(
            row.streams, row.behind_bytes or 0, behind, row.kept_bytes or 0, row.wal_status or "", row.active_pid
        )

    def published(self, publication: str) -> list[TableName]:
        """Return the tables of a publication."""
        return [TableName(*row) for row in self._rows(_PUBLISHED, publication)]

    def drop_slot(self, name: str) -> None:
        """Drop a slot if it exists. Fails if a client is reading the slot."""
        self._rows("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", name)

    def drop_publication(self, name: str) -> None:
        """Drop a publication if it exists."""
        self._execute("DROP PUBLICATION IF EXISTS {}", sql.Identifier(name))

    def make_signals(self, table: TableName, publication: str, user: str) -> None:
        """Create, grant and publish a connector's signal table. Has no effect if all of this is done."""
        schema, place = sql.Identifier(table.schema), sql.Identifier(*table)
        self._execute("CREATE SCHEMA IF NOT EXISTS {}", schema)
        self._execute("CREATE TABLE IF NOT EXISTS {} (id varchar(64) PRIMARY KEY, type varchar(32), data text)", place)
        self._execute("GRANT USAGE ON SCHEMA {} TO {}", schema, sql.Identifier(user))
        self._execute("GRANT SELECT, INSERT, DELETE ON {} TO {}", place, sql.Identifier(user))
        if table not in self.published(publication):
            self._execute("ALTER PUBLICATION {} ADD TABLE {}", sql.Identifier(publication), place)

    def send_signal(self, table: TableName, signal: Signal) -> None:
        """Insert a signal, and delete earlier signals, which are already in the log."""
        with database_failures(self.address), self._connection.transaction():
            self._connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(*table)))
            insert = sql.SQL("INSERT INTO {} VALUES (%s, %s, %s)").format(sql.Identifier(*table))
            self._connection.execute(insert, (signal.id, signal.type, signal.data))

    def drop_signals(self, table: TableName) -> None:
        """Drop a connector's signal table if it exists, and its schema if empty."""
        self._execute("DROP TABLE IF EXISTS {}", sql.Identifier(*table))
        [(is_empty,)] = self._rows(_IS_EMPTY, table.schema, table.schema)
        if is_empty:
            self._execute("DROP SCHEMA IF EXISTS {}", sql.Identifier(table.schema))

    def _execute(self, statement: LiteralString, *names: sql.Identifier) -> None:
        with database_failures(self.address):
            self._connection.execute(sql.SQL(statement).format(*names))

    def _rows(self, query: str, *values: object) -> Sequence[Any]:
        with database_failures(self.address):
            return self._connection.execute(query, values or None).fetchall()


@contextmanager
def connect(url: str) -> Iterator[Postgres]:
    """Connect for the length of a block."""
    with open_connection(url) as (connection, _):
        yield Postgres(connection, _address(connection, conninfo_to_dict(url)))


@contextmanager
def open_connection(url: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """Open a connection. Also return the URL with secrets hidden."""
    shown = hide("database", url)
    if problem := database_url_problem(url):
        raise ConfigError([Problem("database", f"{shown} is {problem}")])
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        hint = "such as postgresql://user@host:5432/database"
        raise ConfigError([Problem("database", f"{shown} is not a PostgreSQL URL", hint)]) from None
    limited = make_conninfo(url, connect_timeout=given.get("connect_timeout") or _CONNECT_SECONDS)
    with database_failures(shown):
        connection = psycopg.connect(limited, autocommit=True, row_factory=namedtuple_row)
    with connection:
        yield connection, shown


def _address(connection: psycopg.Connection[Any], given: dict[str, Any]) -> Address:
    info = connection.info
    sslmode = given.get("sslmode")
    return Address(info.host, info.port, info.user, info.password, info.dbname, str(sslmode) if sslmode else None)


@contextmanager
def database_failures(address: object) -> Iterator[None]:
    """Translate psycopg errors raised in the block."""
    try:
        yield
    except psycopg.OperationalError as error:
        if _is_refusal(error):
            hint = "check user, password and database, and the server's pg_hba.conf"
            raise DatabaseRefused(f"{address}: {_line(error)}", hint=hint) from error
        raise DatabaseUnavailable(f"{address}: {_line(error)}", hint="is the database running there?") from error
    except psycopg.Error as error:
        raise DatabaseRefused(f"{address}: {_line(error)}", hint="the user may lack a right") from error


def _is_refusal(error: psycopg.OperationalError) -> bool:
    """Whether the server rejected the user or database. Failed logins have no error code."""
    text = str(error)
    return any(sign in text for sign in _REFUSALS)


def _line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
