from __future__ import annotations

from penstock.pipelines.sinks.base import SourceTable
from penstock.pipelines.sinks.lake import LakeSinkConfig


def test_a_tables_name_stands_where_the_file_says() -> None:
    config = LakeSinkConfig(table="shop/{schema}/{table}", mode="mirror")
    assert not config.mixes_tables
    assert config.for_table(SourceTable("public", "orders")).table == "shop/public/orders"


def test_names_that_the_lake_does_not_take_are_spelled_otherwise() -> None:
    assert SourceTable("public", "Order lines/2").fill("{table}") == "Order_lines_2"
    assert str(SourceTable("public", "orders")) == "public.orders"


def test_one_table_of_the_lake_does_not_take_rows_of_several() -> None:
    assert LakeSinkConfig(table="shop", mode="log").mixes_tables
