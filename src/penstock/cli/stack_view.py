"""Display of the local stack: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.live import Live
from rich.table import Table

from penstock.cli.output import downloading, err, out, text
from penstock.local.jars import OnProgress
from penstock.local.part import Condition
from penstock.local.parts import s3
from penstock.local.state import PartState, memory_of

_COLOURS = {
    Condition.WAITING: "dim",
    Condition.STARTING: "yellow",
    Condition.READY: "green",
    Condition.DEAD: "bold red",
    Condition.STOPPING: "yellow",
    Condition.STOPPED: "dim",
}
_MIB = 1024 * 1024
_TENTHS = 10


def parts_table(parts: Sequence[PartState]) -> Table:
    """Return a table with part, address, state and memory."""
    table = Table("part", "address", "state", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("memory", justify="right")
    for part in parts:
        table.add_row(part.name, text(part.address), condition_cell(part), memory_cell(part))
        if part.condition is Condition.DEAD:
            table.add_row("", f"[dim]{text(near(part.log))}[/]")
    return table


def near(path: str | Path) -> Path:
    """Return a path relative to the working directory, if inside."""
    here = Path.cwd()
    return Path(path).relative_to(here) if Path(path).is_relative_to(here) else Path(path)


def condition_cell(part: PartState) -> str:
    """Format the state in colour, with a reason for dead parts."""
    return f"[{_COLOURS[part.condition]}]{part.condition}[/]" + (text(f": {part.reason}") if part.reason else "")


def memory_cell(part: PartState) -> str:
    """Format the memory of the part in MiB."""
    held = memory_of(part.process)
    return f"{held // _MIB} MiB" if held else ""


def change_line(part: PartState) -> str:
    """Format a change of one part as a line."""
    more = {Condition.READY: part.address, Condition.DEAD: str(near(part.log))}.get(part.condition, "")
    return f"{part.name:<10} {condition_cell(part)}" + (f"  {text(more)}" if more else "")


class Lines:
    """Prints a line when a part's condition changes."""

    def __init__(self) -> None:
        self._seen: dict[str, Condition] = {}

    def __call__(self, part: PartState) -> None:
        """Print the change, unless only the process id changed."""
        if self._seen.get(part.name) is not part.condition:
            self._seen[part.name] = part.condition
            out.print(change_line(part))


@contextmanager
def live_table(parts: Callable[[], Sequence[PartState]]) -> Iterator[None]:
    """Keep the table up to date during the block; nothing off a terminal. Print through `out` inside."""
    if not out.is_terminal:
        yield
        return
    with Live(get_renderable=lambda: parts_table(parts()), console=out, refresh_per_second=2, transient=True):
        yield


@contextmanager
def shown_download() -> Iterator[OnProgress]:
    """Show a download by bytes: a bar on a terminal, a line per tenth elsewhere."""
    with downloading() as bar:
        task = bar.add_task("downloading jars, once", total=None, visible=False)
        told = -1

        def show(done: int, total: int) -> None:
            nonlocal told
            bar.update(task, completed=done, total=total, visible=True)
            tenths = done * _TENTHS // total
            if bar.disable and tenths > told:
                told = tenths
                err.print(f"downloading jars, once: {done // _MIB} of {total // _MIB} MiB")

        yield show


def how_to_reach(stack: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """Return the shell lines for other commands to find the stack; none if the defaults suffice."""
    return [
        f"export PENSTOCK_{name.upper()}={shlex.quote(value)}"
        for name, value in stack.items()
        if own.get(name) != value
    ]


def how_to_use_s3(port: int) -> list[str]:
    """Return the shell lines for storing tables in the stack's object store."""
    return [
        f"export PENSTOCK_LAKE=s3a://{s3.BUCKET}/tables PENSTOCK_S3_ENDPOINT=http://localhost:{port}",
        f"export PENSTOCK_S3_ACCESS_KEY={s3.ACCESS_KEY} PENSTOCK_S3_SECRET_KEY={s3.SECRET_KEY}",
    ]
