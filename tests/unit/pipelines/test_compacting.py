"""Tables of changes are compacted while their pipeline runs: on time, again after a failure, and not after its end."""

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
from penstock.pipelines import change_chores
from penstock.pipelines.change_chores import chores_of
from penstock.pipelines.chores import Chore, doing
from penstock.pipelines.pipeline import read_pipeline
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.lake.table import LakeTable
from tests.changes import Changes, change
from tests.pipeline_files import PipelineFiles, lake_sink

NO_SPARK = cast(SparkSession, None)
SOURCE = {"type": "kafka", "config": {"topic": "shop.public.people", "format": "debezium"}}


def chores(directory: Path, session: SparkSession, trigger: str = "1 second", **config: Any) -> list[Chore]:
    settings = load_settings(env={}).settings.model_copy(update={"lake": str(directory)})
    sink = {**lake_sink("shop/{table}", **{"mode": "mirror", **config}), "trigger": trigger}
    files = PipelineFiles(session, settings, directory)
    file = files.write("shop", source=SOURCE, sinks=[sink], options={"schema_events": None})
    return list(chores_of(read_pipeline(read_yaml(file, {})), session, settings))


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
