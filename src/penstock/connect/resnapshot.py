"""Send all rows of a captured table again while its changes flow: Debezium's incremental snapshot, by signal.

The signal is a row of a table in the database. It reaches the connector in the order of the log, so the rows that
follow are newer than every change before it, and the connector leaves out those that change while it reads them.
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
    """Send all rows of a table again; the table, once the connector has sent the last one."""
    status = capture_status(client, name, database)
    signals, topic = _channels(status)
    with connect(database or database_url(status.connector)) as reached:
        table = _table(status, wanted, reached.tables())
        own = status.connector.settings
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
    """The signal that asks for all rows of a table.

    Debezium takes the name for a regular expression first, and for a quoted name if no table matches: it does not find
    a name with spaces by an expression.
    """
    name = re.escape(str(table)) if _PLAIN.fullmatch(table.name) else f'"{table.schema}"."{table.name}"'
    data = {"type": "INCREMENTAL", "data-collections": [name]}
    return Signal(uuid.uuid4().hex, "execute-snapshot", json.dumps(data))


def _channels(status: CaptureStatus) -> tuple[str, str]:
    """The table of the connector's signals, and the topic of its notifications."""
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
    """The captured table of a name, if it can be read in parts, by its primary key."""
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
    """Why the snapshot that a signal asked for failed, or nothing if it did not; None before its end."""
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
    """What a connector has reported since these offsets, in whichever form it writes values."""
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
