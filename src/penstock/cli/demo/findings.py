"""Results at the end of the demo: queries, the registered schema, and a dead letter with an error."""

from __future__ import annotations

import json
from textwrap import indent

from rich.padding import Padding
from rich.table import Column, Table

from penstock.cli.answer_view import first_rows
from penstock.cli.chart import chart
from penstock.cli.demo.board import AVRO_TOPIC, DEAD_LETTERS
from penstock.cli.demo.chapters import step
from penstock.cli.output import lines, out, text
from penstock.cli.schema_view import pretty
from penstock.config import Settings
from penstock.deadletters.box import Wanted, find_letters, read_letters
from penstock.deadletters.letter import DeadLetter
from penstock.lake.lake import Lake
from penstock.lake.question import ask
from penstock.schemas.registry import connect_registry

_WIDTH = 88
_INDENT = "    "
_TODAY_AND_YESTERDAY = """SELECT Event_Type,
       count(*) FILTER (Server_Date = current_date - 1) AS yesterday,
       count(*) FILTER (Server_Date = current_date) AS today
FROM events GROUP BY Event_Type ORDER BY yesterday DESC"""
_DAYS = """SELECT Server_Date, count(*) AS events
FROM events GROUP BY Server_Date ORDER BY Server_Date"""


def answers(client: Settings) -> None:
    """Run two queries on the lake, and draw the results."""
    step("An analyst asks: what happened today, and how often yesterday?")
    _draw(client, _TODAY_AND_YESTERDAY)
    step("And how busy was each day?")
    _draw(client, _DAYS)


def schema(client: Settings) -> None:
    """Show the schema registered by the pipeline."""
    subject = f"{AVRO_TOPIC}-value"
    step(f"The registry has the schema of {AVRO_TOPIC}, which Spark derived from the query")
    out.print(f"  [dim]$[/] penstock schemas show {subject}")
    registered = connect_registry(client).by_version(subject, 1)
    shown = pretty(json.loads(registered.schema.text), _WIDTH)
    out.print(f"  id {registered.schema_id}, version {registered.version}\n{lines(indent(shown, '  '))}")


def dead_letter(client: Settings) -> None:
    """Show an event broken by a bad release."""
    step("What was refused is kept with its reason, and can be repaired and replayed")
    wanted = Wanted(pipeline="collector")
    letters = read_letters(client, find_letters(client, [DEAD_LETTERS], wanted), wanted)
    for letter in letters:
        _show(letter)
        return


def _show(letter: DeadLetter) -> None:
    out.print(f"  [dim]$[/] penstock deadletters show {text(letter.place)}")
    agent = dict(letter.headers).get("penstock.client.agent") or b""
    facts = Table.grid(Column(), Column(overflow="fold"), padding=(0, 2, 0, 0))
    facts.add_row("event", text((letter.value or b"").decode()))
    facts.add_row("error", f"[bold red]{text(letter.code)}[/] {text(letter.message)}")
    facts.add_row(
        "sender", f"{text(agent.decode())}, refused by the {text(letter.pipeline)} at {text(letter.failed_at)}"
    )
    out.print(Padding(facts, (0, 0, 0, 2)))


def _draw(client: Settings, sql: str) -> None:
    command = f'penstock lake query --chart "{sql}"'
    out.print(f"  [dim]$[/] {lines(indent(command, _INDENT).lstrip())}")
    with ask(Lake(client), sql) as answer:
        found = first_rows(answer, 0)
    for line in chart(answer.columns, found.rows, min(_WIDTH, out.width - len(_INDENT))):
        out.print(f"  {line}")
