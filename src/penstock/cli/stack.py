"""`penstock up`, `down` and `status`: the real systems on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, YesOption, settings
from penstock.cli.output import out, show_json, show_table, text
from penstock.cli.stack_run import run_until_stopped, start_in_background
from penstock.cli.stack_view import condition_cell, memory_cell, near
from penstock.config.yaml_file import Value
from penstock.errors import UsageError
from penstock.local.control import check_wipeable, running_stack, stop_stack, wipe_data
from penstock.local.stack import StackOptions
from penstock.local.state import StackState, memory_of

DataOption = Annotated[Path | None, typer.Option(help="The stack's data and logs; default .penstock.")]


def up(
    *,
    brokers: Annotated[int, typer.Option(help="1, or 3 for a cluster that survives the loss of a broker.")] = 1,
    cdc: Annotated[bool, typer.Option("--cdc", help="Also Kafka Connect with Debezium.")] = False,
    s3: Annotated[bool, typer.Option("--s3", help="Also an object store that speaks S3.")] = False,
    secure: Annotated[bool, typer.Option("--secure", help="TLS, users with passwords, and ACLs.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Return once all is ready.")] = False,
    data: DataOption = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A broker setting, KEY=VALUE.")] = None,
    port: Annotated[list[str] | None, typer.Option("--port", help="Another port, as kafka=19092.")] = None,
) -> None:
    """Start Kafka, the schema registry and PostgreSQL on this machine. Ctrl-C stops them.

    The first start downloads the required files, later starts work offline. Brokers 2 and 3 use the next free ports.

    Example: [bold]penstock up --brokers 3 --set num.partitions=3 --set log.retention.ms=86400000[/]
    """
    ports: dict[str, Value] = {f"ports.{name}": number for name, number in _pairs("--port", port).items()}
    chosen = settings(data=str(data) if data else None, **ports)
    options = StackOptions(brokers, cdc=cdc, s3=s3, secure=secure, broker_settings=_pairs("--set", set_))
    if detach:
        start_in_background(options, chosen)
    else:
        run_until_stopped(options, chosen)


def down(
    *,
    data: DataOption = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="Also remove the data, after asking.")] = False,
    yes: YesOption = False,
) -> None:
    """Stop the stack with all its processes.

    Example: [bold]penstock down --wipe[/]
    """
    place = settings(data=str(data) if data else None).data
    if wipe:
        check_wipeable(place)
    if wipe and not yes:
        typer.confirm(f"Remove all topics, schemas and databases in {place}?", abort=True)
    out.print(text(stop_stack(place)))
    if wipe:
        wipe_data(place)
        out.print(text(f"removed {place}"))


def status(*, data: DataOption = None, json: JsonOption = False) -> None:
    """Show the stack's parts with address, state and memory. The exit code is 1 if no stack runs.

    Example: [bold]penstock status --json[/]
    """
    state = running_stack(settings(data=str(data) if data else None).data)
    if json:
        show_json(_as_json(state))
        return
    rows = (
        (part.name, part.version, text(part.address), condition_cell(part), memory_cell(part), text(near(part.log)))
        for part in state.parts
    )
    show_table(("part", "version", "address", "state", "memory", "log"), rows)


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for word in given or ():
        key, equals, value = word.partition("=")
        if not (key.strip() and equals):
            raise UsageError(f"{option} {word}: not KEY=VALUE", hint=f"write {option} name=value")
        pairs[key.strip()] = value.strip()
    return pairs


def _as_json(stack: StackState) -> dict[str, object]:
    parts = [
        {
            "name": part.name,
            "version": part.version,
            "address": part.address,
            "state": part.condition,
            "reason": part.reason,
            "pid": part.process.pid if part.process else None,
            "memory": memory_of(part.process),
            "log": part.log,
        }
        for part in stack.parts
    ]
    return {"state": stack.phase, "pid": stack.supervisor.pid, "addresses": stack.addresses, "parts": parts}
