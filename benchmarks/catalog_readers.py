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
from penstock.catalog.staging.tables import METADATA_CHANGE
from penstock.catalog.telling.messages import CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC
from penstock.catalog.telling.outbox import Sender
from penstock.config import Settings, load_settings
from penstock.events.record import GroupName, Offset, Origin, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import commit_offsets, end_offsets
from penstock.kafka.start import find_partitions

CHANGES = [
    *("LIFECYCLE CREATE", "TECHNICAL_SCHEMA ADD", "TECHNICAL_SCHEMA ADD", "OWNER ADD", "TAG ADD"),
    *("TECHNICAL_SCHEMA REMOVE", "DEPRECATION MODIFY", "LIFECYCLE SOFT_DELETE"),
]
ASPECTS = [
    *("datasetKey", "status", "schemaMetadata", "ownership", "globalTags"),
    *("schemaMetadata", "deprecation", "status"),
]
_SECONDS = 120


def main() -> int:
    """Change a dataset three times, tell it, and see what DataHub's client makes of it; 1 if something is missing."""
    program = datahub_actions()
    if program is None:
        return 0
    settings = load_settings().settings
    name = f"bench-{uuid.uuid4().hex[:8]}"
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    with Database(settings) as database, Sender(database, settings) as sender:
        sender.send_all()
        skip_what_is_there(settings, name)
        change_dataset(database, urn)
        sender.send_all()
    read = read_by_datahub(program, settings, name, urn)
    changes = [f"{event['category']} {event['operation']}" for kind, event in read if kind == "EntityChangeEvent_v1"]
    aspects = [event["aspectName"] for kind, event in read if kind == "MetadataChangeLogEvent_v1"]
    print(f"  DataHub Actions read {len(aspects)} MetadataChangeLogs: {', '.join(aspects)}")
    print(f"  and {len(changes)} EntityChangeEvents: {', '.join(changes)}")
    return int((changes, aspects) != (CHANGES, ASPECTS))


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


def fields(*paths: str) -> str:
    """A schema of texts."""
    return json.dumps([{"path": path, "type": "string", "nullable": True} for path in paths])


def read_by_datahub(program: Path, settings: Settings, name: str, urn: str) -> list[tuple[str, dict[str, str]]]:
    """What DataHub's hello_world action prints of the dataset, as a file of DataHub's own form makes it do."""
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
                return await_events(printed, urn)
            finally:
                peer.kill()
                peer.wait()


def await_events(printed: Path, urn: str) -> list[tuple[str, dict[str, str]]]:
    """The dataset's events in the file, once as many are there as are expected."""
    found: list[tuple[str, dict[str, str]]] = []
    for _ in range(_SECONDS):
        found = events_in(printed.read_text(encoding="utf-8", errors="replace"), urn)
        if len(found) >= len(CHANGES) + len(ASPECTS):
            break
        time.sleep(1)
    return found


def events_in(text: str, urn: str) -> list[tuple[str, dict[str, str]]]:
    """The envelopes in what was printed; the last one may not be whole yet."""
    decoder, found = json.JSONDecoder(), []
    for part in text.split("Received event:\n")[1:]:
        try:
            envelope, _ = decoder.raw_decode(part)
        except json.JSONDecodeError:
            break
        if envelope["event"].get("entityUrn") == urn:
            found.append((envelope["event_type"], envelope["event"]))
    return found


if __name__ == "__main__":
    sys.exit(main())
