from __future__ import annotations

import pytest
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.spark.changes.table import own_columns
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
