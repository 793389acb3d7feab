"""What SQL in a pipeline's file may be: queries over the rows, decided without executing anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import QueryFailed
from penstock.spark import transforms

QUERIES = (
    "SELECT *, substring(text, 1, 2) AS short FROM source WHERE n > 0 ORDER BY n LIMIT 3 OFFSET 1",
    "SELECT n, count(*) AS many FROM source GROUP BY CUBE(n, text) HAVING count(*) > 1",
    "WITH a AS (SELECT * FROM source), b AS (SELECT max(n) AS n FROM a) SELECT a.* FROM a JOIN b USING (n)",
    "SELECT * FROM source WHERE n IN (SELECT max(n) FROM source) AND EXISTS (SELECT 1)",
    "SELECT text, sum(n) OVER w AS total FROM source WINDOW w AS (PARTITION BY text ORDER BY n)",
    "SELECT tag FROM source LATERAL VIEW explode(split(text, ',')) t AS tag",
    "SELECT explode(split(text, ',')) AS tag FROM source",
    "SELECT n FROM source UNION ALL SELECT n FROM source EXCEPT SELECT 1 INTERSECT SELECT 2",
    "SELECT v.b FROM source JOIN VALUES (1, 'a'), (2, 'b') AS v(a, b) ON v.a = n",
    "SELECT * FROM source PIVOT (sum(n) FOR text IN ('a', 'b'))",
    "SELECT /*+ REPARTITION(3) */ DISTINCT n FROM source",
    "SELECT n FROM source DISTRIBUTE BY n SORT BY n",
    "SELECT s.n, t.m FROM source s, LATERAL (SELECT s.n + 1 AS m) t",
    "SELECT transform(array(n), x -> x + 1) AS each, 'reflect(a)' AS word FROM source",
    "FROM source |> WHERE n > 1 |> SELECT n",
    "SELECT id FROM range(3)",
)
COMMANDS = (
    "INSERT OVERWRITE DIRECTORY '{out}' USING parquet SELECT * FROM source",
    "FROM source INSERT OVERWRITE DIRECTORY '{out}' USING parquet SELECT *",
    "WITH a AS (SELECT 1 AS n) INSERT OVERWRITE DIRECTORY '{out}' USING parquet SELECT * FROM a",
    "CREATE TABLE stolen USING parquet LOCATION '{out}' AS SELECT 1 AS n",
    "CREATE OR REPLACE TEMPORARY VIEW source AS SELECT 1",
    "SET spark.sql.session.timeZone=America/Lima",
    "SET",
    "RESET",
    "DROP VIEW source",
    "ADD FILE '{out}'",
    "CACHE TABLE source",
    "DESCRIBE source",
    "EXPLAIN SELECT 1",
    "SHOW TABLES",
    "EXECUTE IMMEDIATE 'SET spark.sql.session.timeZone=America/Lima'",
    "BEGIN SELECT 1; END",
    "DELETE FROM delta.`{out}`",
    "SELECT TRANSFORM(text) USING 'touch {out}' AS (a) FROM source",
    "SELECT * FROM text.`{secret}`",
    "SELECT * FROM source WHERE text = (SELECT first(value) FROM text.`{secret}`)",
    "SELECT * FROM delta.`{out}` VERSION AS OF 1",
    "SELECT * FROM read_files('{secret}')",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME') AS home FROM source",
    "SELECT `java_method`('java.lang.System', 'getenv', 'HOME') AS home FROM source",
    "SELECT system.builtin.try_reflect('java.lang.System', 'getenv', 'HOME') AS home FROM source",
    "SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'getenv', 'HOME') AS home FROM source",
    "SELECT a FROM VALUES (reflect('java.lang.System', 'getenv', 'HOME')) AS v(a)",
    "SELECT sum(n) OVER w AS s FROM source WINDOW w AS (ORDER BY reflect('java.lang.System', 'getenv', 'HOME'))",
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_allowed(spark: SparkSession, query: str) -> None:
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "n int, text string")
    transforms.sql(query)(rows).collect()


@pytest.mark.parametrize("query", COMMANDS)
def test_what_is_no_query_is_refused_before_it_runs(spark: SparkSession, query: str, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(1, "a")], "n int, text string")
    secret, out = tmp_path / "secret", tmp_path / "out"
    secret.write_text("hidden")
    zone = spark.conf.get("spark.sql.session.timeZone")
    with pytest.raises(QueryFailed, match=r"the SQL (is more|reads|calls|makes)|reading the SQL"):
        transforms.sql(query.format(secret=secret, out=out))(rows)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert spark.conf.get("spark.sql.session.timeZone") == zone


@pytest.mark.parametrize(
    "expression",
    [
        "reflect('java.lang.System', 'getenv', 'HOME') = 'x'",
        "text IN (SELECT value FROM text.`/etc/hostname`)",
        "n > 0 AND java_method('java.lang.System', 'getenv', 'HOME') IS NOT NULL",
    ],
)
def test_conditions_and_columns_are_held_to_the_same(spark: SparkSession, expression: str) -> None:
    rows = spark.createDataFrame([(1, "a")], "n int, text string")
    for transform in (transforms.keep(expression), transforms.select(["n", f"{expression} AS found"])):
        with pytest.raises(QueryFailed, match=r"the SQL (calls|reads)"):
            transform(rows)
    assert transforms.keep("n = 1 AND lower(text) = 'a'")(rows).count() == 1
