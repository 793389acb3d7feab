"""Operations on captured databases: add, check, restart and remove."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from penstock.config import Settings
from penstock.connect.client import ConnectClient, ConnectorName, ConnectorSettings
from penstock.connect.debezium import SIGNALS, Capture, is_postgres, other_settings, postgres_settings
from penstock.connect.facts import Finding, TableFacts, Wanted, clash_findings, findings
from penstock.connect.patterns import from_regular_expressions, is_meant
from penstock.connect.postgres import Postgres, Slot, TableName, connect
from penstock.connect.server import Here, ServerIdentity, identity_of, newest_changes, notice, refuse_other_server
from penstock.connect.state import ConnectorState
from penstock.errors import (
    ConnectorFailed,
    ConnectorNotFound,
    ConnectRefused,
    DatabaseUnfit,
    OperationTimedOut,
    UsageError,
)

Report = Callable[[str], None]

_LOOK_SECONDS = 0.5
_FAILED_LOOKS = 4
_PLACEHOLDER = "${"


@dataclass(frozen=True)
class CaptureStatus:
    """Status of a capture: connector, slot, captured tables, and matching tables not captured yet.

    `clashes` explains why some of the matching tables cannot be captured together. `server` is the database's current
    server, possibly different from the server `registered` with the capture.
    """

    connector: ConnectorState
    slot: Slot | None = None
    tables: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    clashes: tuple[str, ...] = ()
    registered: ServerIdentity | None = None
    server: ServerIdentity | None = None

    @property
    def streams(self) -> bool:
        """Whether changes flow: the connector runs, and reads the slot if there is one."""
        return self.connector.is_running and (self.slot is None or self.slot.streams)

    @property
    def notice(self) -> str:
        """A warning if the database is on a different server or was restored; empty otherwise."""
        return notice(self.connector.name, self.registered, self.server)

    @property
    def reader(self) -> int | None:
        """The database process that serves the connector, if any."""
        return self.slot.reader if self.slot else None


@dataclass(frozen=True)
class Added:
    """Notes about the database, and the process that served the connector with its previous settings."""

    notes: list[Finding]
    former_reader: int | None = None


@dataclass(frozen=True)
class Removed:
    """Dropped slot and publication; also why Connect still stores the connector's offsets, if it does."""

    dropped: tuple[str, ...] = ()
    still_known: str = ""


def add_capture(
    client: ConnectClient, settings: Settings, capture: Capture, url: str, given: ConnectorSettings
) -> Added:
    """Check the database and register the connector.

    Repeating the call has no effect, or applies new settings to the connector.
    """
    if not is_postgres(url):
        _register(client, capture, other_settings(capture, url, settings, given))
        return Added([])
    with connect(url) as database:
        tables, server = captured_tables(database, capture), server_of(database)
        wanted = postgres_settings(capture, database.address, settings, given, tables, server=str(server or ""))
        notes = check_database(database, tables, wanted)
        newest = newest_changes(settings, wanted["topic.prefix"])
        here = Here(server, database.log_end())  # read after the topics: no change of this server is beyond it
        restored = refuse_other_server(capture.name, newest, _registered_for(client, capture.name), here)
        if restored:
            notes.append(Finding(restored, f"penstock cdc verify {capture.name}", fatal=False))
        slot = database.slot(wanted["slot.name"]) if _differs(client, capture.name, wanted) else None
    _register(client, capture, wanted)
    return Added(notes, slot.reader if slot else None)


def server_of(database: Postgres) -> ServerIdentity | None:
    """Return the identity of a database's server, or None if the user may not read it."""
    found = database.identity()
    return ServerIdentity(*found) if found else None


def _registered_for(client: ConnectClient, name: ConnectorName) -> ServerIdentity | None:
    try:
        return identity_of(client.state(name).settings)
    except ConnectorNotFound:
        return None


def captured_tables(database: Postgres, capture: Capture) -> list[TableFacts]:
    """Return the tables of a capture. Raise DatabaseUnfit if there are none."""
    tables = [table for table in database.tables() if is_meant(table.full_name, capture.tables)]
    if not tables:
        raise DatabaseUnfit(
            f"{database.address!r} has no table that {', '.join(capture.tables)} names",
            hint="make the tables first, or name others with --tables; only tables that you may see are found",
        )
    return tables


def check_database(database: Postgres, tables: Sequence[TableFacts], wanted: Mapping[str, str]) -> list[Finding]:
    """Raise DatabaseUnfit with all problems and the SQL to fix them. Return the other findings."""
    found = findings(database.server(), Wanted(wanted["slot.name"], wanted["publication.name"], tables))
    if "topic.naming.strategy" not in wanted:
        found += clash_findings(wanted["topic.prefix"], tables)
    fatal = [finding for finding in found if finding.fatal]
    if fatal:
        reasons = "; ".join(finding.message for finding in fatal)
        mending = "\n".join(finding.sql for finding in fatal)
        raise DatabaseUnfit(f"{database.address!r}: {reasons}", hint=f"run this in the database:\n{mending}")
    return found


def _register(client: ConnectClient, capture: Capture, wanted: Mapping[str, str]) -> None:
    kind = wanted["connector.class"]
    if kind not in client.plugins():
        raise ConnectRefused(f"{client.address} has no plugin {kind}", hint="put it into the workers' plugin.path")
    client.put(capture.name, wanted)
    # An interrupted removal leaves a stopped connector, which new settings do not restart. A recent stop may not be
    # visible yet, so always resume.
    client.resume(capture.name)


def _differs(client: ConnectClient, name: ConnectorName, wanted: Mapping[str, str]) -> bool:
    """Whether the connector exists with different settings, and will therefore restart."""
    try:
        known = client.state(name).settings
    except ConnectorNotFound:
        return False
    return dict(known) != {**wanted, "name": name}


def wait_until_streaming(
    client: ConnectClient, name: ConnectorName, database: str | None, timeout: float, former_reader: int | None = None
) -> None:
    """Return when changes flow. The snapshot of all tables comes first and may take long.

    Connect answers before restarting anything: a connector about to restart keeps streaming for a moment, so the former
    reader does not count.
    """
    deadline, failed = time.monotonic() + timeout, 0
    while True:
        status = capture_status(client, name, database)
        if status.streams and (former_reader is None or status.reader != former_reader):
            return
        # A connector may briefly report the failure of its previous settings.
        failed = failed + 1 if status.connector.failure else 0
        if failed >= _FAILED_LOOKS:
            raise ConnectorFailed(f"{name}: {status.connector.failure}", hint=f"`penstock cdc status {name}` has all")
        if time.monotonic() > deadline:
            raise OperationTimedOut(
                f"{name} does not stream after {timeout:g} s: it is {status.connector.state}",
                hint="a large snapshot takes its time, and so does a transaction that is open in any database of the "
                f"server; `penstock cdc status {name}` shows when it streams",
            )
        time.sleep(_LOOK_SECONDS)


def capture_status(client: ConnectClient, name: ConnectorName, database: str | None = None) -> CaptureStatus:
    """Return the status of a capture.

    `database` is the URL to reach the database from here, if the connector's settings do not work here.
    """
    connector = client.state(name)
    if "slot.name" not in connector.settings:
        return CaptureStatus(connector)
    with _database_of(connector, database) as reached:
        slot = reached.slot(connector.settings["slot.name"])
        server = server_of(reached)
        signals = connector.settings.get(SIGNALS)
        published = reached.published(connector.settings["publication.name"])
        captured = [str(table) for table in published if str(table) != signals]
        patterns = from_regular_expressions(connector.settings.get("table.include.list", ""))
        matching = [
            table for table in reached.tables() if is_meant(table.full_name, patterns) and table.full_name != signals
        ]
    missed = tuple(table.full_name for table in matching if table.full_name not in captured)
    clashing = clash_findings(connector.settings["topic.prefix"], matching)
    return CaptureStatus(
        connector,
        slot,
        tuple(captured),
        missed,
        tuple(finding.message for finding in clashing),
        identity_of(connector.settings),
        server,
    )


def restart_capture(client: ConnectClient, name: ConnectorName, before: CaptureStatus | None) -> None:
    """Restart a connector. Raise DatabaseUnfit if a new table would overwrite rows of a captured table."""
    if before and before.clashes:
        raise DatabaseUnfit(
            f"{name}: {'; '.join(before.clashes)}", hint="rename one of the tables, then restart; changes still flow"
        )
    client.restart(name)


def remove_capture(client: ConnectClient, name: ConnectorName, database: str | None, timeout: float) -> Removed:
    """Remove the connector with its offsets, and drop slot and publication.

    The database is contacted first, because an abandoned slot would retain the server's log forever. Offsets are
    deleted before the connector, so an interrupted removal can be repeated.
    """
    connector = client.state(name)
    if "slot.name" not in connector.settings:
        return Removed(still_known=_delete(client, name, timeout))
    slot, publication = connector.settings["slot.name"], connector.settings["publication.name"]
    with _database_of(connector, database) as reached:
        still_known = _delete(client, name, timeout)
        _wait_until_free(reached, slot, timeout)
        reached.drop_slot(slot)
        reached.drop_publication(publication)
        if SIGNALS in connector.settings:
            reached.drop_signals(TableName(*str(connector.settings[SIGNALS]).split(".", 1)))
    return Removed((slot, publication), still_known)


def _delete(client: ConnectClient, name: ConnectorName, timeout: float) -> str:
    """Delete a connector. Return why Connect still stores the offsets; empty if they are deleted."""
    refusal = ""
    try:
        client.stop(name)
        _wait_until_stopped(client, name, timeout)
        client.forget(name)
    except (ConnectorNotFound, ConnectRefused) as error:
        refusal = str(error)
    client.delete(name)
    return refusal


def _wait_until_stopped(client: ConnectClient, name: ConnectorName, timeout: float) -> None:
    """Wait until the last task has ended and stored its offset."""
    deadline = time.monotonic() + timeout
    while not (connector := client.state(name)).is_stopped:
        if time.monotonic() > deadline:
            raise OperationTimedOut(
                f"{name} does not stop within {timeout:g} s: it is {connector.state}",
                hint=f"`penstock cdc remove {name}` goes on with it",
            )
        time.sleep(_LOOK_SECONDS)


def _wait_until_free(database: Postgres, slot: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while (found := database.slot(slot)) is not None and found.streams:
        if time.monotonic() > deadline:
            raise OperationTimedOut(
                f"the slot {slot} is still read after {timeout:g} s", hint=f"SELECT pg_drop_replication_slot('{slot}');"
            )
        time.sleep(_LOOK_SECONDS)


@contextmanager
def _database_of(connector: ConnectorState, given: str | None) -> Iterator[Postgres]:
    with connect(given or database_url(connector)) as database:
        yield database


def database_url(connector: ConnectorState) -> str:
    """Return the database URL according to the connector's settings."""
    settings = connector.settings
    password = str(settings.get("database.password", ""))
    if password.startswith(_PLACEHOLDER):
        raise UsageError(
            f"the password of {connector.name} is known to Kafka Connect alone",
            hint="say how to reach the database: --database postgresql://user:password@host:port/database",
        )
    user = quote(str(settings["database.user"]), safe="")
    secret = f":{quote(password, safe='')}" if password else ""
    more = {"sslmode": settings["database.sslmode"]} if "database.sslmode" in settings else {}
    place = f"{settings['database.hostname']}:{settings.get('database.port', 5432)}/{settings['database.dbname']}"
    return f"postgresql://{user}{secret}@{place}" + (f"?{urlencode(more)}" if more else "")
