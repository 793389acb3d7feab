"""`penstock demo`: events from a POST to an answer, or KOARCH's three programs, each on a stack of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.demo.events import show as show_events
from penstock.cli.demo.koarch import show as show_koarch

app = typer.Typer(invoke_without_command=True, rich_markup_mode="rich")


@app.callback()
def run(
    context: typer.Context,
    number: Annotated[int, typer.Option("--events", min=500, max=1_000_000, help="How many events to send.")] = 20_000,
) -> None:
    """Show events on their way: posted, kept by Kafka, carried by Spark to a topic and a table, asked about.

    Everything runs on free ports in a temporary directory, and is stopped at the end.

    Example: [bold]penstock demo[/]
    """
    if context.invoked_subcommand is None:
        show_events(number)


@app.command("koarch")
def run_koarch() -> None:
    """Show KOARCH's programs: two send, one prints, a wrong record is refused.

    Example: [bold]penstock demo koarch[/]
    """
    show_koarch()
