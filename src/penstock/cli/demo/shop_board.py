"""Progress board of the shop demo: rows per table in the database and in the lake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich import box
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table

from penstock.cli.demo import screen
from penstock.cli.demo.shop_sides import TABLES, ShopDatabase, ShopLake
from penstock.cli.output import right
from penstock.cli.repeating import repeated

_LOOK_SECONDS = 0.7
_BAR_WIDTH = 40


@dataclass
class Counts:
    """Number of rows per table, on both sides."""

    in_database: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    in_lake: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))

    @property
    def mirrored(self) -> bool:
        """Whether the lake has rows of every table."""
        return all(self.in_lake.values())

    def line(self) -> str:
        """Return all numbers as a line of text."""
        return " · ".join(f"{table} {self.in_lake[table]:,} of {self.in_database[table]:,}" for table in TABLES)

    def board(self) -> RenderableType:
        """Render the numbers with a bar per table."""
        table = Table("table", right("in PostgreSQL"), right("in the lake"), "", box=box.SIMPLE_HEAD)
        for name in TABLES:
            theirs, ours = self.in_database[name], self.in_lake[name]
            bar = ProgressBar(max(theirs, ours, 1), ours, _BAR_WIDTH, complete_style="cyan", finished_style="green")
            table.add_row(name, f"{theirs:,}", f"[bold green]{ours:,}[/]", bar)
        return table


@contextmanager
def shown(url: str, lake: ShopLake) -> Iterator[Counts]:
    """Count and show the rows repeatedly during the block."""
    counts = Counts()
    with ShopDatabase.opened(url) as database:

        def look() -> None:
            counts.in_database, counts.in_lake = database.sizes(), lake.sizes()

        with screen.shown(counts.board, counts.line):
            with repeated(look, _LOOK_SECONDS):
                yield counts
            look()
