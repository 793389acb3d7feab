"""What the demo shows while events flow: how many have come how far, as the systems themselves count them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.cli.demo import screen
from penstock.cli.output import right
from penstock.cli.repeating import repeated
from penstock.config import Settings
from penstock.errors import TableNotFound, TopicNotFound
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import end_offsets
from penstock.kafka.start import find_partitions
from penstock.lake.lake import Lake

AVRO_TOPIC = "events_avro"
DEAD_LETTERS = "events.dead"
TABLE = "events"

_SINKS = 2
"""Each sink of the pipeline is a query of its own, and keeps what it refuses."""
_LOOK_SECONDS = 0.7
_BAR_WIDTH = 44


class Place(NamedTuple):
    """A place on the way: how a line of text calls it, how the board does, and its colour there."""

    short: str
    title: str
    colour: str


_PLACES = {
    "sent": Place("sent", "sent by the apps", "white"),
    "accepted": Place("acknowledged", "acknowledged by Kafka", "cyan"),
    "in_avro": Place("Avro topic", f"in the Avro topic {AVRO_TOPIC}", "blue"),
    "in_lake": Place("lake", f"in the lake's table {TABLE}", "green"),
    "dead": Place("dead letters", f"dead letters in {DEAD_LETTERS}", "red"),
}


@dataclass
class Counts:
    """How far the events have come; `planned` is how many there will be, `newest` the last one that was sent."""

    planned: int
    sent: int = 0
    accepted: int = 0
    rejected: int = 0
    past_the_gate: int = 0
    in_avro: int = 0
    in_lake: int = 0
    dead: int = 0
    newest: str = ""

    @property
    def letters(self) -> int:
        """How many dead letters there are to be in the end."""
        return self.rejected + _SINKS * self.past_the_gate

    @property
    def settled(self) -> bool:
        """Whether every event that was sent is where it belongs."""
        return self.in_avro >= self.accepted and self.in_lake >= self.accepted and self.dead >= self.letters

    def broken(self) -> str:
        """How many events were broken, and who keeps them, which adds up to the letters."""
        broken = self.rejected + self.past_the_gate
        each = f"{self.rejected:,} by the collector, and {self.past_the_gate:,} by each of the {_SINKS} sinks"
        return f"{broken:,} broken ones are kept as {self.letters:,} dead letters: {each}"

    def line(self) -> str:
        """All numbers in a line of text."""
        return " · ".join(f"{place.short} {getattr(self, name):,}" for name, place in _PLACES.items())


class Counter:
    """Asks Kafka and the lake how much they hold."""

    def __init__(self, settings: Settings, counts: Counts) -> None:
        self._settings = settings
        self._counts = counts

    def look(self, admin: Admin) -> None:
        """Count once."""
        self._counts.in_avro = _records(admin, AVRO_TOPIC)
        self._counts.dead = _records(admin, DEAD_LETTERS)
        self._counts.in_lake = _rows(self._settings)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count again and again while the block runs, and once at its end."""
        with Admin(self._settings) as admin:
            with repeated(lambda: self.look(admin), _LOOK_SECONDS):
                yield
            self.look(admin)


def _records(admin: Admin, topic: str) -> int:
    try:
        return sum(end_offsets(admin, find_partitions(admin, [topic])).values())
    except TopicNotFound:
        return 0


def _rows(settings: Settings) -> int:
    try:
        return Lake(settings).table(TABLE).summary().rows
    except TableNotFound:
        return 0


def shown(counts: Counts, what: Callable[[], str]) -> AbstractContextManager[None]:
    """Show the numbers while the block runs, and once at its end."""
    began = time.monotonic()
    return screen.shown(lambda: board(counts, what(), began), counts.line)


def board(counts: Counts, what: str, began: float) -> RenderableType:
    """The numbers with their bars, what is going on, and the newest event."""
    table = Table("", right(""), "", box=box.SIMPLE, show_header=False, pad_edge=True)
    for name, (_, title, colour) in _PLACES.items():
        number = getattr(counts, name)
        bar = ProgressBar(max(counts.planned, 1), number, _BAR_WIDTH, complete_style=colour, finished_style=colour)
        table.add_row(title, f"[bold {colour}]{number:,}[/]", bar)
    passed = f"{time.monotonic() - began:.0f} s"
    newest = Text(f"  newest  {counts.newest}", style="dim", no_wrap=True, overflow="ellipsis")
    return Group(table, Text.from_markup(f"  {passed:<6}  {what}"), newest)
