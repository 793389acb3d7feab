"""`penstock demo shop`: a shop's database with live traffic, mirrored in the lake within seconds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.cli.answer_view import cell
from penstock.cli.demo import shop_board
from penstock.cli.demo.chapters import example, stage, step, tell_ready
from penstock.cli.demo.programs import Program, Start, program, script
from penstock.cli.demo.shop_sides import ShopDatabase, ShopLake
from penstock.cli.output import out, text
from penstock.cli.own_stack import client_environment, own_stack
from penstock.config import Settings
from penstock.config.database_url import at_database
from penstock.errors import PartFailed
from penstock.local.stack import StackOptions

PATIENCE_SECONDS = 600.0

_LOOK_SECONDS = 0.2
_RATE = 25
_OPENING_SECONDS = 3
_MOVES = ("Paris", "Lisbon", "Porto")
_UPDATE = "UPDATE customers SET city = %(city)s WHERE id = 1 RETURNING id, name, city"
_IN_LAKE = "SELECT id, name, city FROM shop.customers WHERE id = 1"
_HISTORY = "SELECT city, _op, _valid_from, _valid_to FROM shop_history.customers WHERE id = 1 ORDER BY _valid_from"
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=384m"
"""Options for a run of minutes: Java's C2 compiler would cost more time than it saves."""
_NEXT = {
    "penstock up --cdc": "the systems; then, in other terminals, what examples/shop/README.md says",
    "penstock cdc status shop": "whether changes flow, and how far they are behind",
    'penstock lake query "SELECT …"': "ask the mirror and the history",
}


@dataclass(frozen=True)
class _Shop:
    """Environment of the demo: systems, database, lake, and settings for commands."""

    client: Settings
    url: str
    directory: Path

    @property
    def lake(self) -> ShopLake:
        return ShopLake(self.client)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            **client_environment(self.client),
            "PENSTOCK_LAKE": self.client.lake,
            "JAVA_TOOL_OPTIONS": _JAVA_OPTIONS,
            "COLUMNS": str(out.width),
        }

    def runs(self, start: Start, name: str, *words: object) -> AbstractContextManager[Program]:
        """Run a program of the demo for the duration of a block."""
        return start(name, *words, environment=self.environment, directory=self.directory)


def show(seconds: float) -> None:
    """Run the demo from start to end. Raise PartFailed if lake and database differ in the end."""
    example("shop")
    with stage() as directory:
        _tell(directory, seconds)
    out.print("\n[green]✓[/] the lake is what the database is, row by row")
    out.print("\nTry next:")
    for command, purpose in _NEXT.items():
        out.print(f"  [bold]{text(command):<34}[/] {purpose}")


def _tell(directory: Path, seconds: float) -> None:
    step("Starting Kafka, Kafka Connect with Debezium, the schema registry and PostgreSQL, as local processes")
    with own_stack(StackOptions(cdc=True), on_change=tell_ready) as stack:
        client = stack.model_copy(update={"lake": str(directory / "lake")})
        url = at_database(client.database.get_secret_value(), "shop")
        shutil.copytree(example("shop"), directory, dirs_exist_ok=True)
        shop = _Shop(client, url, directory)
        _open(shop)
        _mirror(shop, seconds)
        step("Stopping everything")


def _open(shop: _Shop) -> None:
    """Create and capture the database with the first customers and orders."""
    step("A shop opens: customers, products, orders")
    opening = ("traffic.py", shop.url, "--create", "--seconds", _OPENING_SECONDS, "--rate", _RATE)
    _run(shop, "python", opening)
    step("Debezium captures its tables: first every row as it is, then every change as it is committed")
    _run(shop, "penstock", ("cdc", "add", "shop", "--database", shop.url, "--tables", "public.*"))


def _mirror(shop: _Shop, seconds: float) -> None:
    """Run the pipeline and the traffic, watch both sides, change a row, and compare at the end."""
    step("Customers come, order, pay and cancel, and prices change; Spark mirrors every table into the lake")
    with shop.runs(program, "pipeline", "run", "shop.yaml") as pipeline:
        with shop.runs(script, "traffic", "traffic.py", shop.url, "--seconds", 3600, "--rate", _RATE) as traffic:
            out.print(f"  [dim]$[/] python traffic.py shop   [dim]# about {_RATE} deeds a second[/]")
            out.print("  [dim]$[/] penstock run shop.yaml   [dim]# Spark: Debezium's changes ▸ mirror and history[/]")
            _watch(shop, (pipeline, traffic), seconds)
            _change_rows(shop, pipeline)
            _show_history(shop, pipeline)
        step("The shop closes; every row of the lake is compared with the database")
        _run(shop, "penstock", ("cdc", "verify", "shop"))


def _watch(shop: _Shop, running: tuple[Program, ...], seconds: float) -> None:
    """Show both sides until the lake has rows of every table, and for `seconds` longer."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    with shop_board.shown(shop.url, shop.lake) as counts:
        until = float("inf")
        while time.monotonic() < until:
            for each in running:
                each.check()
            if counts.mirrored:
                until = min(until, time.monotonic() + seconds)
            elif time.monotonic() > give_up:
                raise running[0].failed(f"mirrored nothing within {PATIENCE_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)


def _change_rows(shop: _Shop, pipeline: Program) -> None:
    step("A customer moves, and moves again: an UPDATE on one side, the row on the other")
    out.print(f"  [dim]shop=#[/] {text(_UPDATE.replace('%(city)s', repr('…')))}")
    out.print(f'  [dim]$[/] penstock lake query "{text(_IN_LAKE)}"')
    with ShopDatabase.opened(shop.url) as database:
        for city in _MOVES:
            row, committed_at = database.run(_UPDATE, {"city": city}), time.time()
            out.print(f"  [cyan]PostgreSQL[/]  {_clock(committed_at)}  {_cells(row)}")
            seen = shop.lake.await_row(_IN_LAKE, row, PATIENCE_SECONDS)
            if seen is None:
                raise pipeline.failed(f"did not bring {city} into the lake within {PATIENCE_SECONDS:.0f} s")
            passed = f"[bold green]{time.time() - committed_at:.1f} s later[/]"
            out.print(f"  [green]lake[/]        {_clock(time.time())}  {_cells(seen)}  {passed}")


def _show_history(shop: _Shop, pipeline: Program) -> None:
    step("The history has every version, with the time in which it was valid")
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (versions := shop.lake.rows(_HISTORY)) or versions[-1][0] != _MOVES[-1]:
        if time.monotonic() > give_up:
            raise pipeline.failed(f"did not bring {_MOVES[-1]} into the history within {PATIENCE_SECONDS:.0f} s")
        time.sleep(_LOOK_SECONDS)
    table = Table("city", "made by", "valid from", "valid to", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in versions:
        table.add_row(*map(cell, row))
    out.print(f'  [dim]$[/] penstock lake query "{text(_HISTORY)}"')
    out.print(Padding(table, (0, 0, 0, 2)))


def _run(shop: _Shop, program_name: str, words: tuple[object, ...]) -> None:
    """Run a command to completion, and print command and output. Raise PartFailed if the command fails."""
    shown = " ".join(str(word).replace(shop.url, "postgresql://…/shop") for word in words)
    out.print(f"  [dim]$[/] {program_name} {text(shown)}")
    start = [sys.executable, "-P", "-m", "penstock"] if program_name == "penstock" else [sys.executable]
    colours = {"FORCE_COLOR": "1"} if out.is_terminal else {}
    done = subprocess.run(
        [*start, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**shop.environment, **colours},
        cwd=shop.directory,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    out.print(Padding(Text.from_ansi(done.stdout.strip("\n")), (0, 0, 0, 2)))
    if done.returncode:
        raise PartFailed(f"{program_name} {words[0]} ended with exit code {done.returncode}", hint="see above")


def _cells(row: tuple[object, ...]) -> str:
    return " · ".join(map(cell, row))


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment)) + f".{int(moment % 1 * 1000):03}"
