"""The catalog at 10 thousand and at 1 million datasets: the cost of a merge, how long a search takes, and COPY."""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from _catalog import answer, bare_copy_seconds, own_database, seconds

from penstock.catalog.database import Database
from penstock.catalog.find.search import search
from penstock.catalog.intake import take
from penstock.catalog.staging.rows import StagedRow
from penstock.catalog.staging.tables import COMPACTION, METADATA_CHANGE, TableName
from penstock.config import Settings
from penstock.events.record import Offset, Origin, Partition, TopicName

SMALL, LARGE = 10_000, int(os.environ.get("DATASETS", "1000000"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
BATCH = 2_000
MOST_GROWTH = 2.0
MOST_SECONDS = 0.1
OF_COPY = 0.3

WORDS = ("page view", "event", "member", "orders 4711", "jane", "pii", "hive", "kafka", "field orders", "t77 member")

# Datasets as if they had come through events: names of some words, ten fields, an owner, some with a tag, a load each.
# The last fifth came at once, from another platform. Search words are put together as text, which is much cheaper than
# taking them from names, and rows are written in the order of their keys where the order is of no account.
FILL = r"""
SET synchronous_commit = off;
SET maintenance_work_mem = '256MB';
INSERT INTO dataset (urn, platform, name, origin, first_seen)
SELECT concat('urn:li:dataset:(urn:li:dataPlatform:', platform, ',', name, ',PROD)'), platform, name, 'PROD',
    to_timestamp(n)
FROM generate_series(1, {count}) AS n, LATERAL (SELECT
    CASE WHEN n > {count} * 0.8 THEN 'kafka' ELSE 'hive' END AS platform,
    concat((ARRAY['tracking', 'sales', 'ads', 'jobs', 'member'])[1 + n % 5], '.',
        (ARRAY['page_view', 'orders', 'click', 'session', 'invite'])[1 + n / 7 % 5],
        (ARRAY['_event', '_daily', '_raw'])[1 + n / 3 % 3], '_t', n % 997, '_', n) AS name) AS named;
INSERT INTO dataset_owner SELECT urn, 'change',
    'urn:li:corpuser:' || (ARRAY['jane', 'joe', 'ann'])[1 + abs(hashtext(urn)) % 3], 'DATAOWNER', first_seen
FROM dataset ORDER BY urn;
INSERT INTO dataset_tag SELECT urn, 'change', 'urn:li:tag:pii' FROM dataset WHERE hashtext(urn) % 10 = 0 ORDER BY urn;
DROP INDEX dataset_search_words;
INSERT INTO dataset_search
SELECT urn, concat(platform, ':1A ', replace(translate(name, '._', '  '), ' ', ':2A '), ':2A ', substr(owner, 17),
    ':3C corpuser:2C field:4D 1:5D 2:6D 3:7D 4:8D', CASE WHEN tag IS NOT NULL THEN ' tag:2B pii:3B' END)::tsvector
FROM dataset d JOIN dataset_owner USING (urn) LEFT JOIN dataset_tag USING (urn) ORDER BY d.first_seen;
CREATE INDEX dataset_search_words ON dataset_search USING gin (words);
INSERT INTO observed_value SELECT sha256(convert_to(v::text, 'UTF8')), v FROM (SELECT jsonb_agg(jsonb_build_object(
    'path', 'field_' || f, 'type', 'string', 'nullable', true)) AS v FROM generate_series(1, 10) AS f) AS x;
INSERT INTO dataset_schema
SELECT urn, 'change', 1, value, '{{"added": [], "removed": [], "modified": []}}', digest, first_seen
FROM dataset, observed_value ORDER BY urn;
INSERT INTO observation SELECT urn, 'schema', 'change', first_seen, digest, NULL, 'fill', 0, 0
FROM dataset, observed_value ORDER BY urn;
INSERT INTO dataset_load_status (urn, cluster, operation_type, partition_grain, partition_expr, record_count, log_time,
    kafka_topic, kafka_partition, kafka_offset)
SELECT urn, 'c1', 'compact', 'daily', '2016/07/01', 1, first_seen, 'fill', 0, 0 FROM dataset ORDER BY urn;
"""


@contextmanager
def catalog(count: int) -> Iterator[Database]:
    """A catalog with so many datasets, in a database that is dropped afterwards."""
    with own_database() as settings, Database(settings) as database:
        took = seconds(lambda: fill(settings, count))
        print(f"  {count:,} datasets made in {took:,.0f} s")
        yield database


def fill(settings: Settings, count: int) -> None:
    """Make the datasets, and let PostgreSQL look at them as autovacuum would."""
    with psycopg.connect(settings.database.get_secret_value(), autocommit=True) as connection:
        connection.execute("SET search_path = catalog")
        connection.execute(FILL.format(count=count).encode())
        connection.execute("VACUUM ANALYZE")


def sampled(database: Database, number: int) -> list[str]:
    """As many datasets as a batch has, others in each round."""
    query = "SELECT urn FROM dataset WHERE platform = 'hive' ORDER BY hashtext(urn || %s) LIMIT %s"
    with database.transaction() as connection:
        return [urn for (urn,) in connection.execute(query, [str(number), BATCH])]


def change(urn: str, number: int, index: int) -> StagedRow:
    """A metadata change event."""
    fields = [{"path": f"field_{item}_{number}", "type": "string", "nullable": True} for item in range(10)]
    values = {
        "urn": urn,
        "change_type": "UPSERT",
        "schema_fields": json.dumps(fields),
        "owners": json.dumps([{"owner": f"urn:li:corpuser:u{number}", "type": "DATAOWNER"}]),
        "log_event_time": 2_000_000_000_000 + number,
    }
    return StagedRow(origin("changes", number * BATCH + index), values)


def loads(number: int, partition: int) -> list[StagedRow]:
    """Compactions of a partition of as many datasets as a batch has, others for each number."""
    return [
        StagedRow(
            origin(f"loads-{number}", partition * BATCH + index),
            {
                "cluster": "c1",
                "dataset": f"/data/tracking/event_{number}_{index}",
                "partition_type": "daily",
                "partition_name": f"{2000 + partition // 28}/07/{partition % 28 + 1:02}",
                "record_count": 1000 + index,
                "late_record_count": 0,
                "job_context": "Gobblin:CompactionRecordCounts",
                "project_name": "project",
                "flow_name": "flow",
                "job_name": "job",
                "flow_exec_id": partition,
                "log_event_time": 1_468_108_800_000 + partition,
            },
        )
        for index in range(BATCH)
    ]


def origin(topic: str, offset: int) -> Origin:
    """A place in Kafka."""
    return Origin(TopicName(topic), Partition(0), Offset(offset))


def merge_seconds(database: Database, table: TableName, rows: Sequence[StagedRow]) -> float:
    """How long a batch takes into staging and merged."""
    return seconds(lambda: take(database, table, rows))


def main() -> int:
    """Print the figures; 1 if one of them misses its goal."""
    with catalog(SMALL) as small, catalog(LARGE) as large:
        return max(compare_merges(small, large), compare_copy(small), time_searches(large))


def compare_merges(small: Database, large: Database) -> int:
    """The same batches into both, in turn."""
    took: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS + 1):
        for name, database in (("small", small), ("large", large)):
            urns = sampled(database, number)
            batches = {
                "changes": (METADATA_CHANGE, [change(urn, number, index) for index, urn in enumerate(urns)]),
                "loads of new datasets": (COMPACTION, loads(number, 0)),
                "loads": (COMPACTION, loads(number, 1)),
            }
            for kind, (table, rows) in batches.items():
                spent = merge_seconds(database, table, rows)
                if number:
                    took.setdefault((kind, name), []).append(spent)
    missed = 0
    for kind in dict.fromkeys(kind for kind, _ in took):
        before, after = (statistics.median(took[kind, name]) for name in ("small", "large"))
        told = (f"{spent * 1000:,.0f} ms among {size:,}" for spent, size in ((before, SMALL), (after, LARGE)))
        print(f"  a batch of {BATCH:,} {kind}: {', '.join(told)}")
        print(f"  ratio {after / before:.2f}, goal {MOST_GROWTH:.2f} at most")
        missed |= after / before > MOST_GROWTH
    return missed


def compare_copy(database: Database) -> int:
    """Loads a second into staging and merged, against bare COPY of every row that this writes, into the same tables."""
    ratios, rates = [], []
    for number in range(1, 1 + ROUNDS):
        rows = [row for part in range(5) for row in loads(0, number * 5 + part)]
        [(told,)] = answer(database, "SELECT coalesce(max(id), 0) FROM outbox")
        ours = merge_seconds(database, COMPACTION, rows)
        first = rows[0].origin.offset
        written = {COMPACTION: f"kafka_offset >= {first}", "dataset_load_status": f"kafka_offset >= {first}"}
        written |= {"outbox": f"id > {told}"}
        ratios.append(bare_copy_seconds(database, written) / ours)
        rates.append(len(rows) / ours)
    ratio = statistics.median(ratios)
    print(f"  {statistics.median(rates):,.0f} loads/s staged and merged, {ratio:.2f} of bare COPY, goal {OF_COPY:.2f}")
    return int(ratio < OF_COPY)


def time_searches(database: Database) -> int:
    """Every search a few times; the slowest of the medians counts."""
    slowest = 0.0
    with database.transaction() as connection:
        for words in WORDS:
            spent = statistics.median(seconds(lambda text=words: search(connection, text)) for _ in range(ROUNDS))
            print(f"  search {words!r:<22} {spent * 1000:>6.1f} ms")
            slowest = max(slowest, spent)
    print(f"  slowest {slowest * 1000:.0f} ms among {LARGE:,}, goal {MOST_SECONDS * 1000:.0f} ms at most")
    return int(slowest > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
