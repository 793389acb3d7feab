"""`penstock consume`: print records, for people or as JSON lines."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Annotated

import typer

from penstock import Consumer, ConsumerRecord
from penstock.cli.options import JsonOption, settings
from penstock.cli.output import err, out, text
from penstock.cli.record_view import json_line, pretty_line
from penstock.cli.signals import ends_by_signal
from penstock.errors import RecordUndecodable, UsageError
from penstock.kafka.decoding import ReadKeyType

COMMITTED = "committed"
_FROM_HELP = (
    "earliest, latest, committed (the group's place) or a time; default: committed with --group, else earliest."
)


def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="Names of topics, or a pattern: '^orders-'.")],
    start: Annotated[str | None, typer.Option("--from", metavar="WHERE", help=_FROM_HELP)] = None,
    group: Annotated[str | None, typer.Option(help="Read as a member of this group, and move its place.")] = None,
    limit: Annotated[int | None, typer.Option("--max", min=1, help="End after so many records.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0, help="End when nothing came for so many seconds.")] = None,
    key_type: Annotated[ReadKeyType, typer.Option(help="The keys' encoding.")] = "bytes",
    json: JsonOption = False,
) -> None:
    """Show the records of topics as they arrive, until Ctrl-C, --max or --timeout.

    Without a group, all partitions are read and nothing is committed.
    With a group, the group's offsets advance past the shown records; --from moves the offsets first.
    Undecodable records are reported on stderr, and set the exit code to 1.

    Example: [bold]penstock consume orders --from '10m ago' --max 5[/]
    """
    if start == COMMITTED and group is None:
        raise UsageError("--from committed needs a group", hint="name it with --group")
    viewer, where = _Viewer(json=json), None if start == COMMITTED else start
    with (
        ends_by_signal(),
        suppress(KeyboardInterrupt),
        Consumer(topics, group, start=where, timeout=timeout, key_type=key_type, settings=settings()) as consumer,
    ):
        viewer.show(consumer, limit)
        if group:
            consumer.commit()
    if viewer.refused:
        raise typer.Exit(1)


class _Viewer:
    """Prints records, and counts undecodable records."""

    def __init__(self, *, json: bool) -> None:
        self.refused = 0
        self._json = json

    def show(self, consumer: Consumer, limit: int | None) -> None:
        for _ in count() if limit is None else range(limit):
            try:
                self._print(next(consumer))
            except StopIteration:
                return
            except RecordUndecodable as error:
                self.refused += 1
                err.print(f"[bold red]undecodable[/] {text(error.message)}")

    def _print(self, record: ConsumerRecord) -> None:
        if self._json:
            out.file.write(f"{json_line(record)}\n")
            out.file.flush()
        else:
            out.print(pretty_line(record))
