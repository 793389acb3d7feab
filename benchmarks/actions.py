"""Actions against DataHub Actions and a bare loop, repeats after kill -9, and slow actions side by side.

The same file and the same action class are run by both programs. EVENTS (200,000) is how many PlatformEvents there
are; the peer takes fewer of them, which changes its rate by little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any

import confluent_kafka
import fastavro
import yaml
from _common import own_topic
from _datahub_peer import datahub_actions
from _platform_events import send_platform_events
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from penstock.catalog.telling.messages import platform_event_schema
from penstock.config import Settings, load_settings
from penstock.kafka.options import client_options

EVENTS = int(os.environ.get("EVENTS", "200000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
PEER_EVENTS, PEER_SYNC_EVENTS = EVENTS // 4, EVENTS // 50
PARTITIONS = 4
HANDLED_BEFORE_KILL = EVENTS // 10
WAIT, CONCURRENCY = 0.01, 64
ALONE_EVENTS, TOGETHER_EVENTS = 300, 12_000
PATIENCE = 600
OURS = (sys.executable, "-m", "penstock", "run")

OF_BARE, OF_PEER, OF_PEER_SYNC, OF_ALONE, MAX_REPEATS = 0.5, 8.0, 20.0, 40.0, 1000


class Bench:
    """Runs pipeline files in processes of their own, and reads what the action reported."""

    def __init__(self, settings: Settings, topic: str, folder: Path) -> None:
        self._settings = settings
        self._topic = topic
        self._folder = folder

    def rate(self, program: Sequence[str], events: int, source: dict[str, Any], **options: float) -> float:
        """Events a second, from the first one to the last."""
        wait = options.pop("wait", 0)
        self.run(program, self._file(f"bench-{uuid.uuid4().hex[:8]}", source, options, events=events, wait=wait))
        times = json.loads(self._report.read_text(encoding="ascii"))
        return float(times["events"] / times["seconds"])

    def repeats(self, program: Sequence[str], source: dict[str, Any]) -> int:
        """How many events, of one partition, a second run handles that the first one, killed with -9, had handled."""
        name, notes = f"bench-{uuid.uuid4().hex[:8]}", self._folder / "notes"
        notes.unlink(missing_ok=True)
        told = {"events": EVENTS, "notes": str(notes)}
        self.run(program, self._file(name, source, {}, die_after=HANDLED_BEFORE_KILL, **told), killed=True)
        self.run(program, self._file(name, source, {}, **{**told, "events": 1}))
        offsets = [int(line.split()[1]) for line in notes.read_text(encoding="ascii").splitlines()]
        return HANDLED_BEFORE_KILL - offsets[-1]

    def run(self, program: Sequence[str], file: Path, *, killed: bool = False) -> None:
        """Run a file to its end."""
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        log = self._folder / "log"
        with log.open("wb") as output:
            ended = subprocess.run(
                [*program, str(file)], env=environment, stdout=output, stderr=output, timeout=PATIENCE, check=False
            )
        if (ended.returncode != 0) is not killed:
            sys.exit(f"{program[0]} ended with {ended.returncode}:\n{log.read_text(errors='replace')[-2000:]}")

    @property
    def _report(self) -> Path:
        return self._folder / "report"

    def _file(self, name: str, source: dict[str, Any], options: Mapping[str, object], **action: object) -> Path:
        connection = {
            "bootstrap": self._settings.bootstrap,
            "schema_registry_url": self._settings.registry,
            "consumer_config": {"auto.offset.reset": "earliest"},
        }
        spec = {
            "name": name,
            "source": {
                "type": "kafka",
                "config": {"connection": connection, "topic_routes": {"pe": self._topic}, **source},
            },
            "action": {"type": "_bench_action:Measured", "config": {"report": str(self._report), **action}},
            **({"options": options} if options else {}),
        }
        path = self._folder / "action.yaml"
        path.write_text(yaml.safe_dump(spec), encoding="utf-8")
        return path


def bare(settings: Settings, topic: str) -> float:
    """Events a second by `consume(1000)`, fastavro and the JSON parse of the payload."""
    schema = fastavro.parse_schema(json.loads(platform_event_schema().text))
    consumer = confluent_kafka.Consumer(client_options(settings, group__id="bare", enable__auto__commit=False))
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
    count, started = 0, 0.0
    while count < EVENTS:
        for message in consumer.consume(1000, 1.0):
            started = started or perf_counter()
            event: Any = fastavro.schemaless_reader(BytesIO(message.value()[5:]), schema, None)
            json.loads(event["payload"]["value"])
            count += 1
    seconds = perf_counter() - started
    consumer.close()
    return count / seconds


def judged(what: str, value: float, goal: float) -> bool:
    """Print a ratio beside its goal; whether it is met."""
    met = value >= goal
    print(f"  {what:<58} {value:>8.2f}  goal {goal:>5.1f}  {'' if met else 'MISSED'}")
    return met


def told(what: str, rate: float) -> None:
    """Print a rate."""
    print(f"  {what:<58} {rate:>8,.0f} events/s")


def main() -> int:
    """Run everything on the settings' cluster; 1 if a goal is missed."""
    settings = load_settings().settings
    with (
        own_topic(settings, PARTITIONS) as topic,
        own_topic(settings, 1) as single,
        tempfile.TemporaryDirectory() as folder,
    ):
        send_platform_events(settings, topic, EVENTS)
        send_platform_events(settings, single, 2 * HANDLED_BEFORE_KILL)
        bench, in_order = (Bench(settings, name, Path(folder)) for name in (topic, single))
        ours, sync, met = against_bare(bench, settings, topic)
        met += [*kept_place(in_order), *against_peer(bench, in_order, ours, sync), *side_by_side(bench)]
    return 0 if all(met) else 1


def against_bare(bench: Bench, settings: Settings, topic: str) -> tuple[float, float, list[bool]]:
    """A no-op action against the bare loop, in turn; our rates with default and with synchronous commits.

    The best of several rounds counts, for each alike: whatever else the machine does only makes them slower.
    """
    rounds = [(bare(settings, topic), bench.rate(OURS, EVENTS, {})) for _ in range(ROUNDS)]
    loop, default = (max(column) for column in zip(*rounds, strict=True))
    told("bare loop of consume(1000), fastavro, json", loop)
    told("penstock, no-op action, default commits", default)
    sync = max(bench.rate(OURS, EVENTS, {"commit": "sync"}) for _ in range(ROUNDS))
    told("penstock, no-op action, commit: sync", sync)
    return default, sync, [judged("of the bare loop", default / loop, OF_BARE)]


def kept_place(bench: Bench) -> list[bool]:
    """How much a kill -9 costs."""
    repeats = bench.repeats(OURS, {})
    print(f"  penstock repeats {repeats:,} events after kill -9 of {HANDLED_BEFORE_KILL:,} (at most {MAX_REPEATS:,})")
    return [repeats <= MAX_REPEATS]


def against_peer(bench: Bench, in_order: Bench, ours: float, sync: float) -> list[bool]:
    """DataHub Actions with the same file, in its two modes."""
    program = datahub_actions()
    if program is None:
        return []
    peer = [str(program), "actions", "run", "-c"]
    default = max(bench.rate(peer, PEER_EVENTS, {}) for _ in range(ROUNDS))
    told("DataHub Actions, asynchronous commits (its default)", default)
    safe = max(bench.rate(peer, PEER_SYNC_EVENTS, {"async_commit_enabled": False}) for _ in range(ROUNDS))
    told("DataHub Actions, synchronous commits", safe)
    repeats = in_order.repeats(peer, {})
    print(f"  DataHub Actions repeats {repeats:,} events after kill -9 of {HANDLED_BEFORE_KILL:,}")
    return [
        judged("of DataHub Actions' default", ours / default, OF_PEER),
        judged("commit: sync, of DataHub Actions' synchronous mode", sync / safe, OF_PEER_SYNC),
    ]


def side_by_side(bench: Bench) -> list[bool]:
    """An action that waits: one at a time, and many at once with the events of one key in order."""
    alone = bench.rate(OURS, ALONE_EVENTS, {}, wait=WAIT)
    told("an action of 10 ms, one at a time", alone)
    together = bench.rate(OURS, TOGETHER_EVENTS, {}, wait=WAIT, concurrency=CONCURRENCY)
    told(f"an action of 10 ms, concurrency: {CONCURRENCY}, 1,000 keys", together)
    return [judged("of one at a time", together / alone, OF_ALONE)]


if __name__ == "__main__":
    sys.exit(main())
