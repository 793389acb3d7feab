"""`penstock cdc resnapshot`: resend all rows of a captured table while changes continue to flow."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import settings
from penstock.cli.output import err, out, text
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.resnapshot import resnapshot as send_again


def resnapshot(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The capture's name.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table: schema.table.")],
    database: Annotated[str | None, typer.Option(metavar="URL", help="How to reach the database from here.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait until all rows are in Kafka.")] = 3600.0,
) -> None:
    """Resend all rows of a table while changes continue to flow. Repairs mirrors after an ALTER TABLE.

    Creates a small table in the schema `penstock` of the database; `penstock cdc remove` drops the table.

    Example: penstock cdc resnapshot shop public.orders
    """
    chosen = settings()
    with ConnectClient(chosen) as client:
        found = send_again(
            client,
            chosen,
            ConnectorName(name),
            table,
            database=database,
            timeout=wait,
            report=lambda line: err.print(text(line)),
        )
    out.print(
        f"sent all rows of {text(found)} again; once the pipelines have read them, "
        f"[bold]penstock cdc verify {text(name)} {text(found)}[/] compares"
    )
