"""How running pipelines are shown: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich import box
from rich.live import Live
from rich.table import Table

from penstock.cli.log_lines import logged
from penstock.cli.output import err, out, right, text
from penstock.cli.repeating import repeated
from penstock.kafka.offsets import Offsets
from penstock.spark.queries.vitals import QueryStage, Vitals

Readings = Callable[[], Iterable[tuple[Vitals, Offsets]]]

_COLOURS: dict[QueryStage, str] = {
    "starting": "yellow",
    "running": "green",
    "waiting": "yellow",
    "stopped": "dim",
    "finished": "green",
    "failed": "bold red",
}
_LOOK_SECONDS = 0.5
_LINE_SECONDS = 10.0
_RATE_SECONDS = 10.0


class Rates:
    """Messages a second over the last ten seconds, by query."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def of(self, vitals: Vitals, now: float) -> float:
        """The rate, with this reading taken in."""
        seen = self._seen.setdefault(vitals.name, deque())
        seen.append((now, vitals.read))
        while len(seen) > 1 and now - seen[0][0] > _RATE_SECONDS:
            seen.popleft()
        began, first = seen[0]
        return (vitals.read - first) / (now - began) if now > began else 0.0


def queries_table(readings: Iterable[tuple[Vitals, Offsets]], rates: Rates) -> Table:
    """A row for each query."""
    columns = ("query", "state", right("read"), right("per second"), right("lag"), right("batch"), right("refused"))
    table = Table(*columns, "last error", box=box.SIMPLE_HEAD, pad_edge=False)
    now = time.monotonic()
    for vitals, ends in readings:
        error = f"{vitals.last_error.code} {vitals.last_error.message}" if vitals.last_error else ""
        table.add_row(
            text(vitals.name),
            f"[{_COLOURS[vitals.stage]}]{vitals.stage}[/]",
            f"{vitals.read:,}",
            f"{rates.of(vitals, now):,.0f}",
            f"{vitals.lag(ends):,}",
            f"{vitals.last_batch.seconds:.2f} s" if vitals.last_batch else "",
            f"[yellow]{vitals.refused:,}[/]" if vitals.refused else "0",
            text(error),
        )
    return table


def query_line(vitals: Vitals, ends: Offsets, rate: float) -> str:
    """A query as a line of text."""
    said = f"{vitals.name} {vitals.stage}: read {vitals.read:,}, {rate:,.0f}/s, lag {vitals.lag(ends):,}"
    batch = f", batch {vitals.last_batch.seconds:.2f} s" if vitals.last_batch else ""
    return f"{said}{batch}, refused {vitals.refused:,}"


@contextmanager
def shown(readings: Readings) -> Iterator[None]:
    """Show the queries while the block runs; log lines and rows on the screen stand above a live table."""
    # A live table has to know of all that is printed above it.
    with logged(out if out.is_terminal else err):
        if out.is_terminal:
            rates = Rates()
            with Live(get_renderable=lambda: queries_table(readings(), rates), console=out, refresh_per_second=2):
                yield
        else:
            with _lines(readings):
                yield


@contextmanager
def _lines(readings: Readings) -> Iterator[None]:
    """Print a line for each query whose state changed, and every ten seconds for those that got on."""
    lines = StateLines()

    def look() -> None:
        lines.tell(readings(), time.monotonic())

    try:
        with repeated(look, _LOOK_SECONDS):
            yield
    finally:
        look()


class StateLines:
    """Remembers what was said of each query."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._said: dict[str, tuple[QueryStage, int, float]] = {}

    def tell(self, readings: Iterable[tuple[Vitals, Offsets]], now: float) -> None:
        """Print what is new."""
        for vitals, ends in readings:
            rate = self._rates.of(vitals, now)
            stage, read, at = self._said.get(vitals.name, (None, 0, now))
            if vitals.stage != stage or (vitals.read > read and now - at >= _LINE_SECONDS):
                self._said[vitals.name] = (vitals.stage, vitals.read, now)
                err.print(text(query_line(vitals, ends, rate)))
