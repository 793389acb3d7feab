"""What a pipeline of changes tells of a table's columns is what the catalog's processor reads."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.metadata_change import MetadataChangeProcessor
from penstock.events.schema_change import TableField, TableSchema

FIELDS = (TableField("id", "int4", nullable=False), TableField("price", "numeric(10,2)", nullable=True))


def test_the_processor_reads_the_columns_of_a_captured_table(spark: SparkSession) -> None:
    told = json.dumps(TableSchema("postgresql", "shop.public.orders", FIELDS).event(1000))
    shape = F.schema_of_json(F.lit(told))
    records = spark.createDataFrame([(told,)], "text string").select(F.from_json("text", shape).alias("event"))
    origin = F.struct(F.lit("t").alias("topic"), F.lit(0).alias("partition"), F.lit(0).alias("offset"))
    [row] = MetadataChangeProcessor().transform(records.select("event.*", origin.alias("_kafka"))).collect()
    assert (row["problem"], row["log_event_time"], row["change_type"]) == (None, 1000, "UPSERT")
    assert row["urn"] == "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
    assert json.loads(row["schema_fields"]) == [
        {"path": "id", "type": "int4", "nullable": False},
        {"path": "price", "type": "numeric(10,2)", "nullable": True},
    ]
