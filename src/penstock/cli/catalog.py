"""`penstock catalog`: search datasets; show schemas, owners, lineage and loads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from penstock.catalog.database import Connection, Database
from penstock.catalog.find.dataset import owners as owners_of
from penstock.catalog.find.dataset import resolve, view
from penstock.catalog.find.lineage import lineage as lineage_of
from penstock.catalog.find.loads import JudgedSeries
from penstock.catalog.find.loads import loads as loads_of
from penstock.catalog.find.search import search as find
from penstock.catalog.rebuild import rebuild as rebuild_tables
from penstock.catalog.staging.retention import prune as prune_staging
from penstock.catalog.telling.outbox import Sender
from penstock.cli.catalog_view import moment, show_dataset, show_owners, show_steps
from penstock.cli.options import JsonOption, YesOption, settings
from penstock.cli.output import ask, counted, out, right, show_json, show_table, text
from penstock.cli.signals import stops_by_signal
from penstock.config.units import parse_time

app = typer.Typer(no_args_is_help=True, help="The catalog: find datasets, and see who owns, loads and uses them.")

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset's URN or its name.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")]


@contextmanager
def _reading() -> Iterator[Connection]:
    with Database(settings()) as database, database.transaction() as connection:
        yield connection


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Parts of names, fields, owners or tags; all must match.")],
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Find datasets by words in their names, fields, owners and tags, best matches first.

    Example: penstock catalog search page view
    """
    with _reading() as connection:
        found = find(connection, " ".join(words), limit)
    if as_json:
        show_json([asdict(item) for item in found])
    elif found:
        rows = (
            (text(item.name), text(item.platform), item.status, _short(item.owners), _short(item.tags))
            for item in found
        )
        show_table(("name", "platform", "status", "owners", "tags"), rows)
    else:
        out.print("nothing matches all of these words")


@app.command()
def show(dataset: DatasetArgument, as_json: JsonOption = False) -> None:
    """Show a dataset: schema with history, owners, last loads, and lineage in both directions.

    Example: penstock catalog show tracking.PageViewEvent
    """
    with _reading() as connection:
        found = view(connection, resolve(connection, dataset))
    if as_json:
        show_json(asdict(found))
    else:
        show_dataset(found)


@app.command()
def owners(dataset: DatasetArgument, as_json: JsonOption = False) -> None:
    """Show a dataset's current and former owners, with their source.

    Example: penstock catalog owners tracking.PageViewEvent
    """
    with _reading() as connection:
        found = owners_of(connection, resolve(connection, dataset))
    if as_json:
        show_json(found)
    else:
        show_owners(found)


@app.command()
def lineage(
    dataset: DatasetArgument,
    depth: Annotated[int, typer.Option(min=1, max=20, help="So many steps in each direction.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Show the sources and destinations of a dataset's data.

    Example: penstock catalog lineage tracking.PageViewEvent --depth 2
    """
    with _reading() as connection:
        found = lineage_of(connection, resolve(connection, dataset), depth)
    if as_json:
        show_json(asdict(found))
        return
    show_steps("comes from", found.upstream)
    show_steps("goes to", found.downstream)


@app.command()
def loads(
    dataset: Annotated[str | None, typer.Argument(metavar="[DATASET]", help="Only this one.")] = None,
    late: Annotated[bool, typer.Option("--late", help="Only loads that are overdue, or that shrank by half.")] = False,
    as_of: Annotated[str, typer.Option(metavar="TIME", help="Look as if it were then.")] = "0s ago",
    as_json: JsonOption = False,
) -> None:
    """Show the last load of each kind into each dataset, and late loads.

    Example: penstock catalog loads --late
    """
    now = parse_time(as_of)
    with _reading() as connection:
        found = loads_of(connection, resolve(connection, dataset) if dataset else None, now=now, late=late)
    if as_json:
        show_json([asdict(item) for item in found])
    elif found:
        columns = ("dataset", "cluster", "operation", "grain", "last", "partition", right("records"), "state")
        show_table(columns, map(_load_row, found))
    else:
        out.print("no load is late" if late else "no loads are known")


@app.command()
def migrate() -> None:
    """Migrate the catalog's tables. Every command also migrates them on first connection.

    Example: penstock catalog migrate
    """
    with Database(settings()) as database:
        applied = database.migrated
    out.print(f"applied {', '.join(applied)}" if applied else "the tables are up to date")


@app.command()
def tell(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on telling, until interrupted.")] = False,
) -> None:
    """Publish the changes queued in the outbox to Kafka, as MetadataChangeLog and PlatformEvent.

    Example: penstock catalog tell
    """
    chosen = settings()
    with Database(chosen) as database, Sender(database, chosen) as sender:
        stop = threading.Event()
        with stops_by_signal(stop):
            if follow:
                sender.run(stop)
        out.print(f"told {counted(sender.send_all(), 'change')}")


@app.command()
def prune(
    before: Annotated[str, typer.Option(metavar="TIME", help="Events older than this: '30d ago', 2026-01-31.")],
) -> None:
    """Remove old events from staging. The catalog keeps the content.

    Example: penstock catalog prune --before '30d ago'
    """
    with Database(settings()) as database:
        counts = prune_staging(database, parse_time(before))
    for table, count in counts.items():
        out.print(f"{table} {counted(count, 'row')} removed")


class RebuildSource(StrEnum):
    """Starting point of a rebuild."""

    STAGING = "staging"
    KAFKA = "kafka"


@app.command()
def rebuild(
    source: Annotated[
        RebuildSource, typer.Option("--from", help="kafka: read the topics of all jobs again first.")
    ] = RebuildSource.STAGING,
    although_incomplete: Annotated[bool, typer.Option(help="Forget what rows said that retention removed.")] = False,
    yes: YesOption = False,
) -> None:
    """Rebuild the catalog's final tables from staging or from Kafka, and publish the resulting differences.

    Example: penstock catalog rebuild --from kafka --yes
    """
    ask(f"Make all final tables anew from {source}?", yes=yes)
    chosen = settings()
    with Database(chosen) as database:
        if source is RebuildSource.KAFKA:
            from penstock.cli.jobs_reread import reread_topics  # noqa: PLC0415 - only this needs Spark

            reread_topics(database, chosen)
        count = rebuild_tables(database, although_incomplete=although_incomplete)
    out.print(f"rebuilt from {counted(count, 'row')} of staging")


def _load_row(item: JudgedSeries) -> tuple[object, ...]:
    state = "[red]late[/]" if item.late else "[yellow]shrunk[/]" if item.shrunk else "ok"
    count = "" if item.record_count is None else f"{item.record_count:,}"
    where = text(item.name), text(item.cluster), text(item.operation), text(item.grain)
    return *where, moment(item.last_time), text(item.last_partition), count, state


def _short(names: list[str]) -> str:
    return text(", ".join(name.rpartition(":")[2] for name in names))
