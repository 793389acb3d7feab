"""Fifty pipelines in DataHub's words: every kind of filter, with transformers, retries and failures."""

from __future__ import annotations

from typing import Any

MODULE = "tests.integration.datahub.inside.recording"
ECE, RCE, MCL = "EntityChangeEvent_v1", "RelationshipChangeEvent_v1", "MetadataChangeLogEvent_v1"
Pipeline = dict[str, Any]


def by_type(**types: Any) -> dict[str, Any]:
    """One item of `filters:`."""
    return {"type": "event_type", "config": {"filter": types}}


def simple(event_type: Any, **event: Any) -> Pipeline:
    """The older `filter:`."""
    return {"filter": {"event_type": event_type, **({"event": event} if event else {})}}


def step(**config: Any) -> dict[str, Any]:
    return {"type": f"{MODULE}:Step", "config": config}


FILTERS: list[Pipeline] = [
    {},
    simple(ECE),
    simple([ECE, RCE]),
    simple("NoSuchEvent_v1"),
    simple(ECE, category="TAG"),
    simple(ECE, category=["TAG", "OWNER"], operation="ADD"),
    simple(ECE, parameters={"tagUrn": "urn:li:tag:1"}),
    simple(ECE, parameters={"tagUrn": ["urn:li:tag:1", "urn:li:tag:2"]}),
    simple(ECE, auditStamp={"actor": "urn:li:corpuser:jane"}),
    simple(ECE, version=3),
    simple(ECE, version=[3]),
    simple(ECE, modifier=None),
    simple(ECE, category=""),
    simple(ECE, nowhere={"a": 1}),
    simple(RCE, relationshipType="Owns", properties={"level": "2"}),
    simple(MCL, aspectName="status"),
    simple(MCL, changeType=["UPSERT", "DELETE"]),
    simple(MCL, aspect={"value": {"removed": True}}),
    simple(MCL, aspect={"value": {"removed": "true"}}),
    simple(MCL, created={"actor": "urn:li:corpuser:jane"}, systemMetadata={"runId": "run-1"}),
    simple(MCL, headers={"who": "me"}),
    simple([MCL, ECE], entityType="dataset"),
    {"filters": [by_type(**{MCL: {"event": [{"entityType": "dataset", "aspectName": ["status", "ownership"]}]}})]},
    {"filters": [by_type(**{MCL: {"event": [{"changeType": "DELETE"}, {"aspectName": "ownership"}]}})]},
    {"filters": [by_type(**{MCL: {"event": [{"aspect": {"value": {"removed": False}}}]}, ECE: None})]},
    {"filters": [by_type(**{ECE: {}, RCE: {"event": [{"operation": "ADD"}]}})]},
    {"filters": [by_type(**{ECE: {"event": []}})]},
    {"filters": [by_type(**{ECE: None}), by_type(**{ECE: {"event": [{"category": "OWNER"}]}, MCL: None})]},
    {"filters": [by_type(**{ECE: None})], **simple(ECE, operation="REMOVE")},
    {"filters": [{"type": f"{MODULE}:Even"}]},
    {"filters": [{"type": f"{MODULE}:Even"}, by_type(**{RCE: None, MCL: {}})]},
    {"source": {"enable_mcl_pre_deserialization_filter": False}, **simple(MCL, aspectName="ownership")},
]
STEPS: list[Pipeline] = [
    {"transform": [step(drops=3)]},
    {"transform": [step(sets="x")]},
    {"transform": [step(sets="x"), step(replaces="second")]},
    {"transform": [step(drops=2), step(drops=4)], **simple(ECE)},
    {"transform": [step(sets="y", replaces="only")], "filters": [by_type(**{ECE: {"event": [{"category": "TAG"}]}})]},
    {"transform": [step(fails=[11, 12])]},
    {"transform": [step(fails=[20])], "options": {"retry_count": 1}},
]
ACTIONS: list[Pipeline] = [
    {"action": {"fails": [5, 6, 30]}},
    {"action": {"fails": [5, 30], "error": "os"}},
    {"action": {"fails": [5], "times": 1}, "options": {"retry_count": 1}},
    {"action": {"fails": [7], "times": 2}, "options": {"retry_count": 2, "failure_mode": "CONTINUE"}},
    {"action": {"fails": [8], "error": "os"}, "options": {"retry_count": 1}},
    {"action": {"answer": True}},
    {"action": {"fails": [9]}, "source": {"async_commit_enabled": False}, **simple(ECE)},
    {"action": {"fails": [4]}, "transform": [step(replaces="x")], "filters": [by_type(**{MCL: {}})]},
]
# Not among them: `MetadataChangeLogEvent_v1: null` in `filters`. DataHub's filter wants such events, and its source
# drops all of them unread. Penstock delivers them.

ENDING: list[Pipeline] = [
    {"action": {"fails": [10]}, "options": {"failure_mode": "THROW"}},
    {"action": {"fails": [12], "error": "os"}, "options": {"failure_mode": "THROW", "retry_count": 1}},
    {"action": {"fails": [3], "times": 1}, "transform": [step(fails=[14])], "options": {"failure_mode": "THROW"}},
]
"""Pipelines that end at an event; they read one topic, since the order of topics is nobody's promise."""
