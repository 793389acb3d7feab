from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.carrying import with_origin
from penstock.spark.transforms import chain, drop, keep, rename, select, sql


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 'x' AS a, 1 AS b, named_struct('offset', 5) AS _kafka UNION ALL SELECT 'y', 2, NULL")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT *, b + 1 AS c FROM source",
        "SELECT a FROM source WHERE b = 1",
        "SELECT upper(a) AS a FROM (SELECT a, b FROM source WHERE b > 0) ORDER BY b LIMIT 1",
        "WITH c AS (SELECT a, b FROM source) SELECT a FROM c WHERE b = 1",
        "SELECT a, explode(array(1)) AS e FROM source WHERE b = 1",
        "SELECT s.a FROM source s JOIN (SELECT 1 AS b) o ON s.b = o.b",
    ],
)
def test_the_origin_goes_along_where_each_row_is_made_of_one(rows: DataFrame, query: str) -> None:
    transformed = sql(query)(rows)
    carried = with_origin(transformed)
    assert set(carried.columns) == {*transformed.columns, "_kafka"}
    assert carried.where("a IN ('x', 'X')").select("_kafka.offset").collect() == [(5,)]


@pytest.mark.parametrize(
    "query", ["SELECT count(*) AS n FROM source", "SELECT DISTINCT a FROM source", "SELECT 1 AS one"]
)
def test_rows_made_of_many_have_no_origin(rows: DataFrame, query: str) -> None:
    transformed = sql(query)(rows)
    assert with_origin(transformed).columns == transformed.columns


def test_the_built_in_transforms_do_what_they_say(rows: DataFrame) -> None:
    transform = chain([keep("b > 1"), rename({"a": "name"}), select(["name", "b * 2 AS twice", "b"]), drop(["b"])])
    assert [row.asDict() for row in transform(rows).collect()] == [{"name": "y", "twice": 4}]
