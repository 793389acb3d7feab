"""`penstock groups`: list, show and reset consumer groups."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, settings
from penstock.cli.output import counted, out, right, show_json, show_table, text
from penstock.kafka.admin import Admin
from penstock.kafka.groups import Group, Member, Place, describe_group
from penstock.kafka.groups import list_groups as read_groups
from penstock.kafka.reset import Move, parse_target, plan_reset, reset_group

app = typer.Typer(no_args_is_help=True, help="Consumer groups: list, show members and lag, reset offsets.")

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]


@app.command("list")
def list_groups(as_json: JsonOption = False) -> None:
    """List groups with state, members and lag.

    Example: penstock groups list
    """
    with Admin(settings()) as admin:
        groups = read_groups(admin)
    if as_json:
        show_json([_summary_json(group) for group in groups])
    elif groups:
        columns = ("group", "state", "protocol", right("members"), right("lag"))
        show_table(columns, map(_group_row, groups))
    else:
        out.print("no groups, or none that you may see; [bold]penstock consume TOPIC --group NAME[/] makes one")


def _group_row(group: Group) -> tuple[object, ...]:
    return text(group.name), text(group.state), text(group.kind), len(group.members), f"{group.lag:,}"


def _summary_json(group: Group) -> dict[str, object]:
    return {
        "name": group.name,
        "state": group.state,
        "protocol": group.kind,
        "members": len(group.members),
        "lag": group.lag,
    }


@app.command()
def show(group: GroupArgument, as_json: JsonOption = False) -> None:
    """Show a group's coordinator, members, and lag per partition.

    Example: penstock groups show billing
    """
    with Admin(settings()) as admin:
        found = describe_group(admin, group)
    if as_json:
        show_json(_group_json(found))
        return
    assignor = f", assignor {text(found.assignor)}" if found.assignor else ""
    out.print(
        f"[bold]{text(found.name)}[/]: {text(found.state)}, {text(found.kind)} protocol{assignor}, coordinator "
        f"{text(found.coordinator)}, lag {found.lag:,}"
    )
    _show_members(found)
    if found.places:
        columns = ("topic", right("partition"), right("committed"), right("end"), right("lag"))
        show_table(columns, map(_place_row, found.places))


def _show_members(group: Group) -> None:
    if not group.members:
        out.print("no members are running")
        return
    show_table(("member", "client id", "host", "partitions"), [_member_row(member, group) for member in group.members])
    if group.idle:
        partitions = counted(sum(len(member.partitions) for member in group.members), "partition")
        idle = f"{len(group.idle)} of {counted(len(group.members), 'member')} idle"
        out.print(f"[yellow]{idle}[/]: the group reads {partitions}, and each goes to one member only")


def _member_row(member: Member, group: Group) -> tuple[object, ...]:
    partitions = "[yellow]idle[/]" if member in group.idle else text(" ".join(map(str, member.partitions)))
    return text(member.instance_id or member.member_id), text(member.client_id), text(member.host), partitions


def _place_row(place: Place) -> tuple[object, ...]:
    return (
        text(place.partition.topic),
        place.partition.partition,
        *map(_number, (place.committed, place.end, place.lag)),
    )


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _group_json(group: Group) -> dict[str, object]:
    members = [
        {
            **asdict(member),
            "partitions": [str(partition) for partition in member.partitions],
            "idle": member in group.idle,
        }
        for member in group.members
    ]
    places = [
        {**place.partition._asdict(), "committed": place.committed, "end": place.end, "lag": place.lag}
        for place in group.places
    ]
    details = {"assignor": group.assignor, "coordinator": group.coordinator}
    return {**_summary_json(group), **details, "members": members, "partitions": places}


@app.command()
def reset(
    group: GroupArgument,
    to: Annotated[str, typer.Option(metavar="WHERE", help="earliest, latest, a time, an offset, +N or -N.")],
    topic: Annotated[list[str], typer.Option(help="Only this topic; may be repeated.")] = [],  # noqa: B006 - Typer copies defaults
    partition: Annotated[list[int], typer.Option(help="Only this partition; may be repeated.")] = [],  # noqa: B006 - as above
    execute: Annotated[bool, typer.Option("--execute", help="Do it; without this, only show it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Move a group to other offsets. Without --execute, this is a dry run.

    Example: penstock groups reset billing --to '2h ago' --topic orders
    """
    target = parse_target(to)
    with Admin(settings()) as admin:
        found = describe_group(admin, group)
        moves = plan_reset(admin, found, target, topic, partition)
        if execute:
            reset_group(admin, group, moves)
    if as_json:
        show_json({"executed": execute, "moves": [_move_json(move) for move in moves]})
        return
    columns = ("topic", right("partition"), right("before"), right("after"), right("change"), right("to read"))
    show_table(columns, map(_move_row, moves))
    _show_outcome(found, execute=execute)


def _show_outcome(group: Group, *, execute: bool) -> None:
    if execute:
        out.print(f"{text(group.name)} was moved")
        return
    out.print("nothing was changed; add [bold]--execute[/] to do it")
    if group.members:
        members = counted(len(group.members), "running member")
        out.print(f"[yellow]{members}[/]: the group can be moved only after they have stopped")


def _move_row(move: Move) -> tuple[object, ...]:
    change = "-" if move.before is None else f"{move.after - move.before:+,}"
    left = f"{move.end - move.after:,}"
    place = move.partition
    return text(place.topic), place.partition, _number(move.before), f"{move.after:,}", change, left


def _move_json(move: Move) -> dict[str, object]:
    return {**move.partition._asdict(), "before": move.before, "after": move.after, "end": move.end}
