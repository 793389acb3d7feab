"""Tables are compacted while their pipeline runs: on time, again after a failure, and not after its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from penstock.config import load_settings
from penstock.config.yaml_file import read_yaml
from penstock.errors import TableChanged
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.lake.lake import Lake
from penstock.pipelines import change_chores
from penstock.pipelines.change_chores import chores_of
from penstock.pipelines.chores import Chore, doing
from penstock.pipelines.pipeline import read_pipeline
from penstock.pipelines.sinks.lake import LakeSinkConfig
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch
from tests.changes import Changes, change
from tests.pipeline_files import PipelineFiles, lake_sink

NO_SPARK = cast(SparkSession, None)
SOURCE = {"type": "kafka", "config": {"topic": "shop.public.people", "format": "debezium"}}


def at(offset: int) -> Position:
    return Position({PartitionId(TopicName("people"), Partition(0)): Offset(offset)}, {})


def chores(directory: Path, session: SparkSession, trigger: str = "1 second", **config: Any) -> list[Chore]:
    settings = load_settings(env={}).settings.model_copy(update={"lake": str(directory)})
    sink = {**lake_sink("shop/{table}", **{"mode": "mirror", **config}), "trigger": trigger}
    files = PipelineFiles(session, settings, directory)
    file = files.write("shop", source=SOURCE, sinks=[sink], options={"schema_events": None})
    found = chores_of(read_pipeline(read_yaml(file, {})), session, settings)
    return [chore for chore in found if chore.name.startswith("compacting")]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.timeout(600)
def test_small_files_are_merged_again_and_again_and_old_versions_stay_as_long_as_is_said(
    spark: SparkSession, tmp_path: Path
) -> None:
    mirror = Changes(spark, tmp_path, MirrorSink)

    def detail() -> Any:
        [found] = spark.sql(f"DESCRIBE DETAIL delta.`{tmp_path}/shop/people`").collect()
        return found

    mirror.write(change("c", 1, "one", lsn=10))
    with doing(chores(tmp_path, spark, compact_every="1 second", keep_versions="2 days")):
        for lsn in (20, 30):
            mirror.write(change("c", lsn, "more", lsn=lsn))
            wait_for(lambda: bool(detail()["numFiles"] == 1))
    assert detail()["properties"]["delta.deletedFileRetentionDuration"] == "interval 48 hours"
    assert mirror.rows("id") == [(1,), (20,), (30,)]


def test_a_compaction_that_fails_is_done_at_the_next_time_and_none_begins_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []
    often = threading.Event()

    class Losing:
        def __init__(self, _session: SparkSession, keep_hours: int) -> None:
            assert keep_hours == 7 * 24

        def tidy(self, table: LakeTable) -> None:
            assert table.name == "shop/people"
            times.append(time.monotonic())
            if len(times) == 1:
                raise TableChanged("the stream was quicker")
            often.set()

    monkeypatch.setattr(change_chores, "Upkeep", Losing)
    began = time.monotonic()
    with caplog.at_level(logging.WARNING), doing(chores(tmp_path, NO_SPARK, compact_every="300 milliseconds")):
        assert often.wait(30)
    assert times[0] - began >= 0.3
    assert times[1] - times[0] >= 0.3
    assert [each.message for each in caplog.records] == [
        "table shop/people is compacted at the next time: the stream was quicker"
    ]
    done = len(times)
    time.sleep(0.8)
    assert len(times) == done


def test_tables_are_compacted_every_hour_unless_their_file_says_otherwise(tmp_path: Path) -> None:
    [chore] = chores(tmp_path, NO_SPARK)
    assert (chore.name, chore.every) == ("compacting the tables of lake-shop.{table}", 3600)
    assert chores(tmp_path, NO_SPARK, compact_every="never") == []
    assert chores(tmp_path, NO_SPARK, trigger="available_now") == []


def test_tables_of_other_rows_are_compacted_if_their_file_says_so(tmp_path: Path) -> None:
    def compacted(**config: Any) -> list[float]:
        return [chore.every for chore in chores(tmp_path, NO_SPARK, mode="append", **config)]

    assert compacted() == []
    assert compacted(compact_every="never") == []
    assert compacted(compact_every="2 hours") == [7200]
    assert compacted(compact_every="2 hours", format="delta", keep_versions="1 day") == [7200]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_a_table_of_rows_is_compacted_while_its_pipeline_writes(
    spark: SparkSession, tmp_path: Path, table_format: str
) -> None:
    table = LakeTable(str(tmp_path), "shop/people", ("kind",))
    sink = (DeltaSink if table_format == "delta" else ParquetSink)(spark, table, "shop.lake")
    sink.landed()
    [chore] = chores(
        tmp_path,
        spark,
        mode="append",
        partition_by=["kind"],
        format=table_format,
        compact_every="1 hour",
    )
    for number in range(1, 4):
        rows = spark.createDataFrame([(number, "a b")], "id int, kind string")
        sink.write(sink.form(rows), Batch("shop.lake", number, at(number - 1), at(number)))
        chore.do()
    found = Lake(load_settings(env={}, options={"lake": str(tmp_path)}).settings).table("shop/people")
    assert (found.summary().files, found.summary().rows) == (1, 3)


@pytest.mark.parametrize(
    ("config", "runs_once", "refused"),
    [
        ({"compact_every": "1 hour"}, False, []),
        ({"compact_every": "1 hour"}, True, ["compact_every"]),
        ({"compact_every": "never"}, True, []),
        ({"compact_every": "1 hour", "lake": "s3a://lake"}, False, ["compact_every"]),
        ({"compact_every": "1 hour", "lake": "s3a://lake", "format": "delta"}, False, []),
        ({"mode": "mirror", "format": "parquet"}, False, ["format"]),
        ({"format": "delta", "file_size": "1MiB"}, False, ["file_size"]),
        ({"format": "delta", "file_size": "1MiB", "compact_every": "1 hour"}, False, []),
        ({"file_size": "1MiB"}, False, []),
    ],
)
def test_options_without_effect_are_refused_at_their_place(
    config: dict[str, str], runs_once: bool, refused: list[str]
) -> None:
    sink = LakeSinkConfig.model_validate({"table": "people", **config})
    found = sink.refusals(load_settings(env={}).settings, runs_once=runs_once)
    assert [place for place, _, _ in found] == [(key,) for key in refused]
