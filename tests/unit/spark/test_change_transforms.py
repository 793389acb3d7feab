"""Transforms of changes: keys, missing values and deletions come out as the rows do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import QueryFailed
from penstock.spark.changes.lineage import keeps_rows
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.transforms import Transform, chain, drop, keep, rename, select, sql
from tests.changes import Changes, change, read, truncate

pytestmark = pytest.mark.timeout(300)
TOLD = "'u' AS op, array('id') AS keys, array('note') AS unavailable, map('n', 'NaN') AS outside"


@pytest.fixture
def mirror(spark: SparkSession, tmp_path: Path) -> Changes:
    return Changes(spark, tmp_path, MirrorSink)


@pytest.fixture
def update(spark: SparkSession) -> DataFrame:
    columns = "1 AS id, 2.5D AS n, CAST(NULL AS STRING) AS note, CAST(NULL AS BINARY) AS note__binary, 'de' AS lang"
    return spark.sql(f"SELECT {columns}, struct({TOLD}) AS _cdc, struct(5 AS offset) AS _kafka")


@pytest.mark.parametrize(
    ("query", "keys", "unavailable"),
    [
        ("SELECT * FROM source", ["id"], ["note"]),
        ("SELECT id, lang, _cdc FROM source", ["id"], ["note"]),
        ("SELECT id AS number, note AS memo, _cdc FROM source", ["number"], ["memo"]),
        ("SELECT *, upper(note) AS loud, upper(lang) AS code FROM source", ["id"], ["note", "loud"]),
        ("SELECT id, trim(note) AS note, _cdc FROM source", ["id"], ["note"]),
        ("SELECT id, coalesce(note, lang) AS lang, _cdc FROM source", ["id"], ["lang"]),
        ("SELECT id, note__binary AS bytes, lang AS note, _cdc FROM source", ["id"], ["bytes"]),
        (
            "WITH a AS (SELECT *, concat(note, lang) AS both FROM source) SELECT id, length(both) AS size, _cdc FROM a",
            ["id"],
            ["size"],
        ),
        ("SELECT s.id AS number, length(s.note) AS size, s._cdc FROM source s JOIN (SELECT 1 AS id) USING (id)",
         ["number"], ["size"]),
        ("SELECT id, part, _cdc FROM source LATERAL VIEW OUTER explode(split(note, ' ')) AS part", ["id"], ["part"]),
    ],
)  # fmt: skip
def test_keys_and_missing_values_are_told_by_the_columns_that_have_them(
    update: DataFrame, query: str, keys: list[str], unavailable: list[str]
) -> None:
    [told] = sql(query)(update).select("_cdc.keys", "_cdc.unavailable").collect()
    assert (told["keys"], told["unavailable"]) == (keys, unavailable)


def test_other_transforms_tell_the_same(update: DataFrame) -> None:
    named = chain([rename({"id": "number", "n": "ratio"}), drop(["lang"]), select(["*", "length(note) AS size"])])(
        update
    )
    assert named.select("_cdc.*").first() == ("u", ["number"], ["note", "size"], {"ratio": "NaN"})


@pytest.mark.parametrize(
    ("transform", "keeps"),
    [
        (chain([rename({"id": "number"}), drop(["lang"]), select(["*", "length(note) AS size"])]), True),
        (sql("SELECT *, row_number() OVER (PARTITION BY lang ORDER BY id) AS nth FROM source"), True),
        (sql("WITH a AS (SELECT *, upper(note) AS loud FROM source) SELECT loud FROM a"), True),
        (sql("WITH a AS (SELECT * FROM source WHERE id > 1) SELECT * FROM a"), False),
        (sql("SELECT * FROM source WHERE id > 1"), False),
        (sql("SELECT * FROM source LIMIT 3"), False),
        (sql("SELECT * FROM source UNION ALL SELECT * FROM source"), False),
        (sql("SELECT s.* FROM source s JOIN (SELECT 1 AS id) USING (id)"), False),
        (sql("SELECT lang, count(*) FROM source GROUP BY lang"), False),
        (sql("SELECT id, part FROM source LATERAL VIEW explode(split(note, ' ')) AS part"), False),
    ],
)
def test_it_is_known_whether_a_transform_keeps_all_rows(
    update: DataFrame, transform: Transform, *, keeps: bool
) -> None:
    assert keeps_rows(transform(update), update) == keeps


def names(mirror: Changes) -> list[tuple[Any, ...]]:
    return mirror.rows("id", "name")


def test_a_filtered_mirror_is_the_table_of_the_rows_for_which_the_filter_holds(mirror: Changes) -> None:
    mirror.transform = keep("name LIKE 'in%'")
    mirror.write(read(1, "in", 10), read(2, "out", 10), change("c", 3, "in", lsn=11), change("c", 4, None, lsn=12))
    assert names(mirror) == [(1, "in"), (3, "in")]
    mirror.write(change("d", 3, lsn=20), change("u", 1, "out", lsn=21), change("u", 2, "in again", lsn=22))
    mirror.write(change("u", 1, "in", lsn=11), change("u", 4, "out", lsn=23))
    assert names(mirror) == [(2, "in again")]
    mirror.write(truncate(30))
    assert names(mirror) == []


def test_a_filter_gives_nothing_away_of_a_row_that_leaves_it(update: DataFrame) -> None:
    [left] = keep("n > 3")(update).collect()
    assert (left["id"], left["n"], left["lang"], left["_cdc"]["op"], left["_cdc"]["outside"]) == (
        1,
        None,
        None,
        "d",
        None,
    )


def test_a_filter_fails_where_what_it_looks_at_was_not_sent_again(update: DataFrame) -> None:
    with pytest.raises(PySparkException, match="large value that was not sent again: note"):
        keep("note IS NULL OR n > 3")(update).collect()


def test_values_that_are_made_of_one_that_was_not_sent_again_stay(mirror: Changes) -> None:
    columns = ["id AS number", "name AS called", "upper(note) AS loud", "note AS memo", "_cdc", "_kafka"]
    mirror.transform = select(columns)
    mirror.write(change("c", 1, "Ada", lsn=10, note="large"), change("c", 2, "Grace", lsn=11))
    mirror.write(change("u", 1, "Ada L.", lsn=20, unavailable=["note"]), change("d", 2, lsn=21))
    assert mirror.rows("number", "called", "loud", "memo", order="number") == [(1, "Ada L.", "LARGE", "large")]


def test_a_large_value_that_is_dropped_is_not_missed_under_a_new_key(mirror: Changes) -> None:
    mirror.transform = drop(["note"])
    mirror.write(change("c", 1, "Ada", lsn=10, note="large"))
    mirror.write(change("d", 1, lsn=20), change("c", 2, "Ada", lsn=20, unavailable=["note"]))
    assert names(mirror) == [(2, "Ada")]


def test_rows_without_their_key_are_refused(mirror: Changes) -> None:
    mirror.transform = drop(["id"])
    with pytest.raises(QueryFailed, match="no column id, which is of their key"):
        mirror.write(change("c", 1, "Ada", lsn=10))
