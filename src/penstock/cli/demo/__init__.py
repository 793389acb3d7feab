"""`penstock demo`: events from a POST to a query, a database mirrored in the lake, or KOARCH's programs."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.demo.events import show as show_events
from penstock.cli.demo.koarch import show as show_koarch
from penstock.cli.demo.shop import show as show_shop

app = typer.Typer(invoke_without_command=True, rich_markup_mode="rich")


@app.callback()
def run(
    context: typer.Context,
    number: Annotated[int, typer.Option("--events", min=500, max=1_000_000, help="How many events to send.")] = 20_000,
) -> None:
    """Show events on their way: sent by POST, stored by Kafka, carried by Spark to a topic and a table, queried.

    Everything runs on free ports in a temporary directory, and is stopped at the end.

    Example: [bold]penstock demo[/]
    """
    if context.invoked_subcommand is None:
        show_events(number)


@app.command("koarch")
def run_koarch() -> None:
    """Show KOARCH's programs: two send, one prints, and an invalid record is rejected.

    Example: [bold]penstock demo koarch[/]
    """
    show_koarch()


@app.command("shop")
def run_shop(
    seconds: Annotated[float, typer.Option(min=0, max=3600, help="How long to watch the traffic.")] = 15.0,
) -> None:
    """Show a shop's database mirrored in the lake under live traffic, and compare both sides.

    Example: [bold]penstock demo shop[/]
    """
    show_shop(seconds)
