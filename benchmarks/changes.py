"""Change data: a topic of Debezium's into a log and a mirror, what a larger mirror costs, and how long a commit takes.

`CHANGES` is how many changes go into the log, `MIRRORED` how many into the mirror of `ROWS` rows, and `LARGE_ROWS` the
size of the larger mirror. `SECONDS` is how long the latency is watched. `PARTS` chooses among log, mirror, growth and
latency; each has a process of its own.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from functools import partial

from _change_latency import RATE, commit_to_visible
from _changes import ENVELOPE, Orders, rows_after, traffic
from _common import ROUNDS, compare, each_apart, own_topic, percentiles, send
from _mirrors import BenchMirror
from _spark import Bench, Spec, spark_bench
from pyspark.sql import functions
from pyspark.sql.avro.functions import from_avro

from penstock.cli.own_stack import own_stack
from penstock.config import load_settings
from penstock.lake.lake import Lake
from penstock.local.stack import StackOptions

CHANGES = int(os.environ.get("CHANGES", "9900000"))
MIRRORED = int(os.environ.get("MIRRORED", "400000"))
ROWS = int(os.environ.get("ROWS", "1000000"))
LARGE_ROWS = int(os.environ.get("LARGE_ROWS", "10000000"))
SECONDS = float(os.environ.get("SECONDS", "60"))
PARTS = os.environ.get("PARTS", "log,mirror,growth,latency").split(",")
LOG_GOAL, LOG_RATE_GOAL, MIRROR_RATE_GOAL, GROWTH_GOAL = 0.50, 50_000, 8_000, 2.0
LOG_SECONDS_GOAL, MIRROR_SECONDS_GOAL = 4.0, 15.0
PARTITIONS = 4
BATCH = 100_000
GROWTH_BATCH = 10_000
WARMING_BATCHES = 5
MIRRORED_FROM = 100_000_000_000
"""A place in the database's log behind all of the batches that warm up."""

DIFFERENT = 400_000
"""How many changes of the log's topic are made; they come again in turn. Of any 20,000 rows, which is how many Parquet
looks at to choose an encoding, each has a place, a time and a transaction of its own, as changes of a database do."""


def only_parse(bench: Bench, topic: str) -> float:
    """Changes a second by Spark alone: read, decode the Avro, throw the rows away."""
    options = {"kafka.bootstrap.servers": bench.settings.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    body = functions.expr("substring(value, 6)")
    began = time.perf_counter()
    messages = bench.session.readStream.format("kafka").options(**options).load()
    rows = messages.select(from_avro(body, json.dumps(ENVELOPE)).alias("change")).select("change.*")
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = rows.writeStream.format("noop").trigger(availableNow=True).option("checkpointLocation", checkpoint)
        writer.start().awaitTermination()
        return CHANGES / (time.perf_counter() - began)


def into_log(bench: Bench, topic: str) -> float:
    """Changes a second into a log."""
    table = f"log_{uuid.uuid4().hex[:8]}"
    began = time.perf_counter()
    bench.run(pipeline(bench, topic, table, "log"))
    rate = CHANGES / (time.perf_counter() - began)
    _expect(Lake(bench.settings).table(table).summary().rows, CHANGES, table)
    return rate


def pipeline(bench: Bench, topic: str, table: str, mode: str, **source: object) -> Spec:
    """A pipeline of changes that ends when all is read."""
    connection = {"bootstrap": bench.settings.bootstrap, "schema_registry_url": bench.settings.registry}
    config = {"connection": connection, "topic": topic, "format": "debezium", **source}
    sink = {"type": "lake", "config": {"table": table, "mode": mode}, "trigger": "available_now"}
    name = f"bench-{uuid.uuid4().hex[:8]}"
    return {"name": name, "source": {"type": "kafka", "config": config}, "sinks": [sink]}


def _expect(found: int, wanted: int, where: str) -> None:
    if found != wanted:
        sys.exit(f"{where} has {found:,} rows, not {wanted:,}")


def log(bench: Bench) -> int:
    """The log's rate, and its ratio to Spark that only parses."""
    print(f"  {CHANGES:,} changes, {PARTITIONS} partitions")
    with own_topic(bench.settings, PARTITIONS) as topic:
        orders = Orders(bench.settings, topic)
        messages = itertools.cycle(list(traffic(orders, DIFFERENT, ROWS)))
        send(bench.settings, topic, itertools.islice(messages, CHANGES))
        for measure in (only_parse, into_log, into_log):
            measure(bench, topic)
        base = {"Spark, parsing only": partial(only_parse, bench, topic)}
        ours = {"changes into a log": partial(into_log, bench, topic)}
        return compare(base, ours, goal=LOG_GOAL, least=LOG_RATE_GOAL)


def mirror(bench: Bench) -> int:
    """The mirror's rate, while batches of a busy table come one after the other and Java has warmed up."""
    print(f"  {MIRRORED:,} changes of a table of {ROWS:,} rows, in batches of {BATCH:,}")
    target = BenchMirror(bench, ROWS)
    for _ in range(WARMING_BATCHES):
        target.change(GROWTH_BATCH)
    with own_topic(bench.settings, PARTITIONS) as topic:
        send(bench.settings, topic, traffic(Orders(bench.settings, topic, MIRRORED_FROM), MIRRORED, ROWS))
        began = time.perf_counter()
        bench.run(pipeline(bench, topic, target.table.name, "mirror", max_records=BATCH))
        rate = MIRRORED / (time.perf_counter() - began)
    _expect(Lake(bench.settings).table(target.table.name).summary().rows, rows_after(MIRRORED, ROWS), target.table.name)
    print(f"  {'changes into a mirror':<40} {rate:>10,.0f} records/s, goal {MIRROR_RATE_GOAL:,}")
    return int(rate < MIRROR_RATE_GOAL)


def growth(bench: Bench) -> int:
    """The same batch into a mirror and into one that is ten times as large."""
    print(f"  {GROWTH_BATCH:,} changes of random rows at a time")
    mirrors = [BenchMirror(bench, rows) for rows in (ROWS, LARGE_ROWS)]
    seconds: dict[int, list[float]] = {each.rows: [] for each in mirrors}
    for each in mirrors:
        each.change(GROWTH_BATCH)
    for number in range(ROUNDS):
        for each in mirrors if number % 2 else reversed(mirrors):
            seconds[each.rows].append(each.change(GROWTH_BATCH))
    small, large = (statistics.median(found) for found in seconds.values())
    print(f"  into {ROWS:,} rows {small:.2f} s, into {LARGE_ROWS:,} rows {large:.2f} s (medians of {ROUNDS} rounds)")
    print(f"  ratio {large / small:.2f}, goal below {GROWTH_GOAL:.2f}")
    return int(large / small >= GROWTH_GOAL)


def latency() -> int:
    """How long after its commit in PostgreSQL a change is visible, behind a real Debezium."""
    print(f"  {RATE:,} changes a second for {SECONDS:.0f} s, PostgreSQL and Debezium on the same machine")
    missed = 0
    with own_stack(StackOptions(cdc=True)) as client:
        for mode, goal in (("log", LOG_SECONDS_GOAL), ("mirror", MIRROR_SECONDS_GOAL)):
            late = percentiles(f"commit to visible in a {mode}", commit_to_visible(client, mode, SECONDS))
            missed += late >= goal
    print(f"  goals: p99 below {LOG_SECONDS_GOAL:g} s in a log, {MIRROR_SECONDS_GOAL:g} s in a mirror")
    return missed


def main() -> int:
    """Everything that is chosen; the exit code says whether all goals are met."""
    if len(PARTS) > 1:
        return each_apart(__file__, PARTS)
    if PARTS == ["latency"]:
        return latency()
    with spark_bench(load_settings().settings, "delta") as bench:
        return {"log": log, "mirror": mirror, "growth": growth}[PARTS[0]](bench)


if __name__ == "__main__":
    sys.exit(main())
