"""`penstock run`: run data pipelines on Spark, or actions, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import loaded_settings
from penstock.cli.run_files import ActionOptions, DataOptions, SubmitTarget, file_environment, kind_of, read_files
from penstock.errors import UsageError


def run(
    files: Annotated[list[Path], typer.Argument(help="Pipeline files.", show_default=False)],
    *,
    check: Annotated[bool, typer.Option("--check", help="Find every mistake without starting anything.")] = False,
    print_submit: Annotated[
        SubmitTarget | None, typer.Option(help="Data: print the spark-submit line for this kind of cluster, and end.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Serve Prometheus metrics, and /healthz of actions, on this port of localhost.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Actions: show what would be done, commit nothing.")
    ] = False,
    max: Annotated[int | None, typer.Option(min=1, help="Actions: end after so many events.")] = None,  # noqa: A002 - the option's name
    events: Annotated[Path | None, typer.Option(help="Actions: take events from this file, not from Kafka.")] = None,
) -> None:
    """Run pipelines until they are stopped.

    A file with `sinks:` is a data pipeline on Spark, a file with `action:` is an action.
    Ctrl-C and SIGTERM stop between two batches, with all progress saved.

    Example: [bold]penstock run events.yaml[/]
    """
    loaded = loaded_settings(metrics_port=metrics_port)
    found, wrong = read_files(files, file_environment(loaded))
    for_actions = ActionOptions(check=check, metrics_port=metrics_port, dry_run=dry_run, max=max, events=events)
    for_data = DataOptions(check=check, print_submit=print_submit, metrics_port=metrics_port)
    kind = kind_of(found)
    if kind == "action":
        _refuse(print_submit is not None, "--print-submit", "data pipelines")
        from penstock.cli import run_actions  # noqa: PLC0415 - actions start without loading Spark

        raise typer.Exit(run_actions.run(found, wrong, for_actions))
    _refuse(dry_run or max is not None or events is not None, "--dry-run, --max and --events", "actions")
    from penstock.cli import run_data  # noqa: PLC0415 - as above

    raise typer.Exit(run_data.run(found, wrong, for_data))


def _refuse(given: bool, options: str, kind: str) -> None:
    if given:
        raise UsageError(f"{options} is for {kind}", hint=f"leave it out, or name files of {kind}")
