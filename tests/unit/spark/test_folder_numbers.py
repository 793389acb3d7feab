from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.lake import folder_numbers
from penstock.spark.lake.folder_numbers import NUMBER, FolderNumbers

SIZE = 200_000
BY = ("kind", "day")
DAYS = ["kind=view/day=2026-11-16/a.parquet", "kind=click/day=2026-11-17/b.parquet"]


def rows(
    spark: SparkSession, *values: tuple[object, ...], columns: str = "id int, kind string, day string"
) -> DataFrame:
    return spark.createDataFrame([(number, *each) for number, each in enumerate(values)], columns)


def names(numbers: FolderNumbers, given: DataFrame) -> list[str] | None:
    numbered = numbers.numbered(given, SIZE)
    assert numbered is not None
    return numbers.named([f"{NUMBER}={row[NUMBER]}/{row['id']}" for row in numbered.orderBy("id").collect()])


def staged(place: Path, given: DataFrame, by: Sequence[str]) -> list[str]:
    """The files that Spark itself makes of rows, one in each folder."""
    given.coalesce(1).write.partitionBy(*by).parquet(str(place))
    return [str(found.relative_to(place)) for found in sorted(place.glob("**/*.parquet"))]


def split(path: str) -> list[str]:
    return path.split("/")


def test_rows_of_seen_values_go_to_their_folders_also_in_combinations_that_are_new(spark: SparkSession) -> None:
    numbers = FolderNumbers(BY)
    numbers.learn(DAYS)
    given = rows(spark, ("view", "2026-11-17"), ("click", "2026-11-17"), ("click", "2026-11-16"))
    assert names(numbers, given) == [
        "kind=view/day=2026-11-17/0",
        "kind=click/day=2026-11-17/1",
        "kind=click/day=2026-11-16/2",
    ]


def test_values_of_any_kind_have_the_folders_that_spark_would_give_them(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id int, kind string, day date, at timestamp, flag boolean, cents decimal(9,2)"
    texts = ["a/b", "50 %", "ü=1", 'it\'s "so"', "", None, "C:\\", "+", "%2F"]
    values = [(text, "2026-11-16", f"2026-11-16 10:00:0{n}", n % 2 == 0, f"1.{n}0") for n, text in enumerate(texts)]
    plain = rows(spark, *values, columns="id int, kind string, day string, at string, flag boolean, cents string")
    given = plain.select(*(F.col(name).cast(kind).alias(name) for name, kind in map(str.split, columns.split(", "))))
    for name in ("kind", "day", "at", "flag", "cents"):
        numbers = FolderNumbers([name])
        numbers.learn(staged(tmp_path / name, given, [name]))
        by_row = staged(tmp_path / "rows" / name, given.withColumn("row", F.col("id")), ["row", name])
        expected = {int(row.partition("=")[2]): folder for row, folder, _ in map(split, by_row)}
        assert names(numbers, given) == [f"{expected[number]}/{number}" for number in range(len(texts))]


def test_a_value_that_was_not_seen_is_a_miss_and_numbers_rest_longer_after_each(spark: SparkSession) -> None:
    numbers, new = FolderNumbers(BY), rows(spark, ("view", "2026-11-16"), ("buy", "2026-11-16"))
    numbers.learn(DAYS)
    for rests in (1, 3):
        assert names(numbers, new) is None
        assert [numbers.numbered(new, SIZE) for _ in range(rests)] == [None] * rests
    numbers.learn(["kind=buy/day=2026-11-16/c.parquet"])
    assert names(numbers, new) == ["kind=view/day=2026-11-16/0", "kind=buy/day=2026-11-16/1"]


def test_a_miss_in_any_column_is_seen_however_many_columns_there_are(spark: SparkSession) -> None:
    by = [f"c{number}" for number in range(8)]
    folders = ["/".join(f"{name}={value}" for name in by) + "/a" for value in range(5)]
    numbers = FolderNumbers(by)
    numbers.learn(folders)
    columns = f"id int, {', '.join(f'{name} int' for name in by)}"
    for place in range(8):
        assert names(numbers, rows(spark, tuple(9 if n == place else 4 for n in range(8)), columns=columns)) is None
        numbers = FolderNumbers(by)
        numbers.learn(folders)


@pytest.mark.parametrize(
    "paths",
    [
        ["a.parquet"],
        [],
        [f"kind={number}/day=1/a" for number in range(64)],
        [f"a={n % 8}/b={n % 8}/c={n % 8}/d={n % 8}/e={n % 8}/f={n % 8}/g={n % 8}/a" for n in range(8)],
    ],
    ids=["no folders", "no files", "many values", "many combinations"],
)
def test_what_is_not_worth_a_number_is_staged_by_name(spark: SparkSession, paths: list[str]) -> None:
    numbers = FolderNumbers(BY)
    numbers.learn(paths)
    assert numbers.numbered(rows(spark, ("view", "2026-11-16")), SIZE) is None


def test_small_batches_and_tables_with_a_column_of_that_name_are_left_as_they_are(spark: SparkSession) -> None:
    numbers = FolderNumbers(BY)
    numbers.learn(DAYS)
    given = rows(spark, ("view", "2026-11-16"))
    assert numbers.numbered(given, folder_numbers._WORTH - 1) is None
    assert numbers.numbered(given.withColumn(NUMBER, F.lit(1)), SIZE) is None


def test_of_too_many_values_only_those_of_the_last_batch_are_known(spark: SparkSession) -> None:
    numbers = FolderNumbers(BY)
    numbers.learn(f"kind={number}/day=1/a" for number in range(60))
    numbers.learn(f"kind={number}/day=2/a" for number in range(50, 63))
    assert names(numbers, rows(spark, ("62", "2"))) == ["kind=62/day=2/0"]
    assert names(numbers, rows(spark, ("62", "1"))) is None
