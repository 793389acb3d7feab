"""Progress of a stream of records: a bar with the rate on a terminal, occasional lines elsewhere."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.output import counted, err

_DRAW_SECONDS = 0.1
_LINE_SECONDS = 10.0


class RateMeter:
    """Counts and shows records. `total` is the size of the input in bytes, if known."""

    def __init__(self, verb: str, total: int | None = None) -> None:
        self.count = 0
        self._verb = verb
        self._started = self._shown = monotonic()
        self._pause = _DRAW_SECONDS if err.is_terminal else _LINE_SECONDS
        self._bytes = 0
        columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        """Start measuring."""
        self._started = self._shown = monotonic()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar. The counts remain available."""
        self._bar.stop()

    def tick(self, size: int) -> None:
        """Count a record with its size in bytes of input."""
        self.count += 1
        self._bytes += size
        if monotonic() - self._shown >= self._pause:
            self._show()

    def summary(self, count: int) -> str:
        """Return the total: `sent 1,000 records in 0.8 s (1,250/s)`."""
        seconds = monotonic() - self._started
        return f"{self._verb} {counted(count, 'record')} in {seconds:.1f} s ({self._rate(count, seconds)})"

    def _show(self) -> None:
        self._shown = monotonic()
        line = f"{self._verb} {counted(self.count, 'record')} ({self._rate(self.count, self._shown - self._started)})"
        if err.is_terminal:
            self._bar.update(self._task, completed=self._bytes, description=line)
        else:
            err.print(line)

    @staticmethod
    def _rate(count: int, seconds: float) -> str:
        return f"{count / seconds if seconds else 0:,.0f}/s"
