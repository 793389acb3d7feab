"""Progress through a list: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from penstock.cli.output import counting, err, text
from penstock.cli.repeating import repeated

Item = TypeVar("Item")

LINE_SECONDS = 5.0


def each_shown(items: Sequence[Item], doing: str, name: Callable[[Item], object], unit: str) -> Iterator[Item]:
    """Yield the items with progress. Off a terminal, quick work prints nothing."""
    with _shown(doing, len(items), unit) as show:
        for number, item in enumerate(items):
            show(number, str(name(item)))
            yield item


@contextmanager
def _shown(doing: str, total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    current, began = "", monotonic()

    def line() -> None:
        err.print(f"{doing} {text(current)}, {monotonic() - began:.0f} s")

    with counting(unit) as bar, repeated(lambda: None if err.is_terminal else line(), LINE_SECONDS):
        task = bar.add_task(doing, total=total)

        def show(number: int, name: str) -> None:
            nonlocal current
            current = f"{name} ({number + 1} of {total})"
            bar.update(task, completed=number, description=f"{doing} {text(name)}")

        yield show
