"""WhereHows' later form of its events, from Avro as it comes from Kafka to rows."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.job_execution import MetadataLineageProcessor
from penstock.catalog.processors.metadata_change import MetadataChangeProcessor
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from penstock.spark.avro.rows import AvroRows
from tests.catalog_messages import SECOND_CHANGE, SECOND_EXECUTION, dataset_urn


def rows_of(spark: SparkSession, processor: Processor, schema: dict[str, Any], *records: object) -> list[Any]:
    """What a processor makes of records that were encoded, and are decoded as a job does."""
    registry = MemoryRegistry()
    encode = AvroCodec(registry).encoder("events-value", Schema.from_text(json.dumps(schema)))
    messages = spark.createDataFrame([(encode(record),) for record in records], "value binary")
    decoder = AvroRows(spark, registry, subjects=["events-value"])
    decoder.learn(messages)
    origin = F.struct(F.lit("t").alias("topic"), F.lit(0).alias("partition"), F.lit(0).alias("offset"))
    return processor.transform(decoder.decode(messages).select(*decoder.fields(), origin.alias("_kafka"))).collect()


def identifier(name: str, origin: str = "PROD") -> dict[str, str]:
    return {"dataPlatformUrn": "urn:li:dataPlatform:hive", "nativeName": name, "dataOrigin": origin}


def second_change(name: str, schema: object) -> dict[str, Any]:
    """A change of a Hive table, whose schema is one, or none."""
    return {
        "auditHeader": {"time": 5},
        "datasetIdentifier": identifier(name, "EI1"),
        "changeAuditStamp": {"actorUrn": "urn:li:corpuser:ann", "type": "UPDATE", "time": 4},
        "schema": schema,
    }


def test_a_schema_that_is_one_of_a_union_is_read(spark: SparkSession) -> None:
    field = {"fieldPath": "id", "nativeDataType": "int", "nullable": False, "description": None}
    given = second_change("a.b", ("DatasetSchema", {"description": "views", "fieldSchema": [field]}))
    without = second_change("a.c", ("Schemaless", {"isSchemaless": True}))
    silent = second_change("a.d", None)
    found, none, nothing = rows_of(spark, MetadataChangeProcessor(), SECOND_CHANGE, given, without, silent)
    assert (found["problem"], found["description"], found["actor"]) == (None, "views", "urn:li:corpuser:ann")
    assert found["urn"] == dataset_urn("a.b", "hive").replace("PROD", "EI1")
    assert json.loads(found["schema_fields"]) == [{"path": "id", "type": "int", "nullable": False}]
    assert (none["problem"], none["schema_fields"]) == (None, "[]")
    assert (nothing["problem"], nothing["schema_fields"]) == (None, None)


def test_an_execution_has_its_names_and_the_datasets_of_all_of_its_lineage(spark: SparkSession) -> None:
    run = {"flowName": "f", "jobName": "j", "jobExecutionId": 7, "startTime": 1, "endTime": 2, "status": "RUNNING"}
    lineage = [
        {"sourceDataset": [identifier("a.b"), identifier("a.c")], "destinationDataset": [identifier("x.y")]},
        {"sourceDataset": [identifier("a.b")], "destinationDataset": [identifier("x.z")]},
    ]
    event = {"type": "AZKABAN", "auditHeader": {"time": 5}, "jobExecution": run, "lineage": lineage}
    [row] = rows_of(spark, MetadataLineageProcessor(), SECOND_EXECUTION, event)
    assert row["problem"] is None
    assert [row[name] for name in ("application", "flow_name", "job_name", "execution_id", "status", "start_time")] == [
        *("AZKABAN", "f", "j", "7", "RUNNING"),
        1,
    ]
    assert json.loads(row["input_datasets"]) == [dataset_urn("a.b", "hive"), dataset_urn("a.c", "hive")]
    assert json.loads(row["output_datasets"]) == [dataset_urn("x.y", "hive"), dataset_urn("x.z", "hive")]
