from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import QueryFailed
from penstock.spark.changes import memory
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.files import LocalFiles
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, write_notes
from tests.changes import Changes, change, read, truncate

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def mirror(spark: SparkSession, tmp_path: Path) -> Changes:
    return Changes(spark, tmp_path, MirrorSink)


def test_a_mirror_is_the_table_as_it_is_now_whatever_comes_again(mirror: Changes) -> None:
    mirror.write(read(1, "Ada", 10), read(2, "Grace", 10), read(3, "Mary", 10))
    batch = [
        change("u", 1, "Ada L.", lsn=20, note="long"),
        change("u", 1, "Ada Lovelace", lsn=30, unavailable=["note"]),
        change("d", 2, lsn=40),
        change("c", 4, "Joan", lsn=50),
        change("d", 4, lsn=60),
        change("c", 4, "Joan C.", lsn=70),
    ]
    mirror.write(*batch)
    expected = [(1, "Ada Lovelace", "long"), (3, "Mary", None), (4, "Joan C.", None)]
    assert mirror.rows() == expected

    mirror.restart()
    mirror.write(*batch[:3])
    assert mirror.rows() == expected

    mirror.write(change("u", 2, "Grace again", lsn=15), change("u", 1, "Ada, older", lsn=25), change("d", 3, lsn=5))
    assert mirror.rows() == expected

    mirror.write(change("c", 2, "Grace H.", lsn=80), change("u", 1, "A. L.", lsn=81, unavailable=["note"]))
    assert mirror.rows() == [(1, "A. L.", "long"), (2, "Grace H.", None), *expected[1:]]


def test_commits_order_changes_not_places_in_the_log(mirror: Changes) -> None:
    mirror.write(
        {"op": "u", "id": 1, "name": "committed last", "commit": 200, "lsn": 90},
        {"op": "u", "id": 1, "name": "committed first", "commit": 100, "lsn": 150},
    )
    assert mirror.rows("id", "name") == [(1, "committed last")]
    mirror.write({"op": "u", "id": 1, "name": "committed before both", "commit": 50, "lsn": 300})
    assert mirror.rows("id", "name") == [(1, "committed last")]


def test_a_transaction_that_was_open_at_the_snapshot_is_newer_than_it(mirror: Changes) -> None:
    mirror.write(read(1, "snapshot", 100), {"op": "u", "id": 1, "name": "in the same batch", "lsn": 90, "at": 101})
    assert mirror.rows("id", "name") == [(1, "in the same batch")]
    mirror.write(read(2, "snapshot", 100))
    mirror.write({"op": "u", "id": 2, "name": "in the next one", "lsn": 90, "at": 101})
    mirror.write(read(1, "snapshot again", 400))
    assert mirror.rows("id", "name") == [(1, "snapshot again"), (2, "in the next one")]


def test_a_truncate_removes_what_is_older_wherever_it_stands(mirror: Changes) -> None:
    mirror.write(read(1, "old", 10))
    mirror.write(change("c", 2, "new", lsn=30), truncate(20), change("c", 3, "old", lsn=19))
    assert mirror.rows("id", "name") == [(2, "new")]
    mirror.write(change("c", 5, "late", lsn=18), change("c", 6, "newer", lsn=31))
    assert mirror.rows("id", "name") == [(2, "new"), (6, "newer")]


def test_rows_that_follow_a_truncate_within_its_transaction_stay_whatever_comes_again(mirror: Changes) -> None:
    mirror.write(read(1, "old", 10))
    batch = [truncate(20, commit=12), {"op": "c", "id": 2, "name": "new", "lsn": 21, "commit": 12}]
    mirror.write(*batch)
    mirror.write({"op": "c", "id": 3, "name": "in the next batch", "lsn": 22, "commit": 12})
    assert mirror.rows("id", "name") == [(2, "new"), (3, "in the next batch")]
    mirror.restart()
    mirror.write({"op": "c", "id": 4, "name": "late", "lsn": 19, "commit": 12}, *batch)
    mirror.write(*batch)
    assert mirror.rows("id", "name") == [(2, "new"), (3, "in the next batch")]


def test_a_snapshot_is_newer_than_the_changes_before_it_and_older_than_those_after_it(mirror: Changes) -> None:
    first = {"op": "u", "name": "after the first snapshot", "lsn": 90, "at": 101}
    mirror.write(
        read(1, "first snapshot", 100), {**first, "id": 1}, {**first, "id": 2, "offset": 0}, read(1, "second", 400)
    )
    mirror.write(read(2, "second", 400), {**first, "id": 3, "lsn": 390}, read(3, "snapshot", 400))
    assert mirror.rows("id", "name") == [(1, "second"), (2, "second"), (3, "snapshot")]
    mirror.write({**first, "id": 2, "offset": 0})
    assert mirror.rows("id", "name")[1] == (2, "second")


def test_a_key_of_other_columns_divides_a_batch(mirror: Changes) -> None:
    mirror.write(read(1, "Ada", 10), read(2, "Grace", 10), read(3, "Mary", 10))
    both = {"keys": ["id", "name"]}
    mirror.write(
        change("u", 1, "Ada", lsn=20, note="by id"),
        change("d", 2, lsn=21),
        change("u", 1, "Ada", lsn=30, note="by both", **both),
        change("d", 3, "Mary", lsn=31, **both),
        truncate(5),
    )
    assert mirror.rows() == [(1, "Ada", "by both")]


def test_what_was_deleted_long_ago_is_forgotten_while_the_mirror_runs(
    mirror: Changes, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write(read(1, "Ada", 10), read(2, "Grace", 10))
    mirror.write(change("d", 1, lsn=20))
    remembered = f"delta.`{memory.memory_path(LakeTable(str(tmp_path), 'shop/people'))}`"
    spark.sql(f"UPDATE {remembered} SET noted_at = noted_at - INTERVAL 31 DAYS")  # noqa: S608 - a path of ours
    monkeypatch.setattr(memory, "_FORGET_SECONDS", 0)
    mirror.write(change("d", 2, lsn=21))
    assert [row["_key"] for row in spark.table(remembered).collect()] == ['{"id":"2"}']


def test_a_first_commit_that_was_cut_off_does_not_stand_in_the_way(mirror: Changes, tmp_path: Path) -> None:
    log = tmp_path / "shop" / "people" / "_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.5b1c.tmp").write_text('{"commitInfo":{')
    mirror.write(read(1, "Ada", 10))
    assert mirror.rows("id", "name") == [(1, "Ada")]
    mirror.restart()
    mirror.write(read(2, "Grace", 11))
    assert mirror.rows("id", "name") == [(1, "Ada"), (2, "Grace")]


def test_columns_come_widen_change_and_go(mirror: Changes) -> None:
    mirror.write(change("c", 1, "one", lsn=1, age=5), columns="id int, name string, age int")
    mirror.write({**change("c", 2, lsn=2), "age": 2**40, "city": "Rome"}, columns="id int, age bigint, city string")
    mirror.write({**change("c", 3, lsn=3), "age": "five"}, columns="id int, age string")
    mirror.write({**change("u", 1, lsn=4), "city": "Oslo"}, columns="id int, city string")
    assert mirror.rows("id", "name", "age", "city", "age__string") == [
        (1, None, None, "Oslo", None),
        (2, None, 2**40, "Rome", None),
        (3, None, None, None, "five"),
    ]
    assert sorted(row["id"] for row in mirror.without_spark()) == [1, 2, 3]


def test_columns_whose_case_changes_go_on_and_a_value_that_is_not_sent_again_stays(mirror: Changes) -> None:
    mirror.write(read(1, "Ada", 10, note="long"), read(2, "Grace", 10), read(3, "Mary", 10))
    cased = {"keys": ["ID"], "unavailable": ["Note"]}
    mirror.write(
        {"op": "u", "ID": 1, "name": "Ada L.", "lsn": 20, **cased},
        {"op": "u", "ID": 2, "name": "Grace H.", "Note": "short", "lsn": 21, "keys": ["ID"]},
        {"op": "d", "ID": 3, "lsn": 22, "keys": ["ID"]},
        columns="ID int, name string, Note string",
    )
    assert mirror.rows() == [(1, "Ada L.", "long"), (2, "Grace H.", "short")]
    mirror.write(change("u", 3, "Mary, older", lsn=15))
    assert mirror.rows() == [(1, "Ada L.", "long"), (2, "Grace H.", "short")]


def test_a_value_that_is_not_sent_again_stays_in_the_column_of_its_new_type(mirror: Changes) -> None:
    text, binary = "id int, name string, note string", "id int, name string, note binary"
    mirror.write(change("c", 1, "one", lsn=1, note="text"), change("c", 2, "two", lsn=2, note="kept"), columns=text)
    mirror.write(change("u", 1, "one", lsn=3, note=bytearray(b"bytes")), columns=binary)
    mirror.write(
        change("u", 1, "I", lsn=4, unavailable=["note"]),
        change("u", 2, "II", lsn=5, unavailable=["note"]),
        columns=binary,
    )
    both = "id int, name string, note string, note__binary binary"
    mirror.write(
        {**change("u", 3, "three", lsn=6), "note__binary": bytearray(b"3")},
        change("u", 3, "III", lsn=7, unavailable=["note"]),
        columns=both,
    )
    assert mirror.rows("id", "name", "note", "note__binary") == [
        (1, "I", None, bytearray(b"bytes")),
        (2, "II", "kept", None),
        (3, "III", None, bytearray(b"3")),
    ]


def test_a_column_whose_name_begins_like_that_of_a_large_value_changes_all_the_same(mirror: Changes) -> None:
    columns = "id int, note string, note__lang string, note__int bigint"
    first = {**change("c", 1, lsn=1, note="large"), "note__lang": "en", "note__int": 7}
    mirror.write(first, columns=columns)
    second = {**change("u", 1, lsn=2, unavailable=["note"]), "note__lang": "de"}
    mirror.write(second, columns=columns)
    assert mirror.rows("note", "note__lang", "note__int") == [("large", "de", 7)]


def test_a_row_under_a_new_key_has_the_large_values_that_it_had_under_the_old_one(mirror: Changes) -> None:
    mirror.write(change("c", 1, "Ada", lsn=10, note="large"), change("c", 3, "Mary", lsn=11, note="old"))
    batch = [
        {"op": "d", "id": 1, "lsn": 20, "commit": 12},
        {"op": "c", "id": 2, "name": "Ada", "lsn": 20, "commit": 12, "unavailable": ["note"]},
        change("u", 3, "Mary", lsn=30, note="new"),
        change("d", 3, lsn=31),
        change("c", 4, "Mary", lsn=31, unavailable=["note"]),
        change("u", 4, "Mary S.", lsn=32, unavailable=["note"]),
        change("c", 1, "another", lsn=40),
    ]
    mirror.write(*batch)
    mirror.write(*batch)
    rows = mirror.rows("id", "name", "note", "_cdc.unavailable")
    assert [(*row[:3], row[3] or []) for row in rows] == [
        (1, "another", None, []),
        (2, "Ada", "large", []),
        (4, "Mary S.", "new", []),
    ]


def test_a_row_under_a_new_key_has_its_large_values_though_the_old_one_was_deleted_batches_before(
    mirror: Changes,
) -> None:
    mirror.write(change("c", 1, "Ada", lsn=10, note="older"), change("c", 3, "Mary", lsn=11, note="large too"))
    mirror.write(change("u", 1, "Ada", lsn=12, note="large"))
    mirror.write(change("d", 1, lsn=20), change("d", 3, lsn=21))
    mirror.write(change("c", 1, "another", lsn=30, note="of another"))
    mirror.write(change("d", 1, lsn=40))
    mirror.restart()
    moved = [change("c", 2, "Ada", lsn=20, unavailable=["note"]), change("c", 4, "Mary", lsn=21, unavailable=["note"])]
    moved.append(change("c", 6, "another", lsn=40, unavailable=["note"]))
    mirror.write(*moved, change("c", 5, "of nowhere", lsn=22, unavailable=["note"]))
    mirror.write(*moved)
    rows = mirror.rows("id", "name", "note", "_cdc.unavailable")
    assert [(*row[:3], row[3] or []) for row in rows] == [
        (2, "Ada", "large", []),
        (4, "Mary", "large too", []),
        (5, "of nowhere", None, ["note"]),
        (6, "another", "of another", []),
    ]


def test_a_value_that_is_not_known_is_named_until_it_is_sent(mirror: Changes) -> None:
    mirror.write(change("c", 2, "Ada", lsn=10, unavailable=["note"]), change("c", 3, "Mary", lsn=11, note="known"))
    mirror.write(*(change("u", row_id, "again", lsn=20, unavailable=["note"]) for row_id in (2, 3)))
    assert mirror.rows("id", "note", "_cdc.unavailable") == [(2, None, ["note"]), (3, "known", None)]
    mirror.write(change("u", 2, "Ada", lsn=30, note="sent"))
    assert mirror.rows("id", "note", "_cdc.unavailable") == [(2, "sent", None), (3, "known", None)]


def test_soft_deletes_keep_rows_and_their_values(spark: SparkSession, tmp_path: Path) -> None:
    mirror = Changes(spark, tmp_path, partial(MirrorSink, deletes="soft"))
    mirror.write(read(1, "Ada", 10), read(2, "Grace", 10))
    mirror.write(change("d", 1, lsn=20), change("d", 9, lsn=21))
    mirror.write(change("u", 1, "older", lsn=15))
    assert mirror.rows("id", "name", "_deleted") == [(1, "Ada", True), (2, "Grace", False), (9, None, True)]
    mirror.write(change("c", 1, "Ada II", lsn=30))
    assert mirror.rows("id", "name", "_deleted")[0] == (1, "Ada II", False)


def test_changes_without_a_key_cannot_be_mirrored(mirror: Changes) -> None:
    with pytest.raises(QueryFailed, match="the changes have no key"):
        mirror.write(change("c", 1, "Ada", lsn=1, keys=[]))


def test_a_mirror_does_not_take_the_place_of_a_table_of_plain_parquet(mirror: Changes, tmp_path: Path) -> None:
    table = LakeTable(str(tmp_path), "shop/people")
    write_notes(LocalFiles(), table, TableNotes(T.StructType([]), ()))
    with pytest.raises(QueryFailed, match="table shop/people is parquet already"):
        mirror.sink.check(T.StructType([T.StructField("_cdc", T.StringType())]))


def test_rows_that_tell_no_change_are_refused(mirror: Changes, spark: SparkSession) -> None:
    with pytest.raises(QueryFailed, match="no column _cdc"):
        mirror.sink.check(spark.range(1).schema)
