"""Execution of plain Python processors in Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.base import PROBLEM
from penstock.spark.decoding import KAFKA, quoted

if TYPE_CHECKING:
    from penstock.catalog.processors.base import RecordProcessor

_DONE = T.StructType(
    [T.StructField("row", T.MapType(T.StringType(), T.StringType())), T.StructField(PROBLEM, T.StringType())]
)


def transformed(processor: RecordProcessor, records: DataFrame) -> DataFrame:
    """Return the row of each record. All values are text; PostgreSQL converts text to the column's type."""

    def done(record: SparkRow) -> tuple[Mapping[str, str | None] | None, str | None]:
        try:
            row = processor.process(record.asDict(recursive=True))
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything, and one record must not stop a batch
            return None, f"{type(error).__name__}: {error}"
        return (None, None) if row is None else ({key: as_text(value) for key, value in row.items()}, None)

    fields = [quoted(name) for name in records.columns if name != KAFKA]
    called = F.udf(done, _DONE, useArrow=False)(F.struct(*fields)).alias("done")
    found = records.select(called, KAFKA).filter("done.row IS NOT NULL OR done.problem IS NOT NULL")
    row = F.col("done.row")
    columns = (F.try_element_at(row, F.lit(name)).alias(name) for name in processor.columns)
    return found.select(*columns, F.col("done.problem").alias(PROBLEM), KAFKA)


def as_text(value: Any) -> str | None:  # noqa: ANN401 - any value of a processor
    """Return a value in PostgreSQL's format: lists and objects as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, dict | list | bool) else str(value)
