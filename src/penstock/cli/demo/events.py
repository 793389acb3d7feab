"""`penstock demo`: a week of a shop's events, from POST requests to an analyst's queries."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import httpx
from rich.markup import escape

from penstock.cli.demo import board, findings
from penstock.cli.demo.board import DEAD_LETTERS, Counter, Counts
from penstock.cli.demo.chapters import example, stage, step, tell_ready
from penstock.cli.demo.programs import Program, program
from penstock.cli.demo.stream import DAYS, Post, posts, straight_to_the_topic
from penstock.cli.output import out, text
from penstock.cli.own_stack import client_environment, own_stack
from penstock.config import Settings
from penstock.errors import PartFailed
from penstock.kafka.producer import Producer
from penstock.kafka.topics import ensure_topic
from penstock.local.ports import free_ports

PATIENCE_SECONDS = 240.0

_EVENTS_A_SECOND = 800
_LOOK_SECONDS = 0.2
_PAST_THE_GATE = 12
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"
"""Options for a run of minutes: Java's C2 compiler would cost more time than it saves."""
_TAKEN = {200, 207, 422}
_NEXT = {
    "penstock collector": "take events at localhost:8000",
    "penstock run examples/events/events.yaml": "carry them to a topic and the lake",
    'penstock lake query --chart "SELECT …"': "ask",
    "penstock demo shop": "another story: a database, mirrored live",
    "penstock demo koarch": "and one of old and new programs",
}


def show(number: int) -> None:
    """Run the demo from start to end. Raise PartFailed if an event misses its destination."""
    example("events")
    with stage() as directory:
        counts = _tell(directory, number)
    _tell_end(counts)


def _tell(directory: Path, number: int) -> Counts:
    step("Starting Kafka, the schema registry and PostgreSQL, as local processes")
    with own_stack(on_change=tell_ready) as stack:
        client = stack.model_copy(update={"lake": str(directory / "lake")})
        ensure_topic(client, "events")
        counts = _carry(client, directory, number)
        findings.answers(client)
        findings.schema(client)
        findings.dead_letter(client)
        step("Stopping everything")
    return counts


def _carry(client: Settings, directory: Path, number: int) -> Counts:
    """Run the collector and the pipeline, send the events, and wait until all have arrived."""
    step(f"{number:,} events of {DAYS} days go to the collector; Spark carries them to a topic and to the lake")
    (port,), counts = free_ports(1), Counts(number)
    shutil.copytree(example("events"), directory, dirs_exist_ok=True)
    environment = {
        **client_environment(client),
        "PENSTOCK_LAKE": client.lake,
        "PENSTOCK_PORTS_COLLECTOR": str(port),
        "PENSTOCK_COLLECTOR_DEAD_LETTERS": DEAD_LETTERS,
        "JAVA_TOOL_OPTIONS": _JAVA_OPTIONS,
    }
    with ExitStack() as programs:
        collector = programs.enter_context(
            program("collector", "collector", environment=environment, directory=directory)
        )
        pipeline = programs.enter_context(
            program("pipeline", "run", "events.yaml", environment=environment, directory=directory)
        )
        out.print(f"  [dim]$[/] penstock collector       [dim]# takes POSTs at http://127.0.0.1:{port}/events[/]")
        out.print(
            "  [dim]$[/] penstock run events.yaml [dim]# Spark: JSON ▸ Avro topic, and ▸ Parquet by type and day[/]"
        )
        running = (collector, pipeline)
        with Counter(client, counts).counting(), board.shown(counts, lambda: _what_happens(counts)):
            _send(client, f"http://127.0.0.1:{port}", counts, running)
            _wait(counts, running)
    return counts


def _what_happens(counts: Counts) -> str:
    if not counts.in_avro:
        return "Spark is starting, and Kafka keeps what the apps send"
    if counts.sent < counts.planned:
        return "the apps are sending, and Spark carries on what comes"
    return "every event has arrived" if counts.settled else "all are sent; the lake gets a batch every 10 seconds"


def _send(client: Settings, url: str, counts: Counts, running: tuple[Program, ...]) -> None:
    now, dice = datetime.now(UTC), Random(7)  # noqa: S311 - events, not secrets
    with httpx.Client(base_url=url, timeout=60) as http:
        _await_collector(http, running[0])
        for post in _paced(posts(counts.planned, now, dice)):
            _post(http, post, counts)
            running[0].check()
    with Producer("events", serializer=bytes, settings=client) as producer:
        for value in straight_to_the_topic(_PAST_THE_GATE, now, dice):
            producer.send(value)
            counts.past_the_gate += 1


def _post(http: httpx.Client, post: Post, counts: Counts) -> None:
    headers = {"content-type": "application/json", "user-agent": post.agent}
    answer = http.post("/events", content=post.body, headers=headers)
    if answer.status_code not in _TAKEN:
        raise PartFailed(f"the collector answered {answer.status_code}: {answer.text:.200}", hint="try again")
    told = answer.json()
    counts.sent += len(post.events)
    counts.accepted += told["accepted"]
    counts.rejected += told["rejected"]
    counts.newest = escape(" ".join(str(value) for value in post.events[-1].values()))


def _paced(found: Iterator[Post]) -> Iterator[Post]:
    """Yield the posts at a pace that people can follow."""
    began, sent = time.monotonic(), 0
    for post in found:
        yield post
        sent += len(post.events)
        time.sleep(max(0.0, began + sent / _EVENTS_A_SECOND - time.monotonic()))


def _await_collector(http: httpx.Client, collector: Program) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        collector.check()
        try:
            if http.get("/readyz").is_success:
                return
        except httpx.TransportError:
            time.sleep(_LOOK_SECONDS)
    raise collector.failed(f"did not answer within {PATIENCE_SECONDS:.0f} s")


def _wait(counts: Counts, running: tuple[Program, ...]) -> None:
    """Wait until every event has arrived. Raise the pipeline's error if nothing advances for a long time."""
    moved_at, last = time.monotonic(), ""
    while not counts.settled:
        for each in running:
            each.check()
        if counts.line() != last:
            moved_at, last = time.monotonic(), counts.line()
        if time.monotonic() - moved_at > PATIENCE_SECONDS:
            raise running[-1].failed(f"got no further for {PATIENCE_SECONDS:.0f} s")
        time.sleep(_LOOK_SECONDS)


def _tell_end(counts: Counts) -> None:
    if counts.in_lake != counts.accepted or counts.dead != counts.letters:
        raise PartFailed(f"the numbers do not agree: {counts.line()}")
    out.print(f"\n[green]✓[/] {counts.accepted:,} events were acknowledged, and each is in the lake once")
    out.print(f"[green]✓[/] {counts.broken()}")
    out.print("\nTry next: [bold]penstock up[/], and in other terminals")
    for command, purpose in _NEXT.items():
        out.print(f"  [bold]{text(command):<42}[/] {purpose}")
