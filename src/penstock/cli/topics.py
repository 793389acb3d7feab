"""`penstock topics`: list, create, describe, alter and delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from penstock.cli import plan
from penstock.cli.options import JsonOption, SetOption, YesOption, pairs, settings
from penstock.cli.output import ask, counted, out, right, show_json, show_table, text
from penstock.cli.setting_cells import setting_row, value_cell
from penstock.config.units import parse_limit_bytes, parse_limit_ms, show_size
from penstock.errors import UsageError
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_layouts
from penstock.kafka.configs import Setting, Source, alter_topic_settings, topic_settings
from penstock.kafka.topic_state import PartitionState, TopicState, TopicSummary, describe_topic
from penstock.kafka.topic_state import list_topics as read_topics
from penstock.kafka.topics import add_partitions, create_topic, delete_topic, moved_share

app = typer.Typer(no_args_is_help=True, help="Topics: list, create, describe, alter, delete, and plan partitions.")

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.")]
RetentionOption = Annotated[str | None, typer.Option(help="Keep records for so long: 7d, 36h, forever.")]
RetentionBytesOption = Annotated[str | None, typer.Option(help="Keep so much of each partition: 10GB, unlimited.")]
ReplicationOption = Annotated[int | None, typer.Option(min=1, help="Copies of each partition; default: the brokers'.")]


@app.command("list")
def list_topics(
    as_json: JsonOption = False,
    everything: Annotated[bool, typer.Option("--all", help="Kafka's own topics too.")] = False,
) -> None:
    """List topics with partitions, replication and records.

    Example: penstock topics list
    """
    with Admin(settings()) as admin:
        topics = read_topics(admin, internal=everything)
    if as_json:
        show_json([asdict(topic) for topic in topics])
    elif topics:
        columns = ("topic", right("partitions"), right("replication"), right("records"), "under-replicated")
        show_table(columns, map(_topic_row, topics))
    else:
        out.print("no topics, or none that you may see; [bold]penstock topics create[/] makes one")


def _topic_row(topic: TopicSummary) -> tuple[object, ...]:
    behind = f"[red]{counted(topic.under_replicated, 'partition')}[/]" if topic.under_replicated else "[dim]none[/]"
    return text(topic.name), f"{topic.partitions:,}", topic.replication, f"{topic.records:,}", behind


@app.command()
def create(
    topic: TopicArgument,
    partitions: Annotated[int | None, typer.Option(min=1, help="How many; default: the brokers'.")] = None,
    replication: ReplicationOption = None,
    retention: RetentionOption = None,
    retention_bytes: RetentionBytesOption = None,
    given: SetOption = [],  # noqa: B006 - Typer copies defaults
) -> None:
    """Create a topic.

    Example: penstock topics create orders --partitions 6 --replication 3 --retention 7d --set cleanup.policy=compact
    """
    wanted = _changes(given, retention, retention_bytes)
    with Admin(settings()) as admin:
        create_topic(admin, topic, partitions=partitions, replication=replication, settings=wanted)
        layouts = read_layouts(admin, topic)
    out.print(f"created {text(topic)}: {counted(len(layouts), 'partition')}, replication {len(layouts[0].replicas)}")


@app.command()
def describe(
    topic: TopicArgument,
    as_json: JsonOption = False,
    everything: Annotated[bool, typer.Option("--all", help="All settings, defaults too.")] = False,
) -> None:
    """Show each partition's leader, replicas, offsets and size, and all non-default settings.

    Example: penstock topics describe orders
    """
    with Admin(settings()) as admin:
        state = describe_topic(admin, topic)
    shown = [setting for setting in state.settings if everything or setting.source is not Source.DEFAULT]
    if as_json:
        show_json(_topic_json(state, shown))
        return
    out.print(_headline(state))
    columns = ("leader", "replicas", "in sync", right("first"), right("end"), right("records"), right("size"))
    show_table((right("partition"), *columns), map(_partition_row, state.partitions))
    if shown:
        show_table(("setting", "value", "source"), map(setting_row, shown))
    for note in state.notes:
        out.print(f"[yellow]not shown[/] {text(note)}")


def _headline(state: TopicState) -> str:
    records = sum(part.records or 0 for part in state.partitions)
    sizes = [part.size for part in state.partitions if part.size is not None]
    copies = max(len(part.layout.replicas) for part in state.partitions)
    size = f", {show_size(sum(sizes))} on the leaders' disks" if sizes else ""
    partitions = counted(len(state.partitions), "partition")
    return f"[bold]{text(state.name)}[/]: {partitions}, replication {copies}, {counted(records, 'record')}{size}"


def _partition_row(part: PartitionState) -> tuple[object, ...]:
    layout = part.layout
    leader = "[red]none[/]" if layout.leader is None else layout.leader
    in_sync = " ".join(map(str, layout.in_sync))
    missing = f" [red]missing: {' '.join(map(str, layout.missing))}[/]" if layout.missing else ""
    numbers = ["-" if number is None else f"{number:,}" for number in (part.first, part.end, part.records)]
    size = "-" if part.size is None else show_size(part.size)
    return layout.partition, leader, " ".join(map(str, layout.replicas)), in_sync + missing, *numbers, size


def _topic_json(state: TopicState, shown: list[Setting]) -> dict[str, object]:
    partitions = [
        {**asdict(part.layout), "missing": part.layout.missing}
        | {"first": part.first, "end": part.end, "records": part.records, "size": part.size}
        for part in state.partitions
    ]
    return {
        "name": state.name,
        "partitions": partitions,
        "settings": [asdict(setting) for setting in shown],
        "notes": state.notes,
    }


@app.command()
def alter(
    topic: TopicArgument,
    partitions: Annotated[int | None, typer.Option(min=1, help="More partitions: keys will move.")] = None,
    retention: RetentionOption = None,
    retention_bytes: RetentionBytesOption = None,
    given: SetOption = [],  # noqa: B006 - Typer copies defaults
    unset: Annotated[list[str], typer.Option(metavar="NAME", help="Back to the default; may be repeated.")] = [],  # noqa: B006 - as above
    yes: YesOption = False,
) -> None:
    """Change a topic's settings, or add partitions.

    Example: penstock topics alter orders --retention 30d --partitions 12
    """
    changes: dict[str, str | None] = {**_changes(given, retention, retention_bytes), **dict.fromkeys(unset)}
    if not changes and partitions is None:
        raise UsageError(
            "nothing to change", hint="give --partitions, --retention, --retention-bytes, --set or --unset"
        )
    with Admin(settings()) as admin:
        if partitions is not None:
            _grow(admin, topic, partitions, yes=yes)
        if changes:
            before = topic_settings(admin, topic)
            alter_topic_settings(admin, topic, changes)
            _show_changes(before, topic_settings(admin, topic), changes)


def _grow(admin: Admin, topic: str, partitions: int, *, yes: bool) -> None:
    now = len(read_layouts(admin, topic))
    if partitions > now:
        share = f"{moved_share(now, partitions):.0%} of the keys"
        out.print(
            f"[yellow]keys will move[/]: with {partitions} partitions instead of {now}, {share} go to another one, "
            "and new records of a key may be read before its old ones"
        )
        ask(f"give {text(topic)} {partitions} partitions?", yes=yes)
    add_partitions(admin, topic, partitions)
    out.print(f"{text(topic)} has {counted(partitions, 'partition')}")


def _show_changes(before: list[Setting], after: list[Setting], changes: Mapping[str, str | None]) -> None:
    old = {setting.name: setting.value for setting in before}
    new = [setting for setting in after if setting.name in changes]
    rows = [(text(item.name), value_cell(item.name, old.get(item.name)), *setting_row(item)[1:]) for item in new]
    show_table(("setting", "before", "now", "source"), rows)


@app.command()
def delete(topic: TopicArgument, yes: YesOption = False) -> None:
    """Delete a topic and all its records.

    Example: penstock topics delete orders
    """
    with Admin(settings()) as admin:
        if not yes:
            ask(f"delete {_headline(describe_topic(admin, topic))}?", yes=yes)
        delete_topic(admin, topic)
    out.print(f"deleted {text(topic)}")


def _changes(given: list[str], retention: str | None, retention_bytes: str | None) -> dict[str, str]:
    changes = pairs(given)
    if retention is not None:
        changes["retention.ms"] = str(parse_limit_ms(retention))
    if retention_bytes is not None:
        changes["retention.bytes"] = str(parse_limit_bytes(retention_bytes))
    return changes


app.command()(plan.plan)
