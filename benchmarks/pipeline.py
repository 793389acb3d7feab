"""Data pipelines on Spark: JSON to an Avro topic and to Parquet against Spark that only parses; memory; latency.

`EVENTS` is the size of the topic for the ratios, `LONG_EVENTS` that for the memory (10 million in full), `SECONDS` how
long the latency is watched. `PARTS` chooses among avro, parquet, memory and latency; each has a process of its own.

`EVENTS` is a little less than a multiple of a batch's size: Spark rounds each partition's share down, which leaves one
more batch of a few events behind a multiple.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import psutil
from _common import compare, each_apart, own_topic, percentiles
from _latency import LAKE_TRIGGER_SECONDS, RATE, batch_parts, journey, seconds_of, sent_at
from _spark import Bench, fill, pipeline, spark_bench, to_avro, to_lake
from pyspark.sql import functions

from penstock.config import Settings, load_settings
from penstock.kafka.span import find_span
from penstock.lake.lake import Lake
from penstock.spark.queries.runner import Runner

EVENTS = int(os.environ.get("EVENTS", "5900000"))
LONG_EVENTS = int(os.environ.get("LONG_EVENTS", "1000000"))
SECONDS = float(os.environ.get("SECONDS", "30"))
PARTS = os.environ.get("PARTS", "avro,parquet,memory,latency").split(",")
AVRO_GOAL, PARQUET_GOAL = 0.50, 0.65
GROWTH_GOAL = 1.15
TOPIC_GOAL_SECONDS, LAKE_GOAL_SECONDS = 1.0, LAKE_TRIGGER_SECONDS + 3.0
PARTITIONS = 4
BATCHES = 20
MIB = 1024 * 1024
Measure = Callable[[Bench, str], float]
FIELDS = ("Event_Type", "Event_Version", "User_ID", "Listing_ID", "Server_Time", "Device_Type")


def only_parse(bench: Bench, topic: str) -> float:
    """Events a second by Spark alone: read, parse the JSON, derive the day, throw the rows away."""
    ddl = ", ".join(f"{name} STRING" for name in FIELDS)
    options = {"kafka.bootstrap.servers": bench.settings.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    began = time.perf_counter()
    rows = (
        bench.session.readStream.format("kafka")
        .options(**options)
        .load()
        .select(functions.from_json(functions.col("value").cast("string"), ddl).alias("event"))
        .select("event.*", functions.substring("event.Server_Time", 1, 10).alias("Server_Date"))
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = rows.writeStream.format("noop").trigger(availableNow=True).option("checkpointLocation", checkpoint)
        writer.start().awaitTermination()
        return EVENTS / (time.perf_counter() - began)


def avro(bench: Bench, topic: str) -> float:
    """Events a second into an Avro topic."""
    with own_topic(bench.settings, PARTITIONS) as target:
        spec = pipeline(bench.settings, topic, to_avro(target, "available_now"))
        began = time.perf_counter()
        bench.run(spec)
        rate = EVENTS / (time.perf_counter() - began)
        _expect(find_span(bench.settings, [target]).size, EVENTS, target)
    return rate


def parquet(bench: Bench, topic: str) -> float:
    """Events a second into Parquet, by type and day."""
    table = f"events_{uuid.uuid4().hex[:8]}"
    spec = pipeline(bench.settings, topic, to_lake(table, "available_now"))
    began = time.perf_counter()
    bench.run(spec)
    rate = EVENTS / (time.perf_counter() - began)
    _expect(Lake(bench.settings).table(table).summary().rows, EVENTS, table)
    return rate


def _expect(found: int, wanted: int, where: str) -> None:
    if found != wanted:
        sys.exit(f"{where} has {found:,} events, not {wanted:,}")


def ratio(settings: Settings, name: str, ours: Measure, goal: float) -> int:
    """Compare a pipeline with Spark that only parses, once Java has warmed up for both."""
    print(f"  {EVENTS:,} events, {PARTITIONS} partitions")
    with own_topic(settings, PARTITIONS) as topic, spark_bench(settings) as bench:
        fill(settings, topic, EVENTS)
        base, measured = partial(only_parse, bench, topic), partial(ours, bench, topic)
        base()
        measured()
        return compare({"Spark, parsing only": base}, {name: measured}, goal=goal)


class Memory(NamedTuple):
    """What Spark's Java process holds: objects that are in use, and all its memory."""

    in_use: int
    resident: int


def memory(settings: Settings) -> int:
    """Watch what stays in memory while both pipelines read a long topic, batch by batch."""
    print(f"  memory over {LONG_EVENTS:,} events in {BATCHES} batches")
    with own_topic(settings, PARTITIONS) as topic, own_topic(settings, PARTITIONS) as target:
        fill(settings, topic, LONG_EVENTS)
        sinks = to_avro(target, "available_now"), to_lake("long_run", "available_now")
        spec = pipeline(settings, topic, *sinks, max_records=LONG_EVENTS // BATCHES)
        with spark_bench(settings) as bench, bench.runner(spec) as runner:
            thread = threading.Thread(target=runner.run, args=(threading.Event(),))
            thread.start()
            found = [_memory_at(bench, runner, share) for share in (0.3, 0.5, 0.7, 0.9)]
            thread.join()
    growth = found[-1].in_use / found[0].in_use
    print(f"  in use at the end {growth:.2f} times that after a third, goal at most {GROWTH_GOAL:.2f}")
    return int(growth > GROWTH_GOAL)


def _memory_at(bench: Bench, runner: Runner, share: float) -> Memory:
    while min(vitals.read for vitals, _ in runner.vitals()) < share * LONG_EVENTS:
        time.sleep(0.1)
    java = bench.session.sparkContext._jvm  # noqa: SLF001 - the only way to Java's own numbers
    java.System.gc()
    used = java.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    process = psutil.Process(java.java.lang.ProcessHandle.current().pid())
    found = Memory(used, process.memory_info().rss)
    print(f"  after {share:.0%}: {found.in_use // MIB:>6,} MiB in use, {found.resident // MIB:,} MiB resident")
    return found


def latency(settings: Settings) -> int:
    """Send at an even pace, and tell when events were answered, readable and countable."""
    print(f"  {RATE:,} events a second for {SECONDS:.0f} s, the lake's trigger is {LAKE_TRIGGER_SECONDS} s")
    with journey(settings) as (seen, measure):
        stamps = measure(SECONDS)
    percentiles("POST to answer", seconds_of(seen.answered, stamps))
    in_topic = percentiles("POST to readable in the Avro topic", seconds_of(seen.in_topic, stamps))
    in_lake = percentiles("POST to countable in the lake", seconds_of(seen.in_lake, stamps))
    for sink, parts in batch_parts(settings, sent_at(stamps[0])).items():
        told = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in parts.items())
        print(f"  a batch of {sink}: {told}")
    print(f"  goals: p99 below {TOPIC_GOAL_SECONDS:g} s in the topic, {LAKE_GOAL_SECONDS:g} s in the lake")
    return int(in_topic >= TOPIC_GOAL_SECONDS or in_lake >= LAKE_GOAL_SECONDS)


def main() -> int:
    """Everything that is chosen; the exit code says whether all goals are met."""
    if len(PARTS) > 1:
        return each_apart(__file__, PARTS)
    settings = load_settings().settings
    match PARTS[0]:
        case "avro":
            return ratio(settings, "JSON to an Avro topic", avro, AVRO_GOAL)
        case "parquet":
            return ratio(settings, "JSON to Parquet", parquet, PARQUET_GOAL)
        case "memory":
            return memory(settings)
        case "latency":
            return latency(settings)
        case other:
            sys.exit(f"there is no part {other}")


if __name__ == "__main__":
    sys.exit(main())
