"""`penstock lake`: tables of the lake, and SQL queries."""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.answer_view import first_rows, rows_json, show_rows
from penstock.cli.chart import chart as draw
from penstock.cli.lake_compact import compact
from penstock.cli.lake_view import describe, moment, show_described, summary_json
from penstock.cli.options import JsonOption, settings
from penstock.cli.output import counted, err, out, right, show_json, show_table, text
from penstock.cli.working import each_shown
from penstock.config.units import show_size
from penstock.errors import UsageError
from penstock.lake.export import check_target, write_answer
from penstock.lake.lake import Lake
from penstock.lake.question import ask
from penstock.lake.table import Summary, Table

app = typer.Typer(no_args_is_help=True, help="The lake: list its tables, show one, ask questions in SQL.")
app.command()(compact)

LakeOption = Annotated[str | None, typer.Option(help="Where the tables are; default: the setting lake.")]

_ROWS = 50
_CHART_ROWS = 1000
_CHART_WIDTH = 100


@app.command()
def tables(lake: LakeOption = None, as_json: JsonOption = False) -> None:
    """List tables with their format, partitions, files, rows, size and last write.

    Example: penstock lake tables
    """
    opened = Lake(settings(lake=lake))
    found = list(map(_summarized, each_shown(opened.tables(), "reading", lambda table: table.name, "tables")))
    if as_json:
        show_json([summary_json(table, about) for table, about in found])
    elif found:
        columns = (
            "table",
            "format",
            "partitioned by",
            right("partitions"),
            right("files"),
            right("rows"),
            right("size"),
        )
        show_table((*columns, "last write"), starmap(_table_row, found))
    else:
        out.print(f"no tables in {text(opened.location)}; a pipeline with a lake sink makes them")


def _summarized(table: Table) -> tuple[Table, Summary]:
    return table, table.summary()


def _table_row(table: Table, about: Summary) -> tuple[object, ...]:
    numbers = (f"{about.files:,}", f"{about.rows:,}", show_size(about.size))
    folders = f"{about.partitions:,}" if table.partition_by else ""
    return (
        text(table.name),
        table.format,
        text(", ".join(table.partition_by)),
        folders,
        *numbers,
        moment(about.last_write),
    )


@app.command()
def show(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name.")],
    lake: LakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table's columns, writers, last writes, and some rows.

    Example: penstock lake show events
    """
    found = describe(Lake(settings(lake=lake)), table)
    if as_json:
        show_json(found.as_json())
    else:
        show_described(found)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT; tables by name, shop/orders as shop.orders.")],
    limit: Annotated[
        int | None, typer.Option(min=0, help="Show at most so many rows, 0 for all; default 50, in a chart 1000.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write all rows to this file, .csv or .parquet.")] = None,
    chart: Annotated[bool, typer.Option("--chart", help="Draw the numbers after the first column.")] = False,
    lake: LakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a read-only query in DuckDB's SQL. Times are in UTC.

    Example: penstock lake query "SELECT Event_Type, count(*) FROM events GROUP BY 1" --chart
    """
    if (output is not None) + chart + as_json > 1:
        raise UsageError("--output, --chart and --json are three ways to give an answer", hint="choose one of them")
    if output:
        check_target(output)
    with ask(Lake(settings(lake=lake)), sql) as answer:
        if output:
            count = write_answer(answer, output)
            out.print(f"wrote {counted(count, 'row')} to {text(output)}")
            return
        most = limit if limit is not None else _CHART_ROWS if chart else _ROWS
        found = first_rows(answer, most)
    if as_json:
        show_json(rows_json(answer.columns, found.rows))
    elif chart:
        for line in draw(answer.columns, found.rows, min(out.width, _CHART_WIDTH)):
            out.print(line)
    else:
        show_rows(answer.columns, found.rows)
    if found.more:
        err.print(f"[dim]these are the first {counted(most, 'row')}; --limit 0 shows all, --output FILE writes all[/]")
