"""`penstock demo koarch`: run the KOARCH programs side by side on a temporary stack."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO

from penstock.cli.demo.chapters import example, step, tell_ready
from penstock.cli.output import out, text
from penstock.cli.own_stack import client_environment, own_stack
from penstock.config import Settings
from penstock.errors import PartFailed
from penstock.kafka.topics import ensure_topic
from penstock.schemas.registry import connect_registry

COUNT = 5
PATIENCE_SECONDS = 120.0

_COLOURS = {"count_up": "green", "multiples": "yellow", "print": "cyan"}


def show() -> None:
    """Run the demo from start to end."""
    example("koarch")
    step("Starting Kafka, the schema registry and PostgreSQL, as local processes")
    with own_stack(on_change=tell_ready) as client:
        environment = client_environment(client)
        for topic in ("count", "multiples"):
            ensure_topic(client, topic)
        _send_and_print(environment)
        _show_schema(client)
        _refuse(environment)
        step("Stopping everything")
    out.print("\nTry next: [bold]penstock up[/], and in a second terminal [bold]penstock topics list[/]")


def _send_and_print(environment: Mapping[str, str]) -> None:
    step("count_up sends records with a schema, multiples sends bare bytes like an old system, print shows both")
    printing = _start("print", environment, TIMEOUT="5")
    printing.speaks.wait(PATIENCE_SECONDS)
    senders = [_start(name, environment, COUNT=str(COUNT)) for name in ("count_up", "multiples")]
    for program in (*senders, printing):
        _finish(program)


def _show_schema(client: Settings) -> None:
    step(f"The registry has learnt the schema: {client.registry}/subjects/count-value/versions/1")
    registered = connect_registry(client).by_version("count-value", 1)
    out.print(f"  id {registered.schema_id}, version {registered.version}: {text(registered.schema.text)}")


def _refuse(environment: Mapping[str, str]) -> None:
    step("A record that does not fit is refused before it is sent, by the name of its field")
    _finish(_start("count_up", environment, WRONG="1"), expected=1)


class _Program:
    """Running example, with a thread that prints the output behind a name. The first line sets `speaks`."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self.process = process
        self.speaks = threading.Event()
        self._printing = threading.Thread(target=self._print, args=(process.stdout,))
        self._printing.start()

    def join(self) -> int:
        code = self.process.wait(PATIENCE_SECONDS)
        self._printing.join()
        return code

    def _print(self, lines: IO[str]) -> None:
        for line in lines:
            self.speaks.set()
            out.print(f"  [{_COLOURS[self.name]}]{self.name:>9}[/] {text(line.rstrip())}")


def _start(name: str, environment: Mapping[str, str], **variables: str) -> _Program:
    process = subprocess.Popen(
        [sys.executable, "-u", str(example("koarch") / f"{name}.py")],
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return _Program(name, process)


def _finish(program: _Program, expected: int = 0) -> None:
    code = program.join()
    if code != expected:
        raise PartFailed(f"{program.name} ended with exit code {code}, not {expected}", hint="its words are above")
