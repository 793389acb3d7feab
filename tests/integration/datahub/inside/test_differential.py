"""Fifty files, each run by DataHub and by Penstock over the same topics of a real Kafka, must do the same."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from datahub.metadata.schema_classes import MetadataChangeLogClass

from penstock import Producer
from penstock.config import Settings
from penstock.events.record import GroupName, Offset, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import PartitionId, committed_offsets
from tests.integration.datahub.inside.configurations import ACTIONS, ENDING, FILTERS, MODULE, STEPS
from tests.metadata_events import PLATFORM_EVENT, change_log, entity_change, platform_event

EVENTS = 60
PATIENT = {"auto.offset.reset": "earliest", "session.timeout.ms": 60_000, "max.poll.interval.ms": 120_000}
"""A machine under load must not make a group move on, which would repeat events."""

ROUTES = ("mcl", "mcl_timeseries", "pe")
PROGRAMS = {
    "datahub": ("-c", "from datahub_actions.entrypoints import main; main()", "actions"),
    "penstock": ("-m", "penstock", "run"),
}


def entity_changes() -> Iterator[dict[str, Any]]:
    """PlatformEvents of every kind; the first and the last are of one that DataHub knows."""
    for number in range(EVENTS):
        if number % 17 == 16:
            yield platform_event({"n": number}, "notificationEvent")
        elif number % 5 == 1:
            level = {"properties": {"level": str(number % 3)}} if number % 2 else {}
            relation = {"sourceUrn": "urn:li:a", "destinationUrn": f"urn:li:{number}", "relationshipType": "Owns"}
            stamp = {"actor": "urn:li:corpuser:joe", "time": number}
            operation = ("ADD", "REMOVE")[number % 2]
            yield platform_event(
                {**relation, **level, "operation": operation, "auditStamp": stamp}, "relationshipChangeEvent"
            )
        else:
            more: dict[str, Any] = {
                "category": ("TAG", "OWNER", "DOMAIN", "")[number % 4],
                "operation": ("ADD", "REMOVE")[number % 2],
                "modifier": None if number % 6 == 0 else f"urn:li:tag:{number % 3}",
                "parameters": {"tagUrn": f"urn:li:tag:{number % 3}", "more": [{"a": number}]},
                "auditStamp": {"actor": f"urn:li:corpuser:{('jane', 'joe')[number % 2]}", "time": number},
                "version": number % 4,
            }
            yield platform_event(entity_change(number, **more))


def change_logs() -> Iterator[dict[str, Any]]:
    """MetadataChangeLogs in DataHub's own schema."""
    stamp = {"time": 1, "actor": "urn:li:corpuser:jane"}
    for number in range(EVENTS):
        removed = b'{"removed":true}' if number % 2 else b'{"removed":false}'
        aspect = {"value": removed, "contentType": "application/json"}
        yield change_log(
            entityUrn=f"urn:li:dataset:{number}",
            entityType=("dataset", "chart")[number % 3 == 0],
            changeType=("UPSERT", "DELETE", "RESTATE")[number % 3],
            aspectName=("status", "ownership", "schemaMetadata")[number % 3],
            aspect=None if number % 7 == 3 else aspect,
            headers={"who": "me"} if number % 5 == 0 else None,
            systemMetadata={"runId": f"run-{number % 2}", "lastObserved": number, "properties": {"é": "ü"}},
            previousAspectValue=aspect if number % 4 == 0 else None,
            created=stamp if number % 2 else None,
        )


@dataclass(frozen=True)
class Bench:
    """Topics with events, and programs that run files over them."""

    settings: Settings
    topics: dict[str, str]
    home: Path

    def file(self, program: str, number: int, given: dict[str, Any], routes: Sequence[str]) -> Path:
        """A file for one of the programs: only its name and its folders differ."""
        connection = {
            "bootstrap": self.settings.bootstrap,
            "schema_registry_url": self.settings.registry,
            "consumer_config": PATIENT,
        }
        source = {
            "connection": connection,
            "topic_routes": {route: self.topics[route] for route in routes},
            "async_commit_interval": 200,
            **given.get("source", {}),
        }
        notes = self.home / program
        notes.mkdir(exist_ok=True)
        content = {
            **given,
            "name": self.name(program, number),
            "source": {"type": "kafka", "config": source},
            "action": {"type": f"{MODULE}:Recording", "config": {"notes": str(notes), **given.get("action", {})}},
            "options": {"failed_events_dir": str(notes / "failed"), **given.get("options", {})},
        }
        path = self.home / f"{self.name(program, number)}.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    def name(self, program: str, number: int) -> str:
        return f"{program}-{number}-{self.topics['pe'][-8:]}"

    def ends(self, admin: Admin, program: str, number: int, routes: Sequence[str]) -> list[int]:
        """How far the group came in each of its topics."""
        places = [PartitionId(TopicName(self.topics[route]), Partition(0)) for route in routes]
        found = committed_offsets(admin, GroupName(self.name(program, number)), places)
        return [found.get(place, Offset(0)) for place in places]

    def calls(self, program: str, number: int) -> dict[str, list[Any]]:
        """What the action was called with, topic by topic."""
        return by_topic(self.home / program / self.name(program, number), lambda line: (line[0], line))

    def failed(self, program: str, number: int) -> dict[str, list[Any]]:
        """The lines of the file of failed events, topic by topic."""
        directory = re.sub(r"[^\w\-_]", "_", self.name(program, number).lower())

        def read(line: Any) -> tuple[list[Any], Any]:
            place = line["meta"]["kafka"]
            where = [place[key] for key in ("topic", "partition", "offset")]
            return where, (where, line["event_type"], without_nulls(line["event"]))

        return by_topic(self.home / program / "failed" / directory / "failed_events.log", read)

    def start(
        self, program: str, given: Iterable[tuple[int, dict[str, Any]]], routes: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        files = [str(self.file(program, *each, routes)) for each in given]
        words = [word for file in files for word in (("-c", file) if program == "datahub" else (file,))]
        environment = {**os.environ, "PENSTOCK_DATA": str(self.home / "data")}
        with (self.home / "log").open("a") as log:
            command = [sys.executable, *PROGRAMS[program], *words]
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def without_nulls(value: Any) -> Any:
    """Penstock writes the fields that are null in a message; DataHub leaves them out."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def by_topic(path: Path, read: Callable[[Any], tuple[list[Any], Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for line in path.read_text().splitlines() if path.exists() else ():
        place, entry = read(json.loads(line))
        found[place[0]].append(entry)
    return dict(found)


@pytest.fixture
def bench(settings: Settings, create_topic: Any, topic: str, tmp_path: Path) -> Bench:
    topics = {
        route: create_topic(1, f"{topic[-60:]}-{route}-{topic[-8:]}") for route in ("mcl", "mcl_timeseries", "pe")
    }
    log_schema = json.loads(str(MetadataChangeLogClass.RECORD_SCHEMA))
    for route, schema, events in (
        ("mcl", log_schema, change_logs()),
        ("mcl_timeseries", log_schema, change_logs()),
        ("pe", PLATFORM_EVENT, entity_changes()),
    ):
        with Producer(topics[route], schema, settings=settings) as producer:
            for each in events:
                producer.send(each)
    return Bench(settings, topics, tmp_path)


@pytest.mark.timeout(500)
def test_the_same_files_do_the_same_in_both(bench: Bench) -> None:
    given = [*FILTERS, *STEPS, *ACTIONS]
    assert len(given) + len(ENDING) == 50
    running = {program: bench.start(program, enumerate(given), ROUTES) for program in PROGRAMS}

    waited = [(program, number) for program in PROGRAMS for number in range(len(given))]
    give_up = time.monotonic() + 400
    with Admin(bench.settings) as admin:
        while waited and time.monotonic() < give_up:
            time.sleep(1)
            waited = [each for each in waited if bench.ends(admin, *each, ROUTES) != [EVENTS] * len(ROUTES)]
    for process in running.values():
        process.send_signal(signal.SIGTERM)
    codes = {program: process.wait(60) for program, process in running.items()}
    assert waited == [], (bench.home / "log").read_text()[-5000:]
    assert codes == {"datahub": 0, "penstock": 0}
    found = differences(bench, range(len(given)))
    assert found == [], "\n".join(str(each)[:2000] for each in found)


@pytest.mark.timeout(300)
def test_files_that_throw_end_at_the_same_event_with_the_same_exit_code(bench: Bench) -> None:
    numbers = range(100, 100 + len(ENDING))
    running = {program: bench.start(program, zip(numbers, ENDING, strict=True), ["pe"]) for program in PROGRAMS}
    codes = {program: process.wait(200) for program, process in running.items()}
    assert codes == {"datahub": 1, "penstock": 1}, (bench.home / "log").read_text()[-5000:]
    with Admin(bench.settings) as admin:
        for program in PROGRAMS:
            assert [bench.ends(admin, program, number, ["pe"]) for number in numbers] == [[10], [12], [3]]
    assert differences(bench, numbers) == []


def differences(bench: Bench, numbers: Sequence[int]) -> list[object]:
    """Compare every call and every failed event, in the order of each topic; the first difference of each file."""
    found: list[object] = []
    for number in numbers:
        for read in (bench.calls, bench.failed):
            theirs, ours = (read(program, number) for program in PROGRAMS)
            if theirs != ours:
                found.append((number, read.__name__, first_difference(theirs, ours)))
    return found


def first_difference(theirs: dict[str, list[Any]], ours: dict[str, list[Any]]) -> object:
    for topic in sorted({*theirs, *ours}):
        one, other = theirs.get(topic, []), ours.get(topic, [])
        for place in range(max(len(one), len(other))):
            if one[place : place + 1] != other[place : place + 1]:
                return topic, len(one), len(other), one[place : place + 1], other[place : place + 1]
    return None
