from __future__ import annotations

import pytest
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.spark.changes.table import Evolution, evolution, own_columns, ranged_columns
from penstock.spark.debezium.values import struct_of

NUMBER, TEXT = T.IntegerType(), T.StringType()
CDC = struct_of({"op": TEXT, "lsn": T.LongType()})


@pytest.mark.parametrize(
    ("columns", "count"),
    [
        ({"id": NUMBER, "name": TEXT, "_cdc": CDC}, 2),
        (
            {"id": NUMBER, "place": struct_of({"x": NUMBER, "at": struct_of({"y": NUMBER, "z": NUMBER})}), "_cdc": CDC},
            4,
        ),
        ({"id": NUMBER, "tags": T.ArrayType(struct_of({"a": TEXT, "b": TEXT})), "_cdc": CDC}, 2),
        ({"id": NUMBER, "_cdc": CDC, "_op": TEXT, "_valid_from": T.TimestampType()}, 1),
        ({f"c{number}": NUMBER for number in range(40)} | {"_cdc": CDC}, 32),
    ],
)
def test_ranges_are_kept_of_a_tables_own_columns_as_delta_counts_them(
    columns: dict[str, T.DataType], count: int
) -> None:
    assert own_columns(struct_of(columns)) == count


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"id": NUMBER, "name": TEXT, "day": T.DateType(), "_cdc": CDC}, "_cdc.at,_cdc.lsn,`id`,`day`"),
        ({"a`b": T.DecimalType(9, 2), "tags": T.ArrayType(NUMBER), "_cdc": CDC}, "_cdc.at,_cdc.lsn,`a``b`"),
        ({"name": TEXT, "_cdc": CDC}, "_cdc.at,_cdc.lsn"),
    ],
)
def test_ranges_of_a_log_are_those_of_time_and_place_and_of_its_numbers_and_moments(
    columns: dict[str, T.DataType], named: str
) -> None:
    assert ranged_columns(struct_of(columns)) == named


def test_a_type_that_rows_set_apart_goes_where_the_table_has_that_type() -> None:
    table = struct_of({"id": NUMBER, "price": NUMBER})
    rows = struct_of({"id": NUMBER, "price": TEXT, "price__int": NUMBER})
    names = {"id": "id", "price": "price__string", "price__int": "price"}
    assert evolution(table, rows) == Evolution(names, added={"price__string": TEXT}, widened={})


def test_a_column_that_only_looks_set_apart_keeps_its_name() -> None:
    rows = struct_of({"price": NUMBER, "price__int": NUMBER})
    assert evolution(rows, rows).names == {"price": "price", "price__int": "price__int"}


def test_two_types_that_a_column_could_each_be_widened_to_do_not_meet_in_it() -> None:
    whole, fine = T.DecimalType(38, 0), T.DecimalType(38, 10)
    table = struct_of({"price": T.DecimalType(10, 0)})
    rows = struct_of({"price": whole, "price__decimal_38_10": fine})
    found = evolution(table, rows)
    assert found.names == {name: name for name in rows.names}
    assert (found.added, found.widened) == ({"price__decimal_38_10": fine}, {"price": whole})
