from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.catalog.telling.change import Change
from penstock.catalog.telling.entity_changes import entity_change_events
from penstock.catalog.telling.messages import change_log, change_log_schema, platform_event_schema, platform_events

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,tracking.PageViewEvent,PROD)"


def changed(aspect: str, before: Any, after: Any, actor: str | None = None) -> Change:
    return Change(7, URN, aspect, before, after, 1_767_225_600_000, actor)


def told(aspect: str, before: Any, after: Any) -> list[tuple[str, str, str | None]]:
    events = entity_change_events(changed(aspect, before, after))
    return [(event.category, event.operation, event.modifier or None) for event in events]


def schema(*fields: tuple[str, str]) -> dict[str, Any]:
    return {"version": 1, "fields": [{"path": path, "type": kind, "nullable": True} for path, kind in fields]}


@pytest.mark.parametrize(
    ("aspect", "before", "after", "expected"),
    [
        ("datasetKey", None, {"name": "x"}, [("LIFECYCLE", "CREATE", None)]),
        ("datasetKey", {"name": "x"}, None, [("LIFECYCLE", "HARD_DELETE", None)]),
        ("status", None, {"removed": False}, []),
        ("status", {"removed": False}, {"removed": True}, [("LIFECYCLE", "SOFT_DELETE", None)]),
        ("status", {"removed": True}, {"removed": False}, [("LIFECYCLE", "REINSTATE", None)]),
        ("globalTags", ["a", "b"], ["b", "c"], [("TAG", "REMOVE", "urn:li:tag:a"), ("TAG", "ADD", "urn:li:tag:c")]),
        ("deprecation", None, {"deprecated": True, "note": None}, [("DEPRECATION", "MODIFY", "DEPRECATED")]),
        ("deprecation", {"deprecated": True, "note": None}, None, [("DEPRECATION", "MODIFY", "ACTIVE")]),
        ("run", None, {"status": "RUNNING", "executionId": "1"}, [("RUN", "STARTED", None)]),
        ("run", "RUNNING", {"status": "FAILED", "executionId": "1"}, [("RUN", "COMPLETED", None)]),
        ("run", None, {"status": "WAIT_FOR_DATA", "executionId": "1"}, []),
        ("run", "RUNNING", {"status": "SUSPENDED", "executionId": "1"}, []),
        ("run", None, {"status": "DISABLED", "executionId": "1"}, []),
        ("run", "RUNNING", {"status": "NO_DATA", "executionId": "1"}, [("RUN", "COMPLETED", None)]),
        ("load", None, {"operation": "compact"}, [("RUN", "COMPLETED", None)]),
        ("datasetProperties", None, {"customProperties": {}}, []),
    ],
)
def test_a_change_is_told_by_its_category_and_operation(
    aspect: str, before: Any, after: Any, expected: list[tuple[str, str, str | None]]
) -> None:
    assert told(aspect, before, after) == expected


def test_each_field_that_came_went_or_changed_is_told() -> None:
    before, after = (
        schema(("id", "int"), ("page", "string"), ("same", "int")),
        schema(("id", "long"), ("same", "int"), ("url", "string")),
    )
    assert told("schemaMetadata", before, after) == [
        ("TECHNICAL_SCHEMA", "MODIFY", f"urn:li:schemaField:({URN},id)"),
        ("TECHNICAL_SCHEMA", "ADD", f"urn:li:schemaField:({URN},url)"),
        ("TECHNICAL_SCHEMA", "REMOVE", f"urn:li:schemaField:({URN},page)"),
    ]


def test_an_owner_who_gets_another_type_is_removed_and_added() -> None:
    was, now = ([{"owner": "ann", "type": kind}] for kind in ("DATAOWNER", "DEVELOPER"))
    events = entity_change_events(changed("ownership", was, now))
    assert [(event.operation, event.parameters) for event in events] == [
        ("ADD", {"ownerUrn": "urn:li:corpuser:ann", "ownerType": "DEVELOPER"}),
        ("REMOVE", {"ownerUrn": "urn:li:corpuser:ann", "ownerType": "DATAOWNER"}),
    ]


def test_a_change_log_has_the_aspect_as_it_is_and_was() -> None:
    log = change_log(changed("status", {"removed": False}, {"removed": True}, actor="ann"))
    assert log is not None
    assert (log["entityType"], log["entityUrn"], log["changeType"], log["aspectName"]) == (
        "dataset",
        URN,
        "UPSERT",
        "status",
    )
    assert json.loads(log["aspect"]["value"]) == {"removed": True}
    assert json.loads(log["previousAspectValue"]["value"]) == {"removed": False}
    assert log["created"] == {"time": 1767225600000, "actor": "urn:li:corpuser:ann"}


def test_an_aspect_that_is_gone_is_deleted() -> None:
    log = change_log(changed("globalTags", ["a"], None))
    assert log is not None
    assert (log["changeType"], log["aspect"]) == ("DELETE", None)


def test_happenings_are_no_aspects() -> None:
    load = changed("load", None, {"operation": "compact"})
    assert change_log(load) is None
    [event] = platform_events(load)
    assert event["name"] == "entityChangeEvent"
    assert json.loads(event["payload"]["value"]) == {
        "entityType": "dataset",
        "entityUrn": URN,
        "category": "RUN",
        "operation": "COMPLETED",
        "auditStamp": {"time": 1767225600000, "actor": "urn:li:corpuser:penstock"},
        "parameters": {"operation": "compact"},
        "version": 0,
    }


def test_what_was_is_left_out_where_it_is_very_large() -> None:
    large = schema(*((f"field_{number}", "string") for number in range(5000)))
    log = change_log(changed("schemaMetadata", large, schema(("id", "int"))))
    assert log is not None
    assert log["previousAspectValue"] is None


def test_the_schemas_have_datahubs_names() -> None:
    assert change_log_schema().name == "com.linkedin.pegasus2avro.mxe.MetadataChangeLog"
    assert platform_event_schema().name == "com.linkedin.pegasus2avro.mxe.PlatformEvent"
