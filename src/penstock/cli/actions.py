"""`penstock actions`: list actions, show their keys, and create actions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.actions.catalogue import keys_of, offers
from penstock.actions.scaffold import write_action
from penstock.cli.options import JsonOption
from penstock.cli.output import out, show_json, show_table, text

app = typer.Typer(no_args_is_help=True, help="Actions: what there is, what each takes, a new one of your own.")


@app.command("list")
def list_offers(as_json: JsonOption = False) -> None:
    """List the actions, transformers and filters available as `type:` in a pipeline.

    Example: penstock actions list
    """
    found = list(offers())
    if as_json:
        show_json([offer._asdict() for offer in found])
    else:
        show_table(("kind", "type", "from", ""), ([text(cell) for cell in offer] for offer in found))


@app.command()
def show(
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="A name of the list, or module:Class.")],
    as_json: JsonOption = False,
) -> None:
    """Show the `config:` keys of an action or transformer.

    Example: penstock actions show webhook
    """
    keys = keys_of(type_name)
    if as_json:
        show_json([key._asdict() for key in keys])
    elif keys:
        show_table(("key", "default", ""), ([text(cell) for cell in key] for key in keys))
    else:
        out.print(f"{text(type_name)} does not say what it takes")


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The action's name, such as notify_owners.")],
    into: Annotated[Path, typer.Option(help="The folder for its files.")] = Path(),
) -> None:
    """Write a new action with a test and a pipeline, ready to run.

    Example: penstock actions new notify_owners
    """
    written = write_action(name, into)
    for path in written:
        out.print(f"wrote [bold]{text(path)}[/]")
    pipeline = next(path for path in written if path.suffix == ".yaml")
    out.print(
        f"[bold]python -m pytest {text(into)}[/] runs its test, [bold]penstock run {text(pipeline)}[/] the action"
    )
