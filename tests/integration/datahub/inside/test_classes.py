"""What code written for DataHub does with events: it asks for classes, sets fields, copies envelopes."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, ClassVar

import pytest
from datahub.metadata.schema_classes import EntityChangeEventClass, MetadataChangeLogClass
from datahub_actions.action.action import Action
from datahub_actions.event.event import Event
from datahub_actions.event.event_envelope import EventEnvelope as Envelope
from datahub_actions.event.event_registry import (
    ENTITY_CHANGE_EVENT_V1_TYPE,
    METADATA_CHANGE_LOG_EVENT_V1_TYPE,
    EntityChangeEvent,
    MetadataChangeLogEvent,
    RelationshipChangeEvent,
    event_registry,
)
from datahub_actions.filter.filter import Filter
from datahub_actions.pipeline.pipeline_context import PipelineContext
from datahub_actions.transform.transformer import Transformer

from penstock.actions.datahub import create_plugin
from penstock.actions.filters.user_filter import UserFilter
from penstock.actions.transformers.map import Map
from penstock.actions.transformers.set import Set
from penstock.errors import RecordInvalid
from tests.action_context import context, event
from tests.metadata_events import change_log, entity_change

MCL, RCE = "MetadataChangeLogEvent_v1", "RelationshipChangeEvent_v1"
RELATIONSHIP = {
    "sourceUrn": "urn:li:a",
    "destinationUrn": "urn:li:b",
    "operation": "ADD",
    "relationshipType": "Owns",
    "auditStamp": {"actor": "urn:li:corpuser:jane", "time": 1},
}


class Noting(Action):
    """Notes the events it is called with."""

    def __init__(self, ctx: PipelineContext) -> None:
        self.ctx = ctx
        self.events: list[Envelope] = []

    made: ClassVar[list[Noting]] = []

    @classmethod
    def create(cls, config_dict: dict, ctx: PipelineContext) -> Noting:  # noqa: ARG003 - DataHub's signature
        cls.made.append(cls(ctx))
        return cls.made[-1]

    def act(self, event: Envelope) -> None:
        self.events.append(event)

    def close(self) -> None: ...


class Changing(Transformer):
    """Changes an event in the ways that DataHub's classes allow."""

    @classmethod
    def create(cls, config: dict, ctx: PipelineContext) -> Changing:  # noqa: ARG003 - DataHub's signature
        return cls()

    def transform(self, event: Envelope) -> Envelope | None:
        assert isinstance(event.event, EntityChangeEvent)
        if event.event.operation == "REMOVE":
            return None
        event.event.modifier = "urn:li:tag:changed"
        event.event._inner_dict["category"] = "CHANGED"
        return dataclasses.replace(event, meta={**event.meta, "seen": True})


class Tags(Filter):
    """Wants tags."""

    @classmethod
    def create(cls, config_dict: dict, ctx: PipelineContext) -> Tags:  # noqa: ARG003 - DataHub's signature
        return cls()

    def matches(self, event: Envelope) -> bool:
        return isinstance(event.event, EntityChangeEvent) and event.event.category == "TAG"


def received(body: dict[str, Any], event_type: str = "EntityChangeEvent_v1") -> Envelope:
    """The event as an action of DataHub's gets it."""
    action = create_plugin(Noting, {}, context())
    action.act(event(body, event_type))
    return Noting.made[-1].events[0]


@pytest.mark.parametrize(
    ("event_type", "body", "own", "base"),
    [
        ("EntityChangeEvent_v1", entity_change(), EntityChangeEvent, EntityChangeEventClass),
        (MCL, change_log(), MetadataChangeLogEvent, MetadataChangeLogClass),
        (RCE, RELATIONSHIP, RelationshipChangeEvent, Event),
    ],
)
def test_an_action_of_datahubs_gets_datahubs_classes(
    event_type: str, body: dict[str, Any], own: type, base: type
) -> None:
    got = received(body, event_type)
    assert (type(got), type(got.event)) == (Envelope, own)
    assert isinstance(got.event, base)
    assert (got.event_type, got.meta["kafka"]["offset"]) == (event_type, 7)


def test_an_entity_change_has_what_datahubs_own_has() -> None:
    got = received(entity_change(parameters={"tagUrn": "urn:li:tag:pii", "nested": {"a": [1]}}))
    assert got.event.auditStamp.message is None
    assert got.event.safe_parameters == {"tagUrn": "urn:li:tag:pii", "nested": {"a": [1]}}
    assert got.event._inner_dict["__parameters_json"] == got.event.safe_parameters
    again = Envelope.from_json(got.as_json())
    assert again.event == got.event


def test_a_change_log_keeps_its_bytes_and_its_headers_are_a_dict() -> None:
    header = {"time": 1, "server": "s", "appName": "a", "messageId": bytes(range(240, 256))}
    got = received(change_log(headers={"a": "b"}, auditHeader=header), MCL)
    assert (got.event.aspect.value, got.event.auditHeader.messageId) == (b'{"removed":true}', bytes(range(240, 256)))
    assert json.dumps(got.event.headers) == '{"a": "b"}'
    assert got.event.systemMetadata is None


def test_the_types_of_events_are_datahubs_constants() -> None:
    for constant in (ENTITY_CHANGE_EVENT_V1_TYPE, METADATA_CHANGE_LOG_EVENT_V1_TYPE):
        body = entity_change() if constant == ENTITY_CHANGE_EVENT_V1_TYPE else change_log()
        assert received(body, "".join([*constant])).event_type is constant


def test_a_change_log_from_a_file_of_events_has_bytes_as_well() -> None:
    aspect = {"value": '{"removed":true}', "contentType": "application/json"}
    assert received(change_log(aspect=aspect), MCL).event.aspect.value == b'{"removed":true}'


def test_changes_of_a_transformer_reach_the_steps_behind_it_and_not_the_event_as_it_was_read() -> None:
    read, changing = event(entity_change()), create_plugin(Changing, {}, context())
    changed = changing.transform(read)
    assert (changed.event.modifier, changed.event.category, changed.meta["seen"]) == (
        "urn:li:tag:changed",
        "CHANGED",
        True,
    )
    assert (read.event.modifier, read.event.category, "seen" in read.meta) == ("urn:li:tag:pii", "TAG", False)
    assert changed.record is read.record
    create_plugin(Noting, {}, context()).act(changed)
    assert Noting.made[-1].events[0].event is changed.event
    assert changing.transform(event(entity_change(operation="REMOVE"))) is None


def test_steps_of_penstock_go_before_and_behind_those_of_datahub() -> None:
    first = Set.create({"fields": {"parameters.level": 3}}, context())
    last = Map.create({"fields": {"summary": "category + ' ' + modifier"}}, context())
    changed = last.transform(create_plugin(Changing, {}, context()).transform(first.transform(event(entity_change()))))
    assert changed.event.summary == "CHANGED urn:li:tag:changed"
    assert changed.event.parameters.level == 3


def test_a_filter_of_datahubs_sees_datahubs_classes() -> None:
    wanted = UserFilter(Tags, {}, context())
    assert wanted.matches(event(entity_change()))
    assert not wanted.matches(event(entity_change(category="OWNER")))


def test_a_generic_event_is_of_the_class_that_is_registered_for_its_type() -> None:
    class Order(Event):
        def __init__(self, number: int) -> None:
            self.number = number

        @classmethod
        def from_json(cls, json_str: str) -> Order:
            return cls(json.loads(json_str)["id"])

        def as_json(self) -> str:
            return json.dumps({"id": self.number})

    plain = received({"id": 4}, "order").event
    assert (plain.id, plain.as_json()) == (4, '{"id":4}')
    event_registry.register("order", Order)
    assert received({"id": 4}, "order").event.number == 4


def test_an_event_that_does_not_fit_datahubs_class_fails_with_the_reason() -> None:
    with pytest.raises(RecordInvalid, match=r"DataHub's EntityChangeEvent_v1: .* is missing required field: entityUrn"):
        received({"entityType": "dataset"})


def test_what_a_transformer_returns_must_be_an_event() -> None:
    class Wrong(Changing):
        def transform(self, event: Envelope) -> Any:
            return event.event_type

    with pytest.raises(RecordInvalid, match=r"Wrong\.transform returned str, not an event"):
        create_plugin(Wrong, {}, context()).transform(event(entity_change()))


def test_the_context_is_datahubs_own() -> None:
    create_plugin(Noting, {}, context())
    ctx = Noting.made[-1].ctx
    assert isinstance(ctx, PipelineContext)
    assert (ctx.pipeline_name, ctx.graph, ctx.event_source.acknowledged) == ("test", None, [])
    assert ctx.settings is not None


def test_a_class_without_a_base_of_datahubs_gets_penstocks_events() -> None:
    class Plain:
        @classmethod
        def create(cls, config: dict, ctx: Any) -> Plain:  # noqa: ARG003 - the seam's signature
            return cls()

        def act(self, event: Any) -> str:
            return type(event).__module__

    assert create_plugin(Plain, {}, context()).act(event(entity_change())) == "penstock.events.envelope"
