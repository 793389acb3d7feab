"""A log of changes: made by its first rows, found by time and place, and wide enough for all that comes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.config import load_settings
from penstock.lake.lake import Lake
from penstock.lake.question import ask
from penstock.spark.changes.log_sink import ChangeLogSink
from tests.changes import Changes, change, read

pytestmark = pytest.mark.timeout(300)

TABLE = Path("shop", "people")


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> Changes:
    return Changes(spark, tmp_path, lambda session, table: ChangeLogSink(session, table, "shop.log"))


def actions(lake: Path, version: int, kind: str) -> list[dict[str, Any]]:
    """What one commit of the table's log says of one kind of thing."""
    lines = (lake / TABLE / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [found[kind] for found in map(json.loads, lines) if kind in found]


def test_a_log_is_there_with_its_first_rows(log: Changes, tmp_path: Path) -> None:
    log.write(read(1, "Ada", 10), read(2, "Grace", 10))
    assert len(actions(tmp_path, 0, "add")) == 1
    [made] = actions(tmp_path, 0, "metaData")
    assert made["configuration"]["delta.checkpointInterval"] == "100"
    assert "delta.enableDeletionVectors" not in made["configuration"]
    assert log.rows() == [(1, "Ada", None), (2, "Grace", None)]


def test_files_tell_the_ranges_of_time_place_and_numbers_and_of_no_texts(log: Changes, tmp_path: Path) -> None:
    log.transform = lambda rows: rows.withColumnRenamed("born", "bo`r.n")
    log.write({"op": "r", "lsn": 10}, {"op": "c", "lsn": 20}, columns="id int, name string, born int")
    [added] = actions(tmp_path, 0, "add")
    stats = json.loads(added["stats"])
    assert stats["numRecords"] == 2
    assert stats["nullCount"] == {"id": 2, "bo`r.n": 2, "_cdc": {"at": 0, "lsn": 0}}
    assert (stats["minValues"]["_cdc"]["lsn"], stats["maxValues"]["_cdc"]["lsn"]) == (10, 20)


def test_columns_and_wider_types_that_come_later_find_room(log: Changes) -> None:
    log.write(read(1, "Ada", 10))
    log.write(change("u", 1, "Ada L.", lsn=20, born=1815), columns="id int, name string, born int")
    log.write(change("u", 2**40, "large", lsn=30), columns="id bigint, name string, born int")
    assert log.rows("id", "name", "born", order="_cdc.lsn") == [
        (1, "Ada", None),
        (1, "Ada L.", 1815),
        (2**40, "large", None),
    ]
    assert {row["name"] for row in log.without_spark()} == {"Ada", "Ada L.", "large"}


def test_a_column_whose_case_changes_goes_on(log: Changes) -> None:
    log.write(read(1, "Ada", 10, note="first"))
    log.write({"op": "u", "id": 1, "Note": "second", "lsn": 20}, columns="id int, Note string")
    assert log.rows("id", "note", order="_cdc.lsn") == [(1, "first"), (1, "second")]


def test_what_a_driver_left_that_was_killed_in_the_first_commit_is_not_in_the_way(log: Changes, tmp_path: Path) -> None:
    leftover = tmp_path / TABLE / "_delta_log"
    leftover.mkdir(parents=True)
    (leftover / ".00000000000000000000.json.tmp").write_text("")
    log.write(read(1, "Ada", 10))
    assert log.rows() == [(1, "Ada", None)]


def test_a_log_that_was_made_goes_on_as_it_is_with_a_new_driver(log: Changes, tmp_path: Path) -> None:
    log.write(read(1, "Ada", 10))
    log.restart()
    log.sink.landed()
    log.write(change("d", 1, lsn=20))
    assert [actions(tmp_path, version, "metaData") for version in (1, 2)] == [[], []]
    assert log.rows("_cdc.op", order="_cdc.lsn") == [("r",), ("d",)]


def test_a_transform_may_leave_out_where_messages_came_from_since_changes_tell_it_themselves(log: Changes) -> None:
    log.transform = lambda rows: rows.drop("_kafka", "note")
    log.write(read(1, "Ada", 10, offset=7))
    assert log.rows("name", "_cdc.topic", "_cdc.partition", "_cdc.offset", order="name") == [("Ada", "t", 0, 7)]


def test_the_documented_query_reads_each_change_once(log: Changes, tmp_path: Path) -> None:
    sent = [change("c", 1, "Ada", lsn=20), change("c", 2, "Grace", lsn=20), change("u", 1, "Ada L.", lsn=30)]
    log.write(*sent)
    repeated = [{**each, "commit": None} for each in sent[1:]]
    log.write(*repeated, change("d", 1, lsn=40), change("t", None, lsn=50, keys=[]))
    text = Path("docs/cdc.md").read_text(encoding="utf-8")
    query = next(block for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "shop_log.people" in block)
    lake = Lake(load_settings(env={}, options={"lake": str(tmp_path)}).settings)
    with ask(lake, query.replace("shop_log.", "shop.")) as answer:
        rows = answer.rows.read_all().to_pylist()
    found = sorted((row["_cdc"]["lsn"], row["_cdc"]["op"], row["id"] or 0, row["_cdc"]["offset"]) for row in rows)
    assert len(log.rows()) == 7
    assert found == [(20, "c", 1, 1), (20, "c", 2, 2), (30, "u", 1, 3), (40, "d", 1, 6), (50, "t", 0, 7)]


def test_what_a_transform_always_gives_may_be_missing_later(log: Changes) -> None:
    log.transform = lambda rows: rows.selectExpr("*", "named_struct('a', 1) AS pair", "array('x') AS list")
    log.write(read(1, "Ada", 10))
    log.write(read(2, "Grace", 20))
    log.transform = lambda rows: rows.selectExpr(
        "*", "named_struct('a', int(null)) AS pair", "array(string(null)) AS list"
    )
    log.write(read(3, "Mary", 30))
    assert log.rows("pair.a", "list[0]", order="id") == [(1, "x"), (1, "x"), (None, None)]
