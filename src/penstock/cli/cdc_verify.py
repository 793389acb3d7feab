"""`penstock cdc verify`: compare a database's mirror with the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, loaded_settings, settings
from penstock.cli.output import counted, err, out, right, show_json, show_table, text
from penstock.cli.run_files import file_environment
from penstock.cli.working import each_shown
from penstock.config.yaml_file import read_to_check
from penstock.connect.captures import CaptureStatus, capture_status, database_url
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.postgres import TableName
from penstock.connect.server import ServerIdentity, is_other, notice
from penstock.errors import UsageError
from penstock.lake.lake import Lake
from penstock.pipelines.verify.compare import SHOWN, Verdict
from penstock.pipelines.verify.compare import verify as compare
from penstock.pipelines.verify.guard import OPEN, Guard


def verify(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The capture's name.")],
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Only this one: schema.table.")] = None,
    mirror: Annotated[str, typer.Option(help="Where the mirrors are in the lake.")] = "{name}/{table}",
    pipeline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The pipeline that makes the mirrors, if it changes rows.")
    ] = None,
    database: Annotated[str | None, typer.Option(metavar="URL", help="How to reach the database from here.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds for which a mirror may be behind.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Compare the mirror with a snapshot of the database, row by row. The exit code is 1 if rows or servers differ.

    With --pipeline, the pipeline's file provides the location of the mirrors, and the effects of transforms and
    `protect`.

    Example: penstock cdc verify shop public.orders
    """
    chosen = settings()
    with ConnectClient(chosen) as client:
        status = capture_status(client, ConnectorName(name), database)
    url = database or database_url(status.connector)
    tables = _tables(status.tables, table)
    place = _by_pipeline(pipeline, tables) if pipeline else _by_name(mirror.replace("{name}", name))
    verdicts = [_verified(url, each, place(each), wait) for each in each_shown(tables, "comparing", str, "tables")]
    if as_json:
        show_json([asdict(verdict) for verdict in verdicts])
    else:
        _show(verdicts)
    is_elsewhere = _show_servers(status, [place(each) for each in tables])
    if is_elsewhere or any(verdict.different for verdict in verdicts):
        repairs = f"[bold]penstock cdc resnapshot {text(name)} TABLE[/]"
        err.print(f"{repairs} sends the rows of a table again, if an ALTER TABLE changed them")
        if pipeline is None:
            err.print("if the pipeline has transforms or protects columns, let its file tell: --pipeline FILE")
        raise typer.Exit(code=1)


def _show_servers(status: CaptureStatus, mirrors: Sequence[_Mirror]) -> bool:
    """Report a capture or mirror of a different server.

    Return True if its positions are invalid on the current server.
    """
    noted = {f"table {each.name}": ServerIdentity.parse(each.lake.server(each.name)) for each in mirrors}
    known = {status.connector.name: status.registered, **noted}
    for name, server in known.items():
        if found := notice(name, server, status.server):
            err.print(f"[red]{text(found)}[/]; see docs/cdc.md, Another server")
    return any(is_other(server, status.server) for server in known.values())


def _tables(captured: Sequence[str], wanted: str | None) -> list[TableName]:
    chosen = [full for full in captured if wanted in {None, full, full.partition(".")[2]}]
    if not chosen:
        raise UsageError(f"{wanted} is not captured", hint=f"captured are {', '.join(captured) or 'no tables'}")
    return [TableName(*full.split(".", 1)) for full in chosen]


@dataclass(frozen=True)
class _Mirror:
    """Location of a table's mirror, and the pipeline's effects on rows."""

    lake: Lake
    name: str
    guard: Guard = OPEN


def _by_name(pattern: str) -> Callable[[TableName], _Mirror]:
    lake = Lake(settings())
    return lambda table: _Mirror(lake, pattern.replace("{schema}", table.schema).replace("{table}", table.name))


def _by_pipeline(file: Path, tables: Sequence[TableName]) -> Callable[[TableName], _Mirror]:
    from penstock.cli.run_data import started_driver  # noqa: PLC0415 - only needed with --pipeline
    from penstock.pipelines import mirrors  # noqa: PLC0415 - as above

    loaded = loaded_settings()
    declared = mirrors.declared_mirror(read_to_check(file, file_environment(loaded)))
    if declared.pipeline.transforms:
        names = [declared.of(table).name for table in tables]
        with started_driver([declared.pipeline], loaded.settings) as driver:
            declared = replace(declared, passages=mirrors.passages(driver.builders(), names))

    def place(table: TableName) -> _Mirror:
        found = declared.of(table)
        return _Mirror(Lake(settings(lake=found.lake)), found.name, found.guard)

    return place


def _verified(url: str, table: TableName, mirror: _Mirror, wait: float) -> Verdict:
    return compare(url, table, lambda: mirror.lake.table(mirror.name), wait, mirror.guard)


def _show(verdicts: Sequence[Verdict]) -> None:
    columns = ("table", right("rows"), right("equal"), right("changed since"), right("different"))
    show_table(columns, map(_row, verdicts))
    for verdict in verdicts:
        for each in verdict.differences[:SHOWN]:
            key = ", ".join(map(str, each.key))
            out.print(f"[red]{text(verdict.table)} {text(key)}[/] {each.problem}")
            for column, (theirs, ours) in each.columns.items():
                out.print(f"  {text(column)}: database {text(theirs)}, lake {text(ours)}")
        if verdict.different > SHOWN:
            out.print(f"... and {counted(verdict.different - SHOWN, 'row')} more")
        if verdict.left_out:
            rows = counted(verdict.left_out, "row")
            out.print(f"[yellow]{text(verdict.table)}[/] {rows} not in the lake: the pipeline may leave rows out")
        if verdict.not_compared:
            out.print(f"[yellow]{text(verdict.table)}[/] not compared: {text(', '.join(verdict.not_compared))}")


def _row(verdict: Verdict) -> tuple[object, ...]:
    shown = f"[red]{verdict.different:,}[/]" if verdict.different else "[green]none[/]"
    return text(verdict.table), f"{verdict.rows:,}", f"{verdict.equal:,}", f"{verdict.newer:,}", shown
