"""`penstock`: root command, and the only place where errors become exit codes."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.lazy import LazyGroup
from penstock.cli.log_lines import LastResort
from penstock.cli.options import remember
from penstock.cli.output import err, out, show_error
from penstock.errors import PenstockError

INTERRUPTED = 130

app = typer.Typer(
    name="penstock",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"penstock {version('penstock')}")
        raise typer.Exit


@app.callback()
def root(
    settings: Annotated[Path | None, typer.Option(help="Settings file; default penstock.yaml.")] = None,
    bootstrap: Annotated[str | None, typer.Option(help="Kafka's addresses.")] = None,
    registry: Annotated[str | None, typer.Option(help="The schema registry's URLs.")] = None,
    _version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
) -> None:
    """Carry events, database changes and metadata through Kafka.

    Start with: [bold]penstock up[/], then [bold]penstock topics list[/] in another terminal.
    """
    remember(settings, {"bootstrap": bootstrap, "registry": registry})


def main() -> None:
    """Run a command. Penstock's errors end with a message and an exit code, never with a traceback."""
    logging.lastResort = LastResort(logging.WARNING)
    try:
        app()
    except PenstockError as error:
        show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(INTERRUPTED)
