"""Metadata jobs: tracking events from Kafka to the merged catalog, against bare COPY, and how soon one is visible.

`EVENTS` is the size of the topic for the rate, `SECONDS` how long the latency is watched. `PARTS` chooses among rate
and latency.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from threading import Thread

from _catalog import answer, bare_copy_seconds, copied_out, own_database
from _common import own_topic, percentiles

from penstock import Producer
from penstock.catalog.database import Database
from penstock.catalog.merge import merge
from penstock.catalog.staging.tables import COMPACTION, incoming
from penstock.catalog.staging.writer import prepare_incoming
from penstock.cli.own_stack import client_environment
from penstock.config import Settings

EVENTS = int(os.environ.get("EVENTS", "2000000"))
PARTS = os.environ.get("PARTS", "rate,latency").split(",")
LEAST_RATE = 10_000
OF_COPY = 0.3
RATE = 500
SECONDS = int(os.environ.get("SECONDS", "60"))
WARM_UP = 15
MOST_SECONDS = 2.0
START_SECONDS = 180
DATASETS = 2_000
PARTITIONS = 2
COPY_ROUNDS = 3
WRITTEN = (COMPACTION, "dataset", "dataset_search", "dataset_load_status", "outbox")
"""The tables that compactions are written to."""

TEXTS = {"type": "map", "values": "string"}
TRACKING_EVENT = {
    "type": "record",
    "name": "GobblinTrackingEvent",
    "namespace": "gobblin.metrics",
    "fields": [
        {"name": "timestamp", "type": ["long", "null"], "default": 0},
        {"name": "namespace", "type": ["string", "null"]},
        {"name": "name", "type": "string"},
        {"name": "metadata", "type": TEXTS, "default": {}},
    ],
}
JOB = """\
group.id={name}
auto.commit.interval.ms={trigger}
auto.offset.reset=earliest
kafka.topics={topic}
kafka.processors=GobblinTrackingCompactionProcessor
kafka.db.tables=stg_kafka_gobblin_compaction
"""


def compaction(number: int) -> dict[str, object]:
    """A compaction of a partition that no other event is about."""
    day = date(2020, 1, 1) + timedelta(days=number // DATASETS)
    return {
        "timestamp": 1_700_000_000_000 + number,
        "namespace": "compaction.tracking.events",
        "name": "CompactionRecordCounts",
        "metadata": {
            "clusterIdentifier": "grid-1",
            "DatasetOutputPath": f"/data/tracking/Event{number % DATASETS}/daily/{day:%Y/%m/%d}",
            "RegularRecordCount": str(1000 + number % 77),
            "LateRecordCount": "0",
            "azkabanProjectName": "tracking",
            "azkabanFlowId": "compaction",
            "azkabanJobId": "daily",
            "azkabanExecId": str(number),
        },
    }


@contextmanager
def running_job(settings: Settings, topic: str, trigger: int) -> Iterator[None]:
    """`penstock jobs run`, as its users start it, with one job on the topic."""
    name, program = f"bench-{uuid.uuid4().hex[:8]}", [sys.executable, "-m", "penstock", "jobs"]
    environment = client_environment(settings)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.job")
        file.write_text(JOB.format(name=name, trigger=trigger, topic=topic), encoding="utf-8")
        subprocess.run([*program, "import", str(file)], env=environment, check=True, stdout=subprocess.DEVNULL)
        with Path(folder, "log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen([*program, "run", name], env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            yield
        except TimeoutError:
            print(Path(folder, "log").read_text(encoding="utf-8")[-5000:])
            raise
        finally:
            process.terminate()
            process.wait(60)


def measure_rate(settings: Settings, database: Database) -> int:
    """Events a second from the first commit on, of a topic that is full when the job starts.

    Until the last is merged, and until all changes are told as well: the second one counts, so that a job that leaves
    its sender behind gains nothing by it.
    """
    with own_topic(settings, PARTITIONS) as topic:
        with Producer(topic, TRACKING_EVENT, settings=settings) as producer:
            for number in range(EVENTS):
                producer.send(compaction(number))
        with running_job(settings, topic, 1000):
            seen = [(time.perf_counter(), count) for count in counts(database, topic, EVENTS)]
            waiting, told = untold_changes(database), all_told_at(database)
    (start, first), (end, last) = seen[0], seen[-1]
    check_rows(database)
    bare = EVENTS / all_copied_seconds(database)
    print(f"  {bare:,.0f} events/s by bare COPY of all rows that were written")
    merged, rate = ((last - first) / (moment - start) for moment in (end, told))
    print(f"  {merged:,.0f} events/s from Kafka to merged, {merged / bare:.2f} of it; {waiting:,} changes waited then")
    print(f"  {rate:,.0f} events/s until all were told, {rate / bare:.2f} of it; goals {LEAST_RATE:,}, {OF_COPY:.2f}")
    return int(rate < LEAST_RATE or rate / bare < OF_COPY)


def untold_changes(database: Database) -> int:
    """How many changes wait in the outbox."""
    [(count,)] = answer(database, "SELECT count(*) FROM outbox")
    return count


def all_told_at(database: Database) -> float:
    """When no change waits any more."""
    give_up = time.monotonic() + START_SECONDS
    while untold_changes(database):
        if time.monotonic() > give_up:
            raise TimeoutError("changes are not told")
        time.sleep(0.1)
    return time.perf_counter()


def check_rows(database: Database) -> None:
    """Make sure that every event is staged and merged."""
    for table in (COMPACTION, "dataset_load_status"):
        [(count,)] = answer(database, f"SELECT count(*) FROM {table}")  # noqa: S608 - the benchmark's own
        if count != EVENTS:
            raise ValueError(f"{table} has {count:,} rows, not {EVENTS:,}")


def all_copied_seconds(database: Database) -> float:
    """How long bare COPY takes for all rows that the job wrote.

    What was told is gone from the outbox, so the same events are merged again where nobody tells.
    """
    with own_database() as settings, Database(settings) as untold:
        for rows in copied_out(database, COMPACTION):
            merge_again(untold, rows)
        return bare_copy_seconds(untold, dict.fromkeys(WRITTEN, "true"), COPY_ROUNDS)


def merge_again(database: Database, rows: bytes) -> None:
    """Stage and merge rows of another database."""
    arriving = incoming(COMPACTION)
    with database.transaction() as connection:
        prepare_incoming(connection, COMPACTION)
        with connection.cursor() as cursor, cursor.copy(f"COPY {arriving} FROM STDIN".encode()) as sink:
            sink.write(rows)
        connection.execute(f"INSERT INTO {COMPACTION} SELECT * FROM {arriving}".encode())  # noqa: S608 - as above
        merge(connection)


def counts(database: Database, topic: str, wanted: int) -> Iterator[int]:
    """How many events are merged, each time that there are more, until all are; the job's own progress tells."""
    last, give_up = 0, time.monotonic() + START_SECONDS
    query = f"""SELECT coalesce(sum(value::bigint), 0)::bigint FROM job_progress
        CROSS JOIN LATERAL jsonb_each_text(position #> '{{offsets,{topic}}}')"""  # noqa: S608 - the benchmark's own
    while last < wanted:
        [(count,)] = answer(database, query)
        if count > last:
            last, give_up = count, time.monotonic() + START_SECONDS
            yield count
        if time.monotonic() > give_up:
            raise TimeoutError(f"{count:,} of {wanted:,} events were merged")
        time.sleep(0.1)


def measure_latency(settings: Settings, database: Database) -> int:
    """How long after it was sent an event is in the catalog, at a steady rate, once the job is warm."""
    count, sent = RATE * (WARM_UP + SECONDS), list[float]()
    with (
        own_topic(settings, 1) as topic,
        Producer(topic, TRACKING_EVENT, settings=settings) as producer,
        running_job(settings, topic, 200),
    ):
        sending = Thread(target=send_steadily, args=(producer, count, sent))
        producer.send_sync(compaction(EVENTS))
        seen_at(database, topic, 1)
        sending.start()
        seen = seen_at(database, topic, 1 + count)[1:]
        sending.join()
    waits = [at - since for at, since in zip(seen, sent, strict=True)][RATE * WARM_UP :]
    return int(percentiles(f"sent to visible at {RATE} events/s", sorted(waits)) > MOST_SECONDS)


def send_steadily(producer: Producer, count: int, sent: list[float]) -> None:
    """Send so many events, each at its time, and note when."""
    start = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, start + number / RATE - time.perf_counter()))
        sent.append(time.perf_counter())
        producer.send(compaction(EVENTS + 1 + number))


def seen_at(database: Database, topic: str, count: int) -> list[float]:
    """When each of the first events of the topic's one partition was first seen; rows of one commit appear at once."""
    query = f"SELECT max(kafka_offset) FROM {COMPACTION} WHERE kafka_topic = '{topic}' AND kafka_partition = 0"  # noqa: S608 - the benchmark's own
    seen: list[float] = []
    give_up = time.monotonic() + START_SECONDS + WARM_UP + SECONDS
    while len(seen) < count:
        [(offset,)] = answer(database, query)
        seen += [time.perf_counter()] * (-1 if offset is None else offset + 1 - len(seen))
        if time.monotonic() > give_up:
            raise TimeoutError(f"{len(seen):,} of {count:,} events were seen")
        time.sleep(0.02)
    return seen


MEASURES = {"rate": measure_rate, "latency": measure_latency}


def main() -> int:
    """Print the figures; 1 if one of them misses its goal."""
    with own_database() as settings, Database(settings) as database:
        return max(MEASURES[part](settings, database) for part in PARTS)


if __name__ == "__main__":
    sys.exit(main())
