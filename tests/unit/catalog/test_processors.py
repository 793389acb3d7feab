from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.catalog.jobs.left_out import LeftOut
from penstock.catalog.processors.base import Processor, RecordProcessor
from penstock.catalog.processors.columns import Cluster
from penstock.catalog.processors.compaction import GobblinTrackingCompactionProcessor
from penstock.catalog.processors.distcp import GobblinTrackingDistcpNgProcessor
from penstock.catalog.processors.file_audit import GobblinTrackingAuditProcessor
from penstock.catalog.processors.job_execution import JobExecutionLineageProcessor
from penstock.catalog.processors.lumos import GobblinTrackingLumosProcessor
from penstock.catalog.processors.metadata_change import MetadataChangeProcessor
from penstock.catalog.processors.metastore import MetastoreAuditProcessor
from tests.catalog_messages import dataset_urn

KAFKA_TYPE = "_kafka struct<topic: string, partition: int, offset: bigint>"
GOBBLIN = f"timestamp bigint, namespace string, name string, metadata map<string, string>, {KAFKA_TYPE}"
IDENTIFIER = "struct<dataPlatformUrn: string, nativeName: string, dataOrigin: string>"
HEADER = "auditHeader struct<time: bigint, server: string, instance: string, appName: string>"
FLOW = {"azkabanProjectName": "p", "azkabanFlowId": "f", "azkabanJobId": "j", "azkabanExecId": "7"}
FLOW_ROW = {"project_name": "p", "flow_name": "f", "job_name": "j", "flow_exec_id": 7, "log_event_time": 1000}


def frame(spark: SparkSession, schema: str, *records: Mapping[str, Any]) -> DataFrame:
    rows = [{**record, "_kafka": ("t", 0, number)} for number, record in enumerate(records)]
    return spark.createDataFrame(rows, schema)


def gobblin(
    spark: SparkSession, processor: Processor, namespace: str, name: str, **metadata: str
) -> list[dict[str, Any]]:
    record = {"timestamp": 1000, "namespace": namespace, "name": name, "metadata": metadata}
    return transformed(processor, frame(spark, GOBBLIN, record))


def transformed(processor: Processor, records: DataFrame) -> list[dict[str, Any]]:
    """The rows, without what is null, and without where they come from."""
    result = processor.transform(records)
    assert result.columns == [*processor.columns, "problem", "_kafka"]
    rows = [row.asDict(recursive=True) for row in result.collect()]
    return [{key: value for key, value in row.items() if value is not None and key != "_kafka"} for row in rows]


COMPACTION = "compaction.tracking.events"


def test_a_completed_compaction_names_its_partition(spark: SparkSession) -> None:
    processor = GobblinTrackingCompactionProcessor([Cluster("grid-1", "g1")])
    said = {
        "datasetUrn": "/data/tracking/E",
        "partition": "2016/07/10",
        "recordCount": "5",
        "clusterIdentifier": "x-g1-01",
    }
    [row] = gobblin(spark, processor, COMPACTION, "CompactionCompleted", **said, **FLOW, dedupeStatus="DEDUPED")
    assert row == {
        "cluster": "grid-1",
        "dataset": "/data/tracking/E",
        "partition_name": "2016/07/10",
        "record_count": 5,
        "late_record_count": 0,
        "dedupe_status": "DEDUPED",
        "job_context": "Gobblin:CompactionCompleted",
        **FLOW_ROW,
    }


def test_record_counts_have_their_partition_in_the_path_and_need_no_execution_id(spark: SparkSession) -> None:
    path = "/data/tracking/Page-View/hourly/2016/07/10/02"
    said = {"DatasetOutputPath": path, "RegularRecordCount": "5", "LateRecordCount": "2", "clusterIdentifier": "c"}
    [row] = gobblin(spark, GobblinTrackingCompactionProcessor(), COMPACTION, "CompactionRecordCounts", **said)
    wanted = {"dataset": "/data/tracking/Page-View", "partition_type": "hourly", "partition_name": "2016/07/10/02"}
    counts = {"record_count": 5, "late_record_count": 2, "cluster": "c", "log_event_time": 1000}
    assert row == {**wanted, **counts, "job_context": "Gobblin:CompactionRecordCounts"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"datasetUrn": "/d"}, "the event has no clusterIdentifier"),
        ({"clusterIdentifier": "c"}, "the event has no dataset"),
        ({"datasetUrn": "/d", "clusterIdentifier": "c", "recordCount": "many"}, "the record count is no number: many"),
        ({"datasetUrn": "/d", "clusterIdentifier": "c", "azkabanExecId": "x"}, "azkabanExecId is no number: x"),
    ],
)
def test_an_event_without_what_a_row_needs_has_a_problem(
    spark: SparkSession, said: dict[str, str], problem: str
) -> None:
    [row] = gobblin(spark, GobblinTrackingCompactionProcessor(), COMPACTION, "CompactionCompleted", **said)
    assert row["problem"].startswith(problem)


@pytest.mark.parametrize(
    ("processor", "namespace", "name"),
    [
        (GobblinTrackingCompactionProcessor(), COMPACTION, "Other"),
        (GobblinTrackingCompactionProcessor(), "other", "CompactionCompleted"),
        (GobblinTrackingDistcpNgProcessor(), "gobblin.copy.CopyDataPublisher", "FilePublished"),
        (GobblinTrackingLumosProcessor(), "any", "Other"),
        (GobblinTrackingAuditProcessor(), "any", "DaliAutoPurgeAuditor"),
    ],
)
def test_events_of_no_interest_are_left_out(
    spark: SparkSession, processor: Processor, namespace: str, name: str
) -> None:
    assert gobblin(spark, processor, namespace, name, datasetUrn="/d", clusterIdentifier="c") == []


def test_a_copy_keeps_its_partition_as_it_is_written(spark: SparkSession) -> None:
    said = {
        "datasetUrn": "/d",
        "clusterIdentifier": "c",
        "partition": '["2016-07-10-00"]',
        "SourcePath": "/s",
        "TargetPath": "/t",
    }
    times = {"upstreamTimestamp": "1", "originTimestamp": "2"}
    [row] = gobblin(
        spark, GobblinTrackingDistcpNgProcessor(), "gobblin.copy.CopyDataPublisher", "DatasetPublished", **said, **times
    )
    assert row == {
        "cluster": "c",
        "dataset": "/d",
        "partition_name": '["2016-07-10-00"]',
        "upsteam_timestamp": 1,
        "origin_timestamp": 2,
        "source_path": "/s",
        "target_path": "/t",
        "log_event_time": 1000,
        "job_context": "DistcpNG:DatasetPublished",
    }


def test_a_snapshot_has_the_time_of_its_folder_where_the_drop_date_is_none(spark: SparkSession) -> None:
    said = {
        "datasetUrn": "/db",
        "clusterIdentifier": "c",
        "TargetDirectory": "/db/1700000000000-PT-12/x",
        "Dropdate": "0",
    }
    more = {"partition": "4711-PT-12", "DatasourceColo": "prod-ltx1", "Database": "D", "Table": "T", "recordCount": "9"}
    [row] = gobblin(spark, GobblinTrackingLumosProcessor(), "any", "SnapshotPublished", **said, **more)
    wanted = {"partition_type": "snapshot", "partition_name": "4711-PT-12", "max_data_date_epoch3": 1700000000000}
    source = {"source_deployment_env": "prod", "source_datacenter": "ltx1", "source_database": "D", "source_table": "T"}
    found = {key: row[key] for key in (*wanted, *source, "max_data_key", "record_count")}
    assert found == {**wanted, **source, "max_data_key": 4711, "record_count": 9}
    assert "subpartition_type" not in row


def test_a_delta_stands_under_its_snapshot_and_times_are_no_keys(spark: SparkSession) -> None:
    said = {
        "datasetUrn": "/db",
        "clusterIdentifier": "c",
        "TargetDirectory": "/db/1700000000000-PT-12/_delta",
        "Dropdate": "-1",
    }
    more = {"partition": "1700000100000-PT-13", "DatasourceColo": "ltx1"}
    [row] = gobblin(spark, GobblinTrackingLumosProcessor(), "any", "DeltaPublished", **said, **more)
    wanted = {
        "partition_name": "1700000000000-PT-12",
        "subpartition_type": "_delta",
        "subpartition_name": "1700000100000-PT-13",
    }
    times = {"max_data_date_epoch3": 1700000100000, "max_data_key": 0, "source_datacenter": "ltx1"}
    assert {key: row[key] for key in (*wanted, *times)} == {**wanted, **times}


def test_a_key_may_be_as_large_as_any_number(spark: SparkSession) -> None:
    said = {"datasetUrn": "/db", "clusterIdentifier": "c", "partition": "9223372036854775807-PT-1"}
    [row] = gobblin(spark, GobblinTrackingLumosProcessor(), "any", "SnapshotPublished", **said)
    assert (row["max_data_key"], "problem" in row) == (9223372036854775807, False)


def test_the_audit_of_files_tells_their_owner_and_skips_temporary_ones(spark: SparkSession) -> None:
    processor, said = GobblinTrackingAuditProcessor(), {"owner": "ann", "codec": "gzip", "classificationResult": "null"}
    [row] = gobblin(
        spark, processor, "any", "MetadataFileClassifier", dataset="/data/x", modificationTime="5999", **said
    )
    assert json.loads(row.pop("properties")) == {"codec": "gzip"}
    assert row == {"dataset": "/data/x", "owner": "ann", "source_modified_time": 5, "log_event_time": 1000}


LASTING = ("postgresql", "contemporary_art", "Staging", "TMP", "mytemp", "tempo", "stgx", "output")
TEMPORARY = ("tmp/x", "a_temp", "temp_b", "x-staging", "stg.y", "temporary", "a_distcp_b", "output/x", "a/_tmp_")


def audits(spark: SparkSession, *names: str, event: str = "MetadataFileClassifier") -> DataFrame:
    record = {"timestamp": 1, "namespace": "any", "name": event}
    return frame(spark, GOBBLIN, *({**record, "metadata": {"dataset": f"/data/{name}"}} for name in names))


def test_the_audit_of_files_leaves_out_datasets_with_a_whole_word_of_wherehows_in_lower_case(
    spark: SparkSession,
) -> None:
    rows = transformed(GobblinTrackingAuditProcessor(), audits(spark, *LASTING, *TEMPORARY))
    assert [row["dataset"] for row in rows] == [f"/data/{name}" for name in LASTING]


class Evens(RecordProcessor):
    """The datasets of events with an even number."""

    columns: ClassVar = ("name",)

    def process(self, record: Mapping[str, Any]) -> dict[str, object] | None:
        number = int(record["metadata"]["dataset"].removeprefix("/data/"))
        return None if number % 2 else {"name": number}


@pytest.mark.parametrize(
    ("processor", "names", "wanted"),
    [
        (GobblinTrackingAuditProcessor(), [*LASTING, *TEMPORARY], {"temporary datasets": len(TEMPORARY)}),
        (GobblinTrackingAuditProcessor(), LASTING, {}),
        (GobblinTrackingLumosProcessor(), ["a", "b"], {"events of another kind": 2}),
        (GobblinTrackingCompactionProcessor(), ["a"], {"events of another kind": 1}),
        (GobblinTrackingDistcpNgProcessor(), ["a"], {"events of another kind": 1}),
        (Evens(), ["1", "2", "3", "none"], {"no row of the processor": 2}),
    ],
)
def test_records_that_are_left_out_are_counted_by_reason(
    spark: SparkSession, processor: Processor, names: list[str], wanted: dict[str, int]
) -> None:
    left_out = LeftOut(processor)
    made = left_out.transform(audits(spark, *names)).toArrow().num_rows
    assert (left_out.counts(made), made + sum(wanted.values())) == (wanted, len(names))


TIMES = "createTime: bigint, lastAccessTime: bigint"
TABLE = f"struct<tableName: string, dbName: string, owner: string, {TIMES}, location: string>"
CONTENT = (
    "eventType: string, timestamp: bigint, metastoreThriftUri: string, metastoreVersion: string, "
    "isSuccessful: boolean, isDataDeleted: boolean"
)


def test_a_tables_event_has_its_new_state_or_the_old_one_of_what_was_dropped(spark: SparkSession) -> None:
    schema = (
        f"{HEADER}, metastoreTableAuditContent struct<{CONTENT}, oldTable: {TABLE}, newTable: {TABLE}>, {KAFKA_TYPE}"
    )
    old, new = ("t", "db", "ann", 1, 2, "/old"), ("t", "db", "bob", 1, 2, "/new")
    records = [
        {
            "auditHeader": (9, "s", None, "app"),
            "metastoreTableAuditContent": ("ALTER_TABLE", 1000, None, None, True, False, old, new),
        },
        {
            "auditHeader": (9, "s", "i", "app"),
            "metastoreTableAuditContent": ("DROP_TABLE", 2000, None, None, True, True, old, None),
        },
        {"auditHeader": (9, "s", "i", "app"), "metastoreTableAuditContent": None},
    ]
    altered, dropped, neither = transformed(MetastoreAuditProcessor(), frame(spark, schema, *records))
    assert (altered["owner"], altered["location"], altered["instance"], altered["time_partition"]) == (
        "bob",
        "/new",
        "",
        "?",
    )
    assert (dropped["event_type"], dropped["owner"], dropped["log_event_time"]) == ("DROP_TABLE", "ann", 2000)
    assert neither["problem"] == "the event has no content of a table or partition"


def test_a_partitions_event_has_its_values(spark: SparkSession) -> None:
    partition = "struct<values: array<string>, dbName: string, tableName: string, location: string>"
    states = f"oldPartition: {partition}, newPartition: {partition}"
    schema = f"{HEADER}, metastorePartitionAuditContent struct<{CONTENT}, {states}>, {KAFKA_TYPE}"
    content = ("ADD_PARTITION", 1000, None, None, True, False, None, (["2016-07-10"], "db", "t", "/p"))
    record = {"auditHeader": (9, "s", "i", "app"), "metastorePartitionAuditContent": content}
    [row] = transformed(MetastoreAuditProcessor(), frame(spark, schema, record))
    assert (row["event_name"], row["time_partition"], row["db_name"]) == (
        "MetastorePartitionAuditEvent",
        '["2016-07-10"]',
        "db",
    )


def test_a_metadata_change_is_read_in_wherehows_first_form(spark: SparkSession) -> None:
    schema = (
        f"{HEADER}, urn string, datasetIdentifier {IDENTIFIER}, tags array<string>, "
        "datasetProperties struct<changeAuditStamp: struct<actorUrn: string, type: string, time: bigint>, "
        "nativeType: string, uri: string>, "
        "owners array<struct<ownerCategory: string, owner: string>>, "
        "schema struct<fieldSchema: array<struct<fieldPath: string, type: string, nullable: boolean, "
        f"description: string>>>, {KAFKA_TYPE}"
    )
    records = [
        {
            "auditHeader": (5, "s", "i", "app"),
            "datasetIdentifier": ("urn:li:dataPlatform:hive", "a.b", "PROD"),
            "datasetProperties": (("urn:li:corpuser:ann", "UPDATE", 4), "TABLE", None),
            "owners": [("OWNER", "ann")],
            "tags": ["pii"],
            "schema": ([("id", "int", False, None)],),
        },
        {
            "auditHeader": (6, "s", "i", "app"),
            "urn": "urn:x",
            "datasetProperties": (("me", "DELETE", 4), "TABLE", None),
        },
        {"auditHeader": (7, "s", "i", "app")},
    ]
    changed, deleted, nameless = transformed(MetadataChangeProcessor(), frame(spark, schema, *records))
    assert (changed["urn"], changed["change_type"]) == ("urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)", "UPSERT")
    assert (changed["actor"], changed["log_event_time"]) == ("urn:li:corpuser:ann", 5)
    assert json.loads(changed["schema_fields"]) == [{"path": "id", "type": "int", "nullable": False}]
    assert json.loads(changed["owners"]) == [{"owner": "ann", "type": "DATAOWNER"}]
    assert (json.loads(changed["tags"]), json.loads(changed["properties"])) == (["pii"], {"nativeType": "TABLE"})
    assert (deleted["change_type"], deleted["urn"], "schema_fields" in deleted) == ("DELETE", "urn:x", False)
    assert nameless["problem"].startswith("the event has no dataset")


def test_a_urn_of_another_system_gives_way_to_the_identifier_and_the_uri(spark: SparkSession) -> None:
    schema = (
        f"{HEADER}, urn string, datasetIdentifier {IDENTIFIER}, datasetProperties struct<uri: string>, {KAFKA_TYPE}"
    )
    header = {"auditHeader": (5, "s", "i", "app")}
    foreign = {**header, "urn": "urn:salesforce:table:opportunity"}
    records = [
        {**foreign, "datasetIdentifier": ("urn:li:dataPlatform:hive", "a.b", "PROD")},
        {**foreign, "datasetProperties": ("hive:///db/t",)},
        {**header, "datasetProperties": ("hdfs://nn:9000/data/x",)},
        foreign,
    ]
    found = [row["urn"] for row in transformed(MetadataChangeProcessor(), frame(spark, schema, *records))]
    assert found == [
        dataset_urn("a.b", "hive"),
        dataset_urn("db.t", "hive"),
        dataset_urn("/data/x"),
        "urn:salesforce:table:opportunity",
    ]


def test_a_metadata_change_may_tell_deprecation_upstreams_and_data_owners(spark: SparkSession) -> None:
    schema = (
        f"{HEADER}, urn string, deprecation struct<deprecated: boolean, note: string>, "
        f"upstreams array<string>, owners array<struct<ownerUrn: string, ownerCategory: string>>, {KAFKA_TYPE}"
    )
    header = {"auditHeader": (5, "s", "i", "app"), "urn": dataset_urn("/x")}
    full = {"deprecation": (True, "use y"), "upstreams": [dataset_urn("/y")], "owners": [("ann", "DATA_OWNER")]}
    told, silent = transformed(MetadataChangeProcessor(), frame(spark, schema, {**header, **full}, header))
    assert (told["deprecated"], told["deprecation_note"]) == (True, "use y")
    assert json.loads(told["upstreams"]) == [dataset_urn("/y")]
    assert json.loads(told["owners"]) == [{"owner": "ann", "type": "DATAOWNER"}]
    assert silent.keys() == {"urn", "change_type", "log_event_time"}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("upstreams array<struct<datasetUrn: string>>", [(dataset_urn("/y"),)]),
        (f"upstreams array<{IDENTIFIER}>", [("urn:li:dataPlatform:hdfs", "/y", "PROD")]),
        ("upstreamLineage struct<upstreams: array<struct<dataset: string>>>", ([(dataset_urn("/y"),)],)),
    ],
)
def test_upstreams_may_be_told_in_several_ways(spark: SparkSession, kind: str, given: object) -> None:
    record = {"auditHeader": (5, "s", "i", "app"), "urn": dataset_urn("/x"), kind.partition(" ")[0]: given}
    [row] = transformed(MetadataChangeProcessor(), frame(spark, f"{HEADER}, urn string, {kind}, {KAFKA_TYPE}", record))
    assert json.loads(row["upstreams"]) == [dataset_urn("/y")]


def test_an_execution_has_the_urns_of_what_it_read_and_wrote(spark: SparkSession) -> None:
    item = f"struct<datasetIdentifier: {IDENTIFIER}, datasetUrn: string>"
    schema = (
        f"{HEADER}, application struct<name: string>, jobExecution struct<name: string, executionId: bigint, "
        "executionGuid: string, topLevelFlowName: string, startTime: bigint, endTime: bigint, state: string>, "
        f"inputDatasetList array<{item}>, outputDatasetList array<{item}>, {KAFKA_TYPE}"
    )
    records = [
        {
            "auditHeader": (5, "s", "i", "app"),
            "application": ("AZKABAN",),
            "jobExecution": ("f/j", 7, None, "f", 1, -1, None),
            "inputDatasetList": [(("urn:li:dataPlatform:hive", "a.b", "PROD"), None)],
            "outputDatasetList": [
                (("urn:li:dataPlatform:hdfs", "/x", "PROD"), "urn:li:dataset:(urn:li:dataPlatform:hdfs,/y,EI)")
            ],
        },
        {
            "auditHeader": (5, "s", "i", "app"),
            "application": ("AZKABAN",),
            "jobExecution": ("j", None, None, "", 1, 2, "FAILED"),
        },
    ]
    done, nameless = transformed(JobExecutionLineageProcessor(), frame(spark, schema, *records))
    assert json.loads(done["input_datasets"]) == ["urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"]
    assert json.loads(done["output_datasets"]) == ["urn:li:dataset:(urn:li:dataPlatform:hdfs,/y,EI)"]
    assert (done["execution_id"], done["status"], done["start_time"], "end_time" in done) == (
        "7",
        "SUCCEEDED",
        1,
        False,
    )
    assert nameless["problem"] == "the event has no jobExecution.executionId or executionGuid"


def test_datasets_of_an_execution_may_have_their_urns_alone(spark: SparkSession) -> None:
    execution = "jobExecution struct<name: string, executionId: bigint, executionGuid: string>"
    schema = (
        f"{HEADER}, application struct<name: string>, {execution}, inputDatasetList array<struct<datasetUrn: string>>"
    )
    given = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"
    record = {
        "auditHeader": (5, "s", "i", "a"),
        "application": ("azkaban",),
        "jobExecution": ("j", None, "guid-1"),
        "inputDatasetList": [(given,), ("/no/urn",)],
    }
    [row] = transformed(JobExecutionLineageProcessor(), frame(spark, f"{schema}, {KAFKA_TYPE}", record))
    assert json.loads(row["input_datasets"])[0] == given
    assert json.loads(row["output_datasets"]) == []
    assert row["execution_id"] == "guid-1"


class Doubling(RecordProcessor):
    columns: ClassVar = ("name", "twice")

    def process(self, record: Mapping[str, Any]) -> Mapping[str, object] | None:
        if record["name"] == "skip":
            return None
        return {"name": record["name"], "twice": {"of": record["timestamp"] * 2}}


def test_a_processor_in_plain_python_gives_rows_nothing_or_a_problem(spark: SparkSession) -> None:
    records = [{"timestamp": 2, "name": "a"}, {"timestamp": 2, "name": "skip"}, {"timestamp": None, "name": "b"}]
    good, bad = transformed(Doubling(), frame(spark, GOBBLIN, *records))
    assert good == {"name": "a", "twice": '{"of": 4}'}
    assert bad["problem"].startswith("TypeError: ")
