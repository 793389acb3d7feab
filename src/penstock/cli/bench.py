"""`penstock bench`: run the benchmarks of a checkout on a temporary stack."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import out, text
from penstock.cli.own_stack import client_environment, own_stack
from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError
from penstock.local.process import guarded

FOLDER = Path("benchmarks")


def run(
    name: Annotated[
        str | None, typer.Argument(help="One benchmark; default: all of them, one after the other.")
    ] = None,
) -> None:
    """Measure the hot paths, each as a ratio to a ceiling or a peer in the same run.

    The exit code is 1 if a stated ratio was missed.

    Example: [bold]penstock bench codec[/]
    """
    chosen = _chosen(name)
    with own_stack() as client:
        environment = client_environment(client)
        missed = [file.stem for file in chosen if not _passes(file, environment)]
    if missed:
        out.print(f"[bold red]missed[/] {', '.join(missed)}")
        raise typer.Exit(1)


def _chosen(name: str | None) -> list[Path]:
    found = {file.stem: file for file in sorted(FOLDER.glob("[!_]*.py"))}
    if not found:
        raise UsageError("there is no folder benchmarks here", hint="run it in a checkout of Penstock")
    if name is None:
        return list(found.values())
    if name not in found:
        raise UsageError(
            f"there is no benchmark {name}", hint=did_you_mean(name, found, f"there are {', '.join(found)}")
        )
    return [found[name]]


def _passes(file: Path, environment: dict[str, str]) -> bool:
    title = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    out.print(f"\n[bold]{file.stem}[/] {text(title.splitlines()[0] if title else '')}")
    command = guarded([sys.executable, str(file)])
    return subprocess.run(command, env=environment, check=False).returncode == 0
