"""`penstock deadletters`: list rejected records with their errors, and replay letters after a fix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.letter_view import letter_row, show_letter
from penstock.cli.options import JsonOption, YesOption, settings
from penstock.cli.output import ask, counted, counting, out, right, show_json, show_json_line, show_table, text
from penstock.cli.signals import ends_by_signal
from penstock.config import Settings
from penstock.config.units import parse_time
from penstock.deadletters.box import Wanted, find_letters, find_one, find_topics, read_letters
from penstock.deadletters.counts import Group, count_letters
from penstock.deadletters.letter import place_given
from penstock.deadletters.lines import letter_json, read_file
from penstock.deadletters.marks import read_marks
from penstock.deadletters.replay import Letters, Order, Tally, plan_replay
from penstock.deadletters.replay import replay as send_back
from penstock.deadletters.targets import find_targets
from penstock.errors import RecordTooLarge, UsageError

app = typer.Typer(no_args_is_help=True, help="Dead letters: count and show what was refused, replay it after a fix.")

PlaceArgument = Annotated[
    str | None, typer.Argument(metavar="PLACE", help="TOPIC/PARTITION/OFFSET of the letter, or of the record refused.")
]
BoxOption = Annotated[
    list[str],
    typer.Option("--letters", metavar="TOPIC", help="A dead-letter topic; default: all named *.dead or *dlq."),
]
PipelineOption = Annotated[str | None, typer.Option(help="Only what this pipeline refused (or collector).")]
CodeOption = Annotated[str | None, typer.Option(help="Only this error, or family of errors: record.invalid, record.")]
TopicOption = Annotated[str | None, typer.Option(help="Only records that came from, or were meant for, this topic.")]
SinceOption = Annotated[
    str | None, typer.Option(metavar="WHEN", help="Only what was refused since: a time, or '2h ago'.")
]


@app.command("list")
def list_letters(
    letters: BoxOption = [],  # noqa: B006 - Typer copies defaults
    pipeline: PipelineOption = None,
    code: CodeOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    limit: Annotated[int, typer.Option(min=0, help="How many of the newest letters to list.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Count dead letters by pipeline, error and origin, and list the newest.

    Example: penstock deadletters list --since '1d ago'
    """
    chosen, wanted = settings(), _wanted(None, pipeline, code, topic, since)
    topics = find_topics(chosen, letters)
    marks = read_marks(chosen)
    found = read_letters(chosen, find_letters(chosen, topics, wanted), wanted)
    groups, newest = count_letters(found, lambda letter: marks.of(letter) is not None, limit)
    if as_json:
        show_json({"counts": list(map(_group_json, groups)), "newest": [letter_json(each) for each in newest]})
    elif groups:
        columns = (
            "topic",
            "pipeline",
            "error",
            "meant for",
            right("letters"),
            right("records"),
            right("replayed"),
            "first",
            "last",
        )
        show_table(columns, map(_group_row, groups))
        if newest:
            show_table(("refused", "letter", "origin", "error", "message"), map(letter_row, newest))
    else:
        where = f"in {', '.join(topics)}" if topics else "and no topic for them, which end in .dead"
        out.print(f"no dead letters {text(where)}")


def _group_row(group: Group) -> tuple[object, ...]:
    names = (group.letters, group.pipeline, group.code, group.topic)
    numbers = (f"{number:,}" for number in (group.count, group.records, group.replayed))
    return *map(text, names), *numbers, text(group.first), text(group.last)


def _group_json(group: Group) -> dict[str, object]:
    return {name: value for name, value in vars(group).items() if name != "seen"}


@app.command()
def show(
    place: PlaceArgument = None,
    letters: BoxOption = [],  # noqa: B006 - as above
    pipeline: PipelineOption = None,
    code: CodeOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line for each letter meant.")] = False,
) -> None:
    """Show a letter with its error, key, value and headers. With --json, print all selected letters for repair.

    Example: penstock deadletters show events.dead/0/17
    """
    chosen, wanted = settings(), _wanted(place, pipeline, code, topic, since)
    topics = find_topics(chosen, letters)
    if as_json:
        for letter in read_letters(chosen, find_letters(chosen, topics, wanted), wanted):
            show_json_line(letter_json(letter))
        return
    if wanted.place is None:
        raise UsageError("which letter?", hint="name its place, as `penstock deadletters list` shows it, or use --json")
    letter = find_one(chosen, topics, wanted)
    show_letter(letter, read_marks(chosen).of(letter))


@app.command()
def replay(
    place: PlaceArgument = None,
    letters: BoxOption = [],  # noqa: B006 - as above
    pipeline: PipelineOption = None,
    code: CodeOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    file: Annotated[
        Path | None, typer.Option(help="Letters from this file: what show --json printed, repaired.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Send there, not to the topic each was meant for.")
    ] = None,
    key_field: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The field of a JSON value that is the key where there is none.")
    ] = None,
    any_topic: Annotated[
        bool, typer.Option("--any-topic", help="Also to topics that a letter's pipeline is not known to read.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Also those that were replayed before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be sent.")] = False,
    yes: YesOption = False,
) -> None:
    """Replay letters to their intended topics, each once.

    A letter goes only to a topic read by its pipeline, according to heartbeats or the name of the dead-letter topic,
    or to a topic named with --topic.
    Replays are recorded in the topic penstock.replays, within the replay's own transaction.

    Example: penstock deadletters replay --pipeline events --code record.transform
    """
    chosen, wanted = settings(), _wanted(place, pipeline, code, topic, since)
    targets = find_targets(chosen, named=[topic] if topic else [], any_topic=any_topic or to is not None)
    order = Order(_meant(chosen, wanted, letters, file), targets, to=to, again=again, key_field=key_field)
    plan = plan_replay(chosen, order)
    _tell(plan, "would be sent" if dry_run else "to send")
    if dry_run or not plan.total:
        return
    ask(f"Send {counted(plan.total, 'letter')}?", yes=yes)
    with ends_by_signal(), counting("letters") as progress:
        task = progress.add_task("sending", total=plan.total)
        done = send_back(chosen, order, lambda count: progress.advance(task, count))
    out.print(f"replayed {counted(done.total, 'letter')}")
    if done.too_large:
        names = ", ".join(sorted(done.too_large))
        raise RecordTooLarge(
            f"{counted(done.too_large.total(), 'letter')} not replayed, larger than {text(names)} allows",
            hint="raise it, such as `penstock topics alter TOPIC --set max.message.bytes=20000000`, and replay again",
        )


def _meant(chosen: Settings, wanted: Wanted, boxes: list[str], file: Path | None) -> Letters:
    """Return a fixed selection of letters. Letters arriving during the preparation of the replay are not included."""
    if file is not None:
        return lambda: filter(wanted.matches, read_file(file))
    span = find_letters(chosen, find_topics(chosen, boxes), wanted)
    return lambda: read_letters(chosen, span, wanted)


def _tell(plan: Tally, what: str) -> None:
    for topic, count in sorted(plan.sent.items()):
        out.print(f"{counted(count, 'letter')} {what} to {text(topic)}")
    if plan.before:
        out.print(f"{counted(plan.before, 'letter')} left out, replayed before; [bold]--again[/] sends them once more")
    if plan.same:
        out.print(f"{counted(plan.same, 'letter')} left out, of the same records as others")
    for topic, count in sorted(plan.refused.items()):
        reason = f"their pipeline is not known to read {text(topic)}"
        out.print(f"{counted(count, 'letter')} left out, {reason}; [bold]--topic {text(topic)}[/] sends them")
    if not plan.total and not plan.before and not plan.refused:
        out.print("no letters are meant; [bold]penstock deadletters list[/] shows what is there")


def _wanted(place: str | None, pipeline: str | None, code: str | None, topic: str | None, since: str | None) -> Wanted:
    return Wanted(place_given(place) if place else None, pipeline, code, topic, parse_time(since) if since else None)
