"""`penstock cdc`: databases captured by Kafka Connect."""

from __future__ import annotations

import re
import time
from typing import Annotated

import typer

from penstock.cli.cdc_resnapshot import resnapshot
from penstock.cli.cdc_verify import verify
from penstock.cli.options import JsonOption, SetOption, YesOption, pairs, settings
from penstock.cli.output import ask, counted, err, lines, out, right, show_json, show_table, text
from penstock.config.secrets import hide
from penstock.config.units import show_size
from penstock.connect.captures import (
    CaptureStatus,
    add_capture,
    capture_status,
    remove_capture,
    restart_capture,
    wait_until_streaming,
)
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import Capture, ValueFormat
from penstock.connect.facts import Finding
from penstock.connect.patterns import from_regular_expressions, table_patterns
from penstock.connect.state import RUNNING, ConnectorState, TaskState
from penstock.kafka.admin import Admin
from penstock.kafka.topic_state import TopicSummary, list_topics

app = typer.Typer(no_args_is_help=True, help="Databases whose changes are captured: add, look, restart, remove.")

_TOPIC_SECONDS = 5.0
_LOOK_SECONDS = 0.2

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The capture's name; its topics begin with it.")]
DatabaseOption = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="How to reach the database from here.")
]


@app.command()
def add(
    name: NameArgument,
    database: Annotated[str, typer.Option("--database", metavar="URL", help="postgresql://user:password@host/db")],
    tables: Annotated[str, typer.Option(help="Which tables: 'public.*' or 'shop.orders,shop.customers'.")],
    values: Annotated[ValueFormat, typer.Option(help="json, bare-json (without the schema part) or avro.")] = "json",
    given: SetOption = [],  # noqa: B006 - Typer copies defaults
    wait: Annotated[float, typer.Option(help="Seconds to wait until changes flow; 0 does not wait.")] = 120.0,
) -> None:
    """Check a database, capture its changes, and show the topics. Repeat with other options to change a capture.

    Example: penstock cdc add shop --database postgresql://me:secret@localhost:5432/shop --tables 'public.*'
    """
    chosen, capture = settings(), Capture(ConnectorName(name), table_patterns(tables), values)
    with ConnectClient(chosen) as client:
        added = add_capture(client, chosen, capture, database, pairs(given))
        _show_notes(added.notes)
        if wait:
            wait_until_streaming(client, capture.name, database, wait, added.former_reader)
        status = capture_status(client, capture.name, database)
    out.print(f"[bold]{text(name)}[/] {_condition(status)}: {counted(len(status.tables), 'table')}")
    _show_topics(name, patience=_TOPIC_SECONDS)


def _show_notes(notes: list[Finding]) -> None:
    for note in notes:
        err.print(f"[yellow]note[/]  {text(note.message)}: [bold]{text(note.sql)}[/]")


def _show_topics(prefix: str, patience: float = 0.0) -> None:
    """Show the topics of a capture once the record counts are stable: the first rows reach Kafka with a delay."""
    deadline = time.monotonic() + patience
    with Admin(settings()) as admin:
        topics = _topics(admin, prefix)
        while time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
            before, topics = topics, _topics(admin, prefix)
            if topics and topics == before and all(topic.records for topic in topics):
                break
    if topics:
        show_table(("topic", right("records")), ((text(topic.name), f"{topic.records:,}") for topic in topics))
    else:
        out.print("no topics yet: a table gets its topic with its first row")


def _topics(admin: Admin, prefix: str) -> list[TopicSummary]:
    """Return the topics of tables, such as `shop.public.orders`. `shop.dead` belongs to a pipeline."""
    table = re.compile(rf"{re.escape(prefix)}\..+\..+")
    return [topic for topic in list_topics(admin) if table.fullmatch(topic.name)]


@app.command("list")
def list_captures(as_json: JsonOption = False) -> None:
    """List the connectors of Kafka Connect with their state.

    Example: penstock cdc list
    """
    with ConnectClient(settings()) as client:
        found = client.states()
    if as_json:
        show_json([_connector_json(connector) for connector in found])
    elif found:
        columns = ("name", "connector", "state", right("tasks"), "tables")
        show_table(columns, map(_connector_row, found))
    else:
        out.print("nothing is captured; [bold]penstock cdc add[/] begins")


def _connector_row(connector: ConnectorState) -> tuple[object, ...]:
    running = sum(task.state == RUNNING for task in connector.tasks)
    tables = ",".join(from_regular_expressions(str(connector.settings.get("table.include.list", ""))))
    state = f"[red]failed[/] {text(connector.failure)}" if connector.failure else text(connector.state.lower())
    return text(connector.name), text(connector.kind), state, f"{running}/{len(connector.tasks)}", text(tables)


def _connector_json(connector: ConnectorState) -> dict[str, object]:
    return {
        "name": connector.name,
        "state": connector.state,
        "worker": connector.worker,
        "failure": connector.failure,
        "tasks": [_task_json(task) for task in connector.tasks],
        "settings": {key: hide(key, value) for key, value in sorted(connector.settings.items())},
    }


def _task_json(task: TaskState) -> dict[str, object]:
    return {"number": task.number, "state": task.state, "worker": task.worker, "trace": task.trace}


@app.command()
def status(name: NameArgument, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Show the status, lag and errors of a capture.

    Example: penstock cdc status shop
    """
    with ConnectClient(settings()) as client:
        found = capture_status(client, ConnectorName(name), database)
    if as_json:
        show_json(_status_json(found))
        return
    out.print(f"[bold]{text(name)}[/] {_condition(found)}: {counted(len(found.tables), 'table')}")
    _show_lag(found)
    for task in (task for task in found.connector.tasks if task.trace):
        out.print(f"[red]task {task.number}[/] on {text(task.worker)}: {text(task.reason)}")
        out.print(f"[dim]{lines(task.trace)}[/]")
    if found.missed:
        names = ", ".join(found.missed)
        out.print(
            f"[yellow]not captured yet[/]: {text(names)}; [bold]penstock cdc restart {text(name)}[/] takes in what "
            "changes from then on"
        )
    if found.notice:
        out.print(f"[red]{text(found.notice)}[/]; see docs/cdc.md, Another server")
    for clash in found.clashes:
        out.print(f"[red]not to be captured together[/]: {text(clash)}")
    _show_topics(str(found.connector.settings.get("topic.prefix", name)))


def _condition(status: CaptureStatus) -> str:
    if status.streams:
        return "[green]streams[/]"
    if status.connector.failure:
        return f"[red]has failed[/]: {text(status.connector.failure)}"
    return f"[yellow]does not stream yet[/], its connector is {text(status.connector.state.lower())}"


def _show_lag(status: CaptureStatus) -> None:
    slot = status.slot
    if slot is None:
        return
    seconds = "" if slot.behind is None else f" and {slot.behind.total_seconds():.1f} s"
    out.print(
        f"{show_size(slot.behind_bytes)}{seconds} behind the database, "
        f"which keeps {show_size(slot.kept_bytes)} of its log for it"
    )
    if slot.wal_status not in {"reserved", "extended"}:
        out.print(f"[red]the log is {text(slot.wal_status)}[/]: changes may be gone; the tables need a new snapshot")


def _status_json(status: CaptureStatus) -> dict[str, object]:
    slot = status.slot
    behind = None if slot is None or slot.behind is None else slot.behind.total_seconds()
    return {
        **_connector_json(status.connector),
        "streams": status.streams,
        "behind_bytes": slot.behind_bytes if slot else None,
        "behind_seconds": behind,
        "kept_bytes": slot.kept_bytes if slot else None,
        "tables": status.tables,
        "missed": status.missed,
        "clashes": status.clashes,
        "notice": status.notice,
    }


@app.command()
def restart(
    name: NameArgument,
    database: DatabaseOption = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait until changes flow; 0 does not wait.")] = 120.0,
) -> None:
    """Restart the connector and its tasks. Changes of new matching tables are captured from then on.

    Existing rows of a new table need a new snapshot: `cdc remove`, then `cdc add`.

    Example: penstock cdc restart shop
    """
    with ConnectClient(settings()) as client:
        before = capture_status(client, ConnectorName(name), database) if wait else None
        restart_capture(client, ConnectorName(name), before)
        if before:
            wait_until_streaming(client, ConnectorName(name), database, wait, before.reader)
    out.print(f"restarted {text(name)}")
    if before and before.missed:
        err.print(
            f"[yellow]note[/]  captured from now on: {text(', '.join(before.missed))}; rows that are there already are "
            f"sent by a new snapshot: [bold]penstock cdc remove {text(name)}[/], then [bold]penstock cdc add[/]"
        )


@app.command()
def remove(name: NameArgument, database: DatabaseOption = None, yes: YesOption = False) -> None:
    """Remove the connector, and drop the slot and publication in the database. Topics stay.

    Example: penstock cdc remove shop
    """
    chosen = settings()
    with ConnectClient(chosen) as client:
        client.state(ConnectorName(name))
        ask(f"remove {text(name)} with its slot and publication? A new capture begins with a snapshot", yes=yes)
        removed = remove_capture(client, ConnectorName(name), database, chosen.timeout)
    what = "" if not removed.dropped else ", dropped slot {} and publication {}".format(*removed.dropped)
    out.print(f"removed {text(name)}{what}")
    if removed.still_known:
        err.print(
            f"[yellow]note[/]  Kafka Connect still knows how far {text(name)} was ({text(removed.still_known)}): "
            "to begin with a snapshot, [bold]penstock cdc add[/] needs another name"
        )


app.command()(verify)
app.command()(resnapshot)
