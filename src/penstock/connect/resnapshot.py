"""Send all rows of a captured table again while changes flow, with Debezium's incremental snapshot.

The request is a signal: a row in a table of the database. The connector receives the signal in log order, so the sent
rows are newer than every earlier change. Rows changed during the snapshot are skipped.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from penstock.config import Settings
from penstock.connect.captures import CaptureStatus, Report, capture_status, database_url
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import NOTIFICATIONS, SIGNALS
from penstock.connect.facts import TableFacts
from penstock.connect.postgres import Signal, TableName, connect
from penstock.connect.server import newest_changes, refuse_lost_log
from penstock.errors import ConnectorFailed, OperationTimedOut, UsageError
from penstock.kafka.offsets import Offsets
from penstock.kafka.span import Span, find_span, read_span
from penstock.kafka.topics import ensure_topic
from penstock.schemas import AvroCodec, connect_registry

_LOOK_SECONDS = 0.5
_PLAIN: Final = re.compile(r"[\w-]+")
_UNSAFE: Final = frozenset('()[]{}*+?|\\^"')
_SCANNED: Final = "TABLE_SCAN_COMPLETED"
_ENDS: Final = frozenset({"COMPLETED", "ABORTED", "STOPPED"})
_GOOD: Final = frozenset({"SUCCEEDED", "EMPTY"})

Notification = Mapping[str, Any]


def resnapshot(
    client: ConnectClient,
    settings: Settings,
    name: ConnectorName,
    wanted: str,
    *,
    database: str | None,
    timeout: float,
    report: Report,
) -> TableName:
    """Send all rows of a table again. Return the table after the connector has sent the last row."""
    status = capture_status(client, name, database)
    signals, topic = _channels(status)
    with connect(database or database_url(status.connector)) as reached:
        table = _table(status, wanted, reached.tables())
        own = status.connector.settings
        newest = newest_changes(settings, own["topic.prefix"])
        refuse_lost_log(status.connector.name, newest.position, reached.log_end())  # the log's end is read last
        place = TableName(*signals.split(".", 1))
        reached.make_signals(place, own["publication.name"], own["database.user"])
        ensure_topic(settings, topic)
        ends = find_span(settings, [topic]).ends
        signal = snapshot_signal(table)
        reached.send_signal(place, signal)
    report(f"asked for all rows of {table}")

    def told() -> Iterator[Notification]:
        return notifications(settings, topic, ends)

    _await_end(client, name, signal.id, told, timeout)
    return table


def snapshot_signal(table: TableName) -> Signal:
    """Return the signal that requests all rows of a table.

    Debezium interprets the name first as a regular expression, and then as a quoted name if no table matches. A regular
    expression cannot match a name with spaces.
    """
    name = re.escape(str(table)) if _PLAIN.fullmatch(table.name) else f'"{table.schema}"."{table.name}"'
    data = {"type": "INCREMENTAL", "data-collections": [name]}
    return Signal(uuid.uuid4().hex, "execute-snapshot", json.dumps(data))


def _channels(status: CaptureStatus) -> tuple[str, str]:
    """Return the connector's signal table and notification topic."""
    own, name = status.connector.settings, status.connector.name
    if SIGNALS not in own or NOTIFICATIONS not in own:
        raise UsageError(
            f"{name} has no settings for signals",
            hint="call `penstock cdc add` again with the same options: it gives PostgreSQL connectors such settings",
        )
    if not status.streams:
        failure = status.connector.failure or status.connector.state
        raise ConnectorFailed(f"{name} does not stream: {failure}", hint=f"`penstock cdc status {name}` has more")
    return str(own[SIGNALS]), str(own[NOTIFICATIONS])


def _table(status: CaptureStatus, wanted: str, tables: list[TableFacts]) -> TableName:
    """Return the captured table with this name. The table must have a primary key, to be read in chunks."""
    captured = set(status.tables)
    found = [each for each in tables if each.full_name in captured and wanted in {each.full_name, each.name}]
    if len(found) != 1:
        what = f"is the name of {len(found)} tables" if found else "is not captured"
        raise UsageError(f"{wanted} {what}", hint=f"captured are {', '.join(sorted(captured)) or 'no tables'}")
    [table] = found
    if not table.has_key:
        raise UsageError(f"{table.full_name} has no primary key", hint="rows are read in the order of their keys")
    if _UNSAFE & set(table.full_name):
        raise UsageError(
            f"Debezium cannot be asked for {table.full_name}, whose name has one of {' '.join(sorted(_UNSAFE))}",
            hint=f"send all tables again: `penstock cdc remove {status.connector.name}`, then `penstock cdc add`",
        )
    if table.children:
        raise UsageError(
            f"{table.full_name} has child tables by INHERITS, whose rows would be sent as its own",
            hint=f"send all tables again: `penstock cdc remove {status.connector.name}`, then `penstock cdc add`",
        )
    return TableName(table.schema, table.name)


def _await_end(
    client: ConnectClient,
    name: ConnectorName,
    signal: str,
    told: Callable[[], Iterator[Notification]],
    timeout: float,
) -> None:
    deadline = time.monotonic() + timeout
    while (failure := failure_at_end(signal, told())) is None:
        stopped = client.state(name).failure
        if stopped:
            raise ConnectorFailed(f"{name}: {stopped}", hint=f"`penstock cdc status {name}` has more")
        if time.monotonic() > deadline:
            raise OperationTimedOut(
                f"{name} has not sent all rows after {timeout:g} s",
                hint="it continues in the background, also after a restart; a longer --wait waits for the end",
            )
        time.sleep(_LOOK_SECONDS)
    if failure:
        raise ConnectorFailed(f"{name}: the snapshot ended with {failure}", hint="run the command again")


def failure_at_end(signal: str, told: Iterator[Notification]) -> str | None:
    """Return why the requested snapshot failed, empty if it succeeded, or None before its end."""
    failure = ""
    for each in told:
        if each.get("id") != signal:
            continue
        kind, status = each.get("type"), (each.get("additional_data") or {}).get("status")
        if kind == _SCANNED and status not in _GOOD:
            failure = failure or str(status)
        elif kind in _ENDS:
            return failure or ("" if kind == "COMPLETED" else str(kind))
    return None


def notifications(settings: Settings, topic: str, starts: Offsets) -> Iterator[Notification]:
    """Yield the connector's notifications since these offsets, in any value format."""
    now = find_span(settings, [topic])
    since = {place: starts.get(place, first) for place, first in now.starts.items()}
    since = {place: offset for place, offset in since.items() if offset < now.ends[place]}
    for record in read_span(settings, Span(since, now.ends)):
        if record.value:
            yield _notification(record.value, settings)


def _notification(value: bytes, settings: Settings) -> Notification:
    is_json = value.startswith(b"{")
    content: Any = json.loads(value) if is_json else AvroCodec(connect_registry(settings)).decode(value)
    payload: Notification = content.get("payload", content)
    return payload
