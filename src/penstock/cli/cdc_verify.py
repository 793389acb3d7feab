"""`penstock cdc verify`: the mirror of a database against the database itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, settings
from penstock.cli.output import counted, out, right, show_json, show_table, text
from penstock.connect.captures import capture_status, database_url
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.postgres import TableName
from penstock.errors import UsageError
from penstock.lake.lake import Lake
from penstock.pipelines.verify.compare import SHOWN, Verdict
from penstock.pipelines.verify.compare import verify as compare


def verify(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The capture's name.")],
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Only this one: schema.table.")] = None,
    mirror: Annotated[str, typer.Option(help="Where the mirrors are in the lake.")] = "{name}/{table}",
    database: Annotated[str | None, typer.Option(metavar="URL", help="How to reach the database from here.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds for which a mirror may be behind.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Compare the mirror with the database at one moment, row by row; exit code 1 if they differ.

    Example: penstock cdc verify shop public.orders
    """
    chosen = settings()
    with ConnectClient(chosen) as client:
        status = capture_status(client, ConnectorName(name), database)
    url = database or database_url(status.connector)
    verdicts = [_verified(url, each, mirror, name, wait) for each in _tables(status.tables, table)]
    if as_json:
        show_json([asdict(verdict) for verdict in verdicts])
    else:
        _show(verdicts)
    if any(verdict.differences for verdict in verdicts):
        raise typer.Exit(code=1)


def _tables(captured: Sequence[str], wanted: str | None) -> list[TableName]:
    chosen = [full for full in captured if wanted in {None, full, full.partition(".")[2]}]
    if not chosen:
        raise UsageError(f"{wanted} is not captured", hint=f"captured are {', '.join(captured) or 'no tables'}")
    return [TableName(*full.split(".", 1)) for full in chosen]


def _verified(url: str, table: TableName, mirror: str, name: str, wait: float) -> Verdict:
    place = mirror.replace("{name}", name).replace("{schema}", table.schema).replace("{table}", table.name)
    lake = Lake(settings())
    return compare(url, table, lambda: lake.table(place), wait)


def _show(verdicts: Sequence[Verdict]) -> None:
    columns = ("table", right("rows"), right("equal"), right("changed since"), right("different"))
    show_table(columns, map(_row, verdicts))
    for verdict in verdicts:
        for each in verdict.differences[:SHOWN]:
            out.print(f"[red]{text(verdict.table)} {text(each.key)}[/] {each.problem}")
            for column, (theirs, ours) in each.columns.items():
                out.print(f"  {text(column)}: database {text(theirs)}, lake {text(ours)}")
        if len(verdict.differences) > SHOWN:
            out.print(f"... and {counted(len(verdict.differences) - SHOWN, 'row')} more")
        if verdict.not_compared:
            out.print(f"[yellow]{text(verdict.table)}[/] not compared: {text(', '.join(verdict.not_compared))}")


def _row(verdict: Verdict) -> tuple[object, ...]:
    wrong = len(verdict.differences)
    shown = f"[red]{wrong:,}[/]" if wrong else "[green]none[/]"
    return text(verdict.table), f"{verdict.rows:,}", f"{verdict.equal:,}", f"{verdict.newer:,}", shown
