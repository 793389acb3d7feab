"""Display of running pipelines: a live table on a terminal, plain lines elsewhere."""

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
    """Messages per second over the last ten seconds, by query."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def of(self, vitals: Vitals, now: float) -> float:
        """Return the rate after adding this reading."""
        seen = self._seen.setdefault(vitals.name, deque())
        seen.append((now, vitals.read))
        while len(seen) > 1 and now - seen[0][0] > _RATE_SECONDS:
            seen.popleft()
        began, first = seen[0]
        return (vitals.read - first) / (now - began) if now > began else 0.0


def queries_table(readings: Iterable[tuple[Vitals, Offsets]], rates: Rates) -> Table:
    """Return a table with a row per query."""
    columns = ("query", "state", right("read"), right("per second"), right("lag"), right("batch"), right("refused"))
    table = Table(*columns, "last error", box=box.SIMPLE_HEAD, pad_edge=False)
    now = time.monotonic()
    for vitals, ends in readings:
        error = f"{vitals.last_error.code} {vitals.last_error.message}" if vitals.last_error else ""
        table.add_row(
            text(vitals.name),
            f"[{_COLOURS[vitals.stage]}]{vitals.stage}[/]{_first_batch(vitals, ends)}",
            f"{vitals.read:,}",
            f"{rates.of(vitals, now):,.0f}",
            f"{vitals.lag(ends):,}",
            f"{vitals.last_batch.seconds:.2f} s" if vitals.last_batch else "",
            f"[yellow]{vitals.refused:,}[/]" if vitals.refused else "0",
            text(error),
        )
    return table


def _first_batch(vitals: Vitals, ends: Offsets) -> str:
    """Describe the activity of a query before the end of the first batch, which may take minutes."""
    lag = vitals.lag(ends)
    if vitals.batches or vitals.stage not in {"starting", "running"}:
        return ""
    if vitals.stage == "starting":
        return ": finding out where to go on"
    if vitals.underway:
        of_all = f" of {lag:,}" if lag > vitals.underway else ""
        return f": first batch, {vitals.underway:,}{of_all} messages"
    return f": reading offsets, {lag:,} messages to read" if lag else ": waiting for messages"


def query_line(vitals: Vitals, ends: Offsets, rate: float) -> str:
    """Format a query as a line of text."""
    if first := _first_batch(vitals, ends):
        return f"{vitals.name} {vitals.stage}{first}"
    said = f"{vitals.name} {vitals.stage}: read {vitals.read:,}, {rate:,.0f}/s, lag {vitals.lag(ends):,}"
    batch = f", batch {vitals.last_batch.seconds:.2f} s" if vitals.last_batch else ""
    return f"{said}{batch}, refused {vitals.refused:,}"


@contextmanager
def shown(readings: Readings) -> Iterator[None]:
    """Show the queries during the block. Log lines and printed rows appear above a live table."""
    # A live table must know of all output printed above it.
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
    """Print a line after each change of a query's state, and every ten seconds for progressing queries."""
    lines = StateLines()

    def look() -> None:
        lines.tell(readings(), time.monotonic())

    try:
        with repeated(look, _LOOK_SECONDS):
            yield
    finally:
        look()


class StateLines:
    """Memory of the lines printed for each query."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._said: dict[str, tuple[_State, int, float]] = {}

    def tell(self, readings: Iterable[tuple[Vitals, Offsets]], now: float) -> None:
        """Print the changes."""
        for vitals, ends in readings:
            rate = self._rates.of(vitals, now)
            state, read, at = self._said.get(vitals.name, (None, 0, now))
            is_at_work = vitals.read > read or (vitals.underway and not vitals.batches)
            if _state(vitals) != state or (is_at_work and now - at >= _LINE_SECONDS):
                self._said[vitals.name] = (_state(vitals), vitals.read, now)
                err.print(text(query_line(vitals, ends, rate)))


_State = tuple[QueryStage, bool]


def _state(vitals: Vitals) -> _State:
    """Return the state whose change is printed immediately: stage, and start of the first batch."""
    return vitals.stage, bool(vitals.batches or vitals.underway)
