"""Progress board of the demo: number of events at each stage, as counted by the systems."""

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
"""Number of sinks. Each sink is a separate query with separate dead letters."""
_LOOK_SECONDS = 0.7
_BAR_WIDTH = 44


class Place(NamedTuple):
    """Stage on the way: short name for text lines, title and colour for the board."""

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
    """Progress of the events. `planned` is the total, `newest` the last event sent."""

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
        """Expected number of dead letters at the end."""
        return self.rejected + _SINKS * self.past_the_gate

    @property
    def settled(self) -> bool:
        """Whether every sent event has arrived."""
        return self.in_avro >= self.accepted and self.in_lake >= self.accepted and self.dead >= self.letters

    def broken(self) -> str:
        """Describe how many events were broken, and who rejected how many. The numbers add up to the letters."""
        broken = self.rejected + self.past_the_gate
        each = f"{self.rejected:,} by the collector, and {self.past_the_gate:,} by each of the {_SINKS} sinks"
        return f"{broken:,} broken ones are kept as {self.letters:,} dead letters: {each}"

    def line(self) -> str:
        """Return all numbers as a line of text."""
        return " · ".join(f"{place.short} {getattr(self, name):,}" for name, place in _PLACES.items())


class Counter:
    """Reads the counts from Kafka and the lake."""

    def __init__(self, settings: Settings, counts: Counts) -> None:
        self._settings = settings
        self._counts = counts

    def look(self, admin: Admin) -> None:
        """Update the counts once."""
        self._counts.in_avro = _records(admin, AVRO_TOPIC)
        self._counts.dead = _records(admin, DEAD_LETTERS)
        self._counts.in_lake = _rows(self._settings)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Update the counts repeatedly during the block, and once at the end."""
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
    """Show the numbers during the block, and once at the end."""
    began = time.monotonic()
    return screen.shown(lambda: board(counts, what(), began), counts.line)


def board(counts: Counts, what: str, began: float) -> RenderableType:
    """Render the numbers with bars, the current activity, and the newest event."""
    table = Table("", right(""), "", box=box.SIMPLE, show_header=False, pad_edge=True)
    for name, (_, title, colour) in _PLACES.items():
        number = getattr(counts, name)
        bar = ProgressBar(max(counts.planned, 1), number, _BAR_WIDTH, complete_style=colour, finished_style=colour)
        table.add_row(title, f"[bold {colour}]{number:,}[/]", bar)
    passed = f"{time.monotonic() - began:.0f} s"
    newest = Text(f"  newest  {counts.newest}", style="dim", no_wrap=True, overflow="ellipsis")
    return Group(table, Text.from_markup(f"  {passed:<6}  {what}"), newest)
