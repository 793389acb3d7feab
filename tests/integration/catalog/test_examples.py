"""The examples that react to the catalog run as they are."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.staging.tables import COMPACTION, METADATA_CHANGE
from penstock.catalog.telling.messages import PLATFORM_EVENT_TOPIC
from penstock.catalog.telling.outbox import Sender
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from tests.integration.catalog.events import change, fields, load, owners, urn
from tests.running_pipeline import committed

EXAMPLES = Path(__file__).parents[3] / "examples" / "catalog"
DAY = 86_400_000


@contextmanager
def running(directory: Path, settings: Settings, *names: str) -> Iterator[Callable[[], str]]:
    """`penstock run` on examples; what it has printed so far."""
    command = [sys.executable, "-m", "penstock", "run", *(str(EXAMPLES / name) for name in names)]
    log = directory / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=directory, env=client_environment(settings))
    try:
        yield log.read_text
        process.terminate()
        assert process.wait(30) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def wait_for(condition: Callable[[], object], printed: Callable[[], str], seconds: float = 60) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, printed()
        time.sleep(0.1)


def test_owners_hear_of_removed_fields_and_late_and_shrunken_loads_raise_an_alarm(
    database: Database, catalog_settings: Settings, topic: str, tmp_path: Path
) -> None:
    now = round(time.time() * 1000)
    daily = {"partition_type": "daily"}
    late, shrunken = f"/data/late-{topic}", f"/data/shrunken-{topic}"
    take(database, METADATA_CHANGE, [change(1, name=topic, schema_fields=fields("id", "page"), owners=owners("ann"))])
    take(database, COMPACTION, [load(now - 3 * DAY, "day-1", 100, dataset=late, **daily)])
    take(database, COMPACTION, [load(now - DAY, "day-1", 100, dataset=shrunken, **daily)])
    with Sender(database, catalog_settings) as sender:
        sender.send_all()
        with running(tmp_path, catalog_settings, "field_removed.yaml", "load_alarm.yaml") as printed:
            for group in ("field-removed", "load-alarm"):
                wait_for(lambda: committed(catalog_settings, group, PLATFORM_EVENT_TOPIC) is not None, printed)  # noqa: B023 - called at once
            take(database, METADATA_CHANGE, [change(2, name=topic, schema_fields=fields("id"))])
            take(database, COMPACTION, [load(now, "day-2", 49, dataset=shrunken, **daily)])
            sender.send_all()
            wait_for(lambda: all(word in printed() for word in ("lost its field", "shrank", "is late")), printed)
    said = printed()
    assert f"urn:li:corpuser:ann: {urn(topic)} lost its field page (string)" in said
    assert f"{shrunken},PROD) shrank: day-2 has 49 records, 100 before" in said
    assert f"{late},PROD) is late: its last compact was day-1" in said
    assert f"{shrunken},PROD) is late" not in said
