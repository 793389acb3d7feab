"""Events of metadata as programs send them: their Avro schemas, records of them, and jobs that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GOBBLIN = {
    "type": "record",
    "name": "GobblinTrackingEvent",
    "namespace": "gobblin.metrics",
    "fields": [
        {"name": "timestamp", "type": "long", "default": 0},
        {"name": "namespace", "type": ["string", "null"], "default": ""},
        {"name": "name", "type": "string"},
        {"name": "metadata", "type": {"type": "map", "values": "string"}, "default": {}},
    ],
}

_HEADER = {"type": "record", "name": "AuditHeader", "fields": [{"name": "time", "type": "long"}]}
_FIELD = {
    "type": "record",
    "name": "Field",
    "fields": [{"name": name, "type": "string"} for name in ("fieldPath", "type")]
    + [{"name": "nullable", "type": "boolean"}],
}
_OWNER = {
    "type": "record",
    "name": "Owner",
    "fields": [{"name": name, "type": "string"} for name in ("owner", "ownerCategory")],
}

CHANGE = {
    "type": "record",
    "name": "MetadataChangeEvent",
    "fields": [
        {"name": "auditHeader", "type": _HEADER},
        {"name": "urn", "type": "string"},
        {
            "name": "schema",
            "type": {
                "type": "record",
                "name": "Schema",
                "fields": [{"name": "fields", "type": {"type": "array", "items": _FIELD}}],
            },
        },
        {"name": "owners", "type": {"type": "array", "items": _OWNER}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}

_IDENTIFIER = {
    "type": "record",
    "name": "DatasetIdentifier",
    "fields": [{"name": name, "type": "string"} for name in ("dataPlatformUrn", "nativeName")]
    + [{"name": "dataOrigin", "type": {"type": "enum", "name": "DeploymentTier", "symbols": ["PROD", "EI1"]}}],
}
_STAMP = {
    "type": "record",
    "name": "ChangeAuditStamp",
    "fields": [{"name": name, "type": "string"} for name in ("actorUrn", "type")] + [{"name": "time", "type": "long"}],
}
_SECOND_FIELD = {
    "type": "record",
    "name": "DatasetField",
    "fields": [{"name": name, "type": "string"} for name in ("fieldPath", "nativeDataType")]
    + [{"name": "nullable", "type": "boolean"}, {"name": "description", "type": ["null", "string"]}],
}
_SCHEMA = {
    "type": "record",
    "name": "DatasetSchema",
    "fields": [
        {"name": "description", "type": ["null", "string"]},
        {"name": "fieldSchema", "type": {"type": "array", "items": _SECOND_FIELD}},
    ],
}
_SCHEMALESS = {"type": "record", "name": "Schemaless", "fields": [{"name": "isSchemaless", "type": "boolean"}]}

SECOND_CHANGE = {
    "type": "record",
    "name": "MetadataChangeEvent",
    "fields": [
        {"name": "auditHeader", "type": _HEADER},
        {"name": "datasetIdentifier", "type": _IDENTIFIER},
        {"name": "changeAuditStamp", "type": _STAMP},
        {"name": "schema", "type": ["null", _SCHEMA, _SCHEMALESS], "default": None},
    ],
}
"""The parts of WhereHows' second form that differ from the first one."""

_NAMED = {
    "type": "record",
    "name": "Application",
    "fields": [{"name": "name", "type": "string"}],
}
_EXECUTION = {
    "type": "record",
    "name": "JobExecution",
    "fields": [{"name": name, "type": "string"} for name in ("topLevelFlowName", "name", "executionId", "state")]
    + [{"name": name, "type": "long"} for name in ("startTime", "endTime")],
}
_DATASET = {"type": "record", "name": "Dataset", "fields": [{"name": "datasetUrn", "type": "string"}]}

EXECUTION = {
    "type": "record",
    "name": "JobExecutionLineageEvent",
    "fields": [
        {"name": "auditHeader", "type": _HEADER},
        {"name": "application", "type": _NAMED},
        {"name": "jobExecution", "type": _EXECUTION},
        {"name": "inputDatasetList", "type": {"type": "array", "items": _DATASET}},
        {"name": "outputDatasetList", "type": {"type": "array", "items": "Dataset"}},
    ],
}

_SECOND_EXECUTION = {
    "type": "record",
    "name": "JobExecution",
    "fields": [{"name": name, "type": "string"} for name in ("flowName", "jobName")]
    + [{"name": name, "type": "long"} for name in ("jobExecutionId", "startTime", "endTime")]
    + [{"name": "status", "type": {"type": "enum", "name": "JobStatus", "symbols": ["RUNNING", "SUCCEEDED"]}}],
}
_LINEAGE = {
    "type": "record",
    "name": "DatasetLineage",
    "fields": [
        {"name": "sourceDataset", "type": {"type": "array", "items": _IDENTIFIER}},
        {"name": "destinationDataset", "type": {"type": "array", "items": "DatasetIdentifier"}},
    ],
}

SECOND_EXECUTION = {
    "type": "record",
    "name": "MetadataLineageEvent",
    "fields": [
        {"name": "type", "type": {"type": "enum", "name": "agent", "symbols": ["UNUSED", "AZKABAN"]}},
        {"name": "auditHeader", "type": _HEADER},
        {"name": "jobExecution", "type": _SECOND_EXECUTION},
        {"name": "lineage", "type": {"type": "array", "items": _LINEAGE}},
    ],
}


def dataset_urn(name: str, platform: str = "hdfs") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def compaction(at: int, dataset: str, partition: str, count: object, **more: str) -> dict[str, Any]:
    """A compaction that is done."""
    said = {"clusterIdentifier": "c1", "datasetUrn": dataset, "partition": partition, "recordCount": str(count)}
    return {
        "timestamp": at,
        "namespace": "compaction.tracking.events",
        "name": "CompactionCompleted",
        "metadata": {**said, **more},
    }


def metadata_change(
    at: int, urn: str, fields: Mapping[str, str], owners: tuple[str, ...] = (), tags: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What somebody says of a dataset: its fields by their types, its owners and tags."""
    return {
        "auditHeader": {"time": at},
        "urn": urn,
        "schema": {"fields": [{"fieldPath": path, "type": kind, "nullable": True} for path, kind in fields.items()]},
        "owners": [{"owner": f"urn:li:corpuser:{name}", "ownerCategory": "OWNER"} for name in owners],
        "tags": list(tags),
    }


def execution(at: int, job: str, number: int, state: str, *, reads: str, writes: str) -> dict[str, Any]:
    """An execution of a job that makes one dataset of another."""
    run = {"topLevelFlowName": "flow", "name": job, "executionId": str(number), "state": state}
    return {
        "auditHeader": {"time": at},
        "application": {"name": "azkaban"},
        "jobExecution": {**run, "startTime": at - 10, "endTime": at},
        "inputDatasetList": [{"datasetUrn": reads}],
        "outputDatasetList": [{"datasetUrn": writes}],
    }


def job_properties(group: str, routes: Mapping[str, tuple[str, str]], **more: str) -> dict[str, str]:
    """A job that reads these topics, each by a processor into a table."""
    return {
        "group.id": group,
        "kafka.topics": ",".join(routes),
        "kafka.processors": ",".join(processor for processor, _ in routes.values()),
        "kafka.db.tables": ",".join(table for _, table in routes.values()),
        "auto.commit.interval.ms": "100",
        **more,
    }
