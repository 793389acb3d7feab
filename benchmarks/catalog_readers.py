"""DataHub's own Actions client reads what the catalog tells: every MetadataChangeLog and every EntityChangeEvent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import yaml
from _datahub_peer import datahub_actions

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.staging.rows import StagedRow
from penstock.catalog.staging.tables import COMPACTION, JOB_EXECUTION, METADATA_CHANGE
from penstock.catalog.telling.messages import CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC
from penstock.catalog.telling.outbox import Sender
from penstock.config import Settings, load_settings
from penstock.events.record import GroupName, Offset, Origin, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import commit_offsets, end_offsets
from penstock.kafka.start import find_partitions

CHANGES = [
    *("LIFECYCLE CREATE", "TECHNICAL_SCHEMA ADD", "TECHNICAL_SCHEMA ADD", "OWNER ADD", "TAG ADD"),
    *("TECHNICAL_SCHEMA REMOVE", "DEPRECATION MODIFY", "LIFECYCLE SOFT_DELETE", "RUN COMPLETED"),
]
RUNS = ["RUN STARTED", "RUN COMPLETED"]
ASPECTS = [
    *("datasetKey", "status", "schemaMetadata", "ownership", "globalTags"),
    *("schemaMetadata", "deprecation", "status"),
]
_SECONDS = 120

Read = tuple[str, dict[str, str]]
"""An event that DataHub's client read: its type, and what is in it."""


def main() -> int:
    """Change and load a dataset, tell it, and see what DataHub's client makes of it; 1 if something is missing.

    Where DataHub's client cannot be had nothing is known, which is no success either.
    """
    program = datahub_actions()
    if program is None:
        return 1
    settings = load_settings().settings
    name = f"bench-{uuid.uuid4().hex[:8]}"
    dataset = f"urn:li:dataset:(urn:li:dataPlatform:hdfs,/data/{name},PROD)"
    job = f"urn:li:dataJob:(urn:li:dataFlow:(azkaban,flow,PROD),{name})"
    with Database(settings) as database, Sender(database, settings) as sender:
        sender.send_all()
        skip_what_is_there(settings, name)
        change_dataset(database, dataset)
        load_dataset(database, name)
        sender.send_all()
    read = read_by_datahub(program, settings, name, {dataset, job})
    changes, runs = changes_of(read, dataset), changes_of(read, job)
    aspects = [event["aspectName"] for kind, event in read if kind == "MetadataChangeLogEvent_v1"]
    print(f"  DataHub Actions read {len(aspects)} MetadataChangeLogs: {', '.join(aspects)}")
    print(f"  and {len(changes) + len(runs)} EntityChangeEvents: {', '.join(changes + runs)}")
    return int((changes, runs, aspects) != (CHANGES, RUNS, ASPECTS))


def changes_of(read: list[Read], urn: str) -> list[str]:
    """The categories and operations of an entity's changes, in the order in which they were read."""
    events = (event for kind, event in read if kind == "EntityChangeEvent_v1" and event["entityUrn"] == urn)
    return [f"{event['category']} {event['operation']}" for event in events]


def skip_what_is_there(settings: Settings, group: str) -> None:
    """Let the group begin at the end of both topics, which may hold much by now."""
    with Admin(settings) as admin:
        places = find_partitions(admin, [CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC])
        commit_offsets(admin, GroupName(group), end_offsets(admin, places))


def change_dataset(database: Database, urn: str) -> None:
    """A dataset appears, loses a field and is deprecated, and is removed."""
    said = [
        {"schema_fields": fields("id", "page"), "owners": '[{"owner": "ann", "type": "DATAOWNER"}]', "tags": '["pii"]'},
        {"schema_fields": fields("id"), "deprecated": True},
        {"change_type": "DELETE"},
    ]
    for number, values in enumerate(said):
        origin = Origin(TopicName(urn), Partition(0), Offset(number))
        row = {"urn": urn, "change_type": "UPSERT", "log_event_time": 1000 + number, **values}
        take(database, METADATA_CHANGE, [StagedRow(origin, row)])


def load_dataset(database: Database, name: str) -> None:
    """A job runs and ends, and a partition of the dataset is loaded."""
    job = {"application": "azkaban", "flow_name": "flow", "job_name": name, "execution_id": "1"}
    none = {"input_datasets": "[]", "output_datasets": "[]"}
    runs = [
        {**job, **none, "status": status, "log_event_time": at} for at, status in ((1, "RUNNING"), (2, "SUCCEEDED"))
    ]
    load = {"cluster": "c", "dataset": f"/data/{name}", "partition_name": "2016/07/10", "log_event_time": 3}
    for table, rows in ((JOB_EXECUTION, runs), (COMPACTION, [load])):
        places = (Origin(TopicName(name), Partition(0), Offset(number)) for number in range(len(rows)))
        take(database, table, [StagedRow(place, row) for place, row in zip(places, rows, strict=True)])


def fields(*paths: str) -> str:
    """A schema of texts."""
    return json.dumps([{"path": path, "type": "string", "nullable": True} for path in paths])


def read_by_datahub(program: Path, settings: Settings, name: str, urns: set[str]) -> list[Read]:
    """What DataHub's hello_world action prints of dataset and job, as a file of DataHub's own form makes it do."""
    connection = {"bootstrap": settings.bootstrap, "schema_registry_url": settings.registry}
    source = {"connection": connection, "topic_routes": {"mcl": CHANGE_LOG_TOPIC, "pe": PLATFORM_EVENT_TOPIC}}
    pipeline = {"name": name, "source": {"type": "kafka", "config": source}}
    with tempfile.TemporaryDirectory() as folder:
        file, printed = Path(folder, "actions.yaml"), Path(folder, "printed")
        file.write_text(yaml.safe_dump({**pipeline, "action": {"type": "hello_world"}}), encoding="utf-8")
        with printed.open("w", encoding="utf-8") as out:
            peer = subprocess.Popen(
                [str(program), "actions", "run", "-c", str(file)],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
            try:
                return await_events(printed, urns)
            finally:
                peer.kill()
                peer.wait()


def await_events(printed: Path, urns: set[str]) -> list[Read]:
    """The events in the file, once as many are there as are expected."""
    found: list[Read] = []
    for _ in range(_SECONDS):
        found = events_in(printed.read_text(encoding="utf-8", errors="replace"), urns)
        if len(found) >= len(CHANGES) + len(RUNS) + len(ASPECTS):
            break
        time.sleep(1)
    return found


def events_in(text: str, urns: set[str]) -> list[Read]:
    """The envelopes of these entities in what was printed; the last one may not be whole yet."""
    decoder, found = json.JSONDecoder(), list[Read]()
    for part in text.split("Received event:\n")[1:]:
        try:
            envelope, _ = decoder.raw_decode(part)
        except json.JSONDecodeError:
            break
        if envelope["event"].get("entityUrn") in urns:
            found.append((envelope["event_type"], envelope["event"]))
    return found


if __name__ == "__main__":
    sys.exit(main())
