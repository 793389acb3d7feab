"""What can be done with a captured database: add it, look at it, restart it, remove it."""

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
    """How a capture is: its connector, its slot, and tables that match its patterns but are not captured.

    `clashes` are the reasons why some of these tables cannot be captured together. The `server` is the one that
    the database is on, which may not be the one that the capture was `registered` for.
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
        """Whether changes flow: the connector runs, and reads its slot if the database has one."""
        return self.connector.is_running and (self.slot is None or self.slot.streams)

    @property
    def notice(self) -> str:
        """What to know if the database is on another server than before, or was restored; nothing otherwise."""
        return notice(self.connector.name, self.registered, self.server)

    @property
    def reader(self) -> int | None:
        """The process of the database that serves the connector, where there is one."""
        return self.slot.reader if self.slot else None


@dataclass(frozen=True)
class Added:
    """What one should know of the database, and the reader that the connector had with other settings before."""

    notes: list[Finding]
    former_reader: int | None = None


@dataclass(frozen=True)
class Removed:
    """The slot and the publication that were dropped, and why Connect still knows the connector's positions if so."""

    dropped: tuple[str, ...] = ()
    still_known: str = ""


def add_capture(
    client: ConnectClient, settings: Settings, capture: Capture, url: str, given: ConnectorSettings
) -> Added:
    """Check the database and register the connector.

    The same call again changes nothing, or gives the connector its new settings.
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
    """Which server a database is on, as far as its user may know."""
    found = database.identity()
    return ServerIdentity(*found) if found else None


def _registered_for(client: ConnectClient, name: ConnectorName) -> ServerIdentity | None:
    try:
        return identity_of(client.state(name).settings)
    except ConnectorNotFound:
        return None


def captured_tables(database: Postgres, capture: Capture) -> list[TableFacts]:
    """The tables that a capture names; refuses if there are none."""
    tables = [table for table in database.tables() if is_meant(table.full_name, capture.tables)]
    if not tables:
        raise DatabaseUnfit(
            f"{database.address!r} has no table that {', '.join(capture.tables)} names",
            hint="make the tables first, or name others with --tables; only tables that you may see are found",
        )
    return tables


def check_database(database: Postgres, tables: Sequence[TableFacts], wanted: Mapping[str, str]) -> list[Finding]:
    """Refuse a database that cannot be captured, with everything that is wrong and the SQL that mends it."""
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
    # A removal leaves a connector that no settings start again; one a moment ago may not be seen yet.
    client.resume(capture.name)


def _differs(client: ConnectClient, name: ConnectorName, wanted: Mapping[str, str]) -> bool:
    """Whether the connector is there with other settings, so that it will start anew."""
    try:
        known = client.state(name).settings
    except ConnectorNotFound:
        return False
    return dict(known) != {**wanted, "name": name}


def wait_until_streaming(
    client: ConnectClient, name: ConnectorName, database: str | None, timeout: float, former_reader: int | None = None
) -> None:
    """Return when changes flow; a snapshot of all tables comes before that, and may take long.

    Connect answers before it restarts anything: a connector that is to start anew streams for a moment as before, so
    its former reader does not count.
    """
    deadline, failed = time.monotonic() + timeout, 0
    while True:
        status = capture_status(client, name, database)
        if status.streams and (former_reader is None or status.reader != former_reader):
            return
        # A connector may show the failure of the settings before for a moment.
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
    """How a capture is; a `database` says how to reach it from here, where its connector's settings do not."""
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
    """Restart a connector; refuses if it would take in a table whose rows overwrite those of another one."""
    if before and before.clashes:
        raise DatabaseUnfit(
            f"{name}: {'; '.join(before.clashes)}", hint="rename one of the tables, then restart; changes still flow"
        )
    client.restart(name)


def remove_capture(client: ConnectClient, name: ConnectorName, database: str | None, timeout: float) -> Removed:
    """Remove the connector with its positions, and drop its slot and publication.

    The database is reached first, so that no slot is left behind that keeps the server's log for ever. The positions
    go while the connector is still there: removal can be repeated from wherever it was cut off.
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
    """Delete a connector; why Connect still knows its positions, or nothing if it forgot them."""
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
    """Wait for the last task, which writes down its position when it ends."""
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
    """Where the connector's own settings say that the database is."""
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
