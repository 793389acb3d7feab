import pytest

from penstock.errors import QuestionRefused
from penstock.lake.engine import Engine


def named(sql: str) -> set[str]:
    with Engine() as engine:
        return {ref.table for ref in engine.read(sql).tables}


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT * FROM events", {"events"}),
        ("FROM main.events JOIN shop.orders USING (id)", {"events", "shop/orders"}),
        ('SELECT (SELECT max(x) FROM "a/b".c) FROM "shop/orders" AS o', {"a/b/c", "shop/orders"}),
        ("SELECT 1 UNION ALL SELECT x FROM Events, events", {"events"}),
        ("DESCRIBE events", {"events"}),
        ("SELECT 1", set()),
    ],
)
def test_every_table_that_a_question_names_is_found_once(sql: str, tables: set[str]) -> None:
    assert {name.lower() for name in named(sql)} == tables


def test_a_name_that_the_question_makes_itself_may_also_be_a_table() -> None:
    with Engine() as engine:
        (ref,) = engine.read("WITH events AS (SELECT * FROM events WHERE n > 1) SELECT count(*) FROM events").tables
    assert (ref.table, ref.own) == ("events", True)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("COPY (SELECT 1) TO 'x.csv'", "no question"),
        ("CREATE TABLE t (x INT)", "no question"),
        ("SET memory_limit = '1TB'", "no question"),
        ("INSTALL httpfs", "no question"),
        ("ATTACH 'x.db'", "no question"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("", "0 statements"),
        ("SELEC 1", "LINE 1: SELEC 1"),
    ],
)
def test_what_is_not_one_question_is_refused(sql: str, reason: str) -> None:
    with pytest.raises(QuestionRefused, match=reason):
        named(sql)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT count(*) FROM t", ["id"]),
        ("SELECT Kind, sum(n) FROM t WHERE day > 1 GROUP BY ALL", ["kind", "day", "n"]),
        ("SELECT t.place.city FROM t JOIN u USING (n)", ["n", "place"]),
        ("SELECT max(n) OVER (PARTITION BY kind) FROM t QUALIFY day = 1", ["kind", "day", "n"]),
        ("SELECT * FROM t", None),
        ("FROM t", None),
        ("SELECT COLUMNS('n.*') FROM t", None),
        ("SELECT n FROM t NATURAL JOIN u", None),
        ("SELECT t FROM t", None),
        ("SELECT x FROM t AS x", None),
        ("SELECT a FROM t AS x(a, b)", None),
        ("SELECT n FROM (PIVOT t ON kind IN ('a'))", None),
        ("DESCRIBE t", None),
    ],
)
def test_the_columns_that_a_question_needs_are_those_it_can_name(sql: str, columns: list[str] | None) -> None:
    with Engine() as engine:
        assert engine.read(sql).columns(["id", "kind", "day", "n", "place"]) == columns
