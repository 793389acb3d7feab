"""Filters: DataHub's rules exactly, more words beside them, and a cheap look that never drops what matches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.actions.filters import compile_filter
from penstock.errors import ConfigError
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import event_class
from tests.action_context import context

ECE = "EntityChangeEvent_v1"
MCL = "MetadataChangeLogEvent_v1"


def envelope(body: dict[str, Any], event_type: str = ECE) -> EventEnvelope:
    return EventEnvelope(event_type, event_class(event_type)(body))


def matches(event: object, body: dict[str, Any]) -> bool:
    return compile_filter({"event_type": ECE, "event": event}).matches(envelope(body))


TAG_ADDED = {
    "entityType": "dataset",
    "entityUrn": "urn:li:dataset:orders",
    "category": "TAG",
    "operation": "ADD",
    "parameters": {"tagUrn": "urn:li:tag:pii", "propertyValues": '["a", "b"]'},
    "owners": [{"name": "ann"}, {"name": "bob"}],
    "auditStamp": {"actor": "urn:li:corpuser:ann", "time": 1_700_000_000_000},
    "version": 0,
    "modifier": None,
}


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"category": "TAG", "operation": "ADD"},
        {"category": ["OWNER", "TAG"]},
        {"parameters": {"tagUrn": "urn:li:tag:pii"}},
        {"version": 0},
        {"modifier": None},
        {"not_there": None},
        {"parameters.tagUrn": "urn:li:tag:pii"},
        {"owners.1.name": "bob"},
        {"owners.*.name": "ann"},
        {"parameters.propertyValues.1": "b"},
        {"entityUrn": {"regex": "orders$"}},
        {"category": {"not": "OWNER"}},
        {"category": {"not": ["OWNER", "DOMAIN"]}},
        {"not": {"category": "OWNER"}},
        {"parameters": {"exists": True}},
        {"modifier": {"exists": False}},
        {"nowhere": {"exists": False}},
        {"auditStamp.time": {"gte": 1_700_000_000_000, "lt": 1_800_000_000_000}},
        {"version": {"in": [0, 1]}},
        {"version": {"any": [{"gt": 5}, {"lt": 1}]}},
        {"any": [{"category": "OWNER"}, {"operation": "ADD"}]},
        {"all": [{"category": "TAG"}, {"operation": {"not": "REMOVE"}}]},
        {"owners": {"equals": [{"name": "ann"}, {"name": "bob"}]}},
        {"fields": {"category": "TAG"}},
    ],
)
def test_an_event_goes_on(event: object) -> None:
    assert matches(event, TAG_ADDED)


@pytest.mark.parametrize(
    "event",
    [
        {"category": "TAG", "operation": "REMOVE"},
        {"category": "tag"},
        {"category": []},
        {"version": [0]},
        {"owners": ["ann"]},
        {"parameters": {"tagUrn": "other"}},
        {"category": {"name": "TAG"}},
        {"parameters.tagUrn.deeper": "x"},
        {"owners.2.name": "bob"},
        {"owners.*.name": "cid"},
        {"entityUrn": {"regex": "^orders"}},
        {"version": {"regex": "0"}},
        {"version": {"gt": "0"}},
        {"category": {"gt": 5}},
        {"category": {"exists": False}},
        {"modifier": {"exists": True}},
        {"not": {"category": ["TAG"]}},
        {"version": {"in": [1, 2]}},
        {"any": []},
    ],
)
def test_an_event_is_left_out(event: object) -> None:
    assert not matches(event, TAG_ADDED)


def test_a_field_that_is_named_like_an_operator_is_reached_with_fields() -> None:
    body = {"parameters": {"exists": "yes"}}
    assert matches({"parameters": {"fields": {"exists": "yes"}}}, body)
    assert matches({"parameters": {"exists": "yes", "other": None}}, body), "other words make it a map of fields"


def test_a_field_whose_name_has_dots_comes_before_the_path() -> None:
    assert matches({"a.b": 1}, {"a.b": 1, "a": {"b": 2}})
    assert not matches({"a.b": 2}, {"a.b": 1, "a": {"b": 2}})


def test_json_inside_of_an_aspect_is_read_whether_it_is_text_or_bytes() -> None:
    chosen = compile_filter({"event_type": MCL, "event": {"aspect": {"value": {"executorId": "default"}}}})
    for value in ('{"executorId": "default"}', b'{"executorId": "default"}'):
        assert chosen.matches(envelope({"aspect": {"value": value}}, MCL))
    assert not chosen.matches(envelope({"aspect": {"value": b"not json"}}, MCL))
    whole = compile_filter({"event": {"aspect": {"value": "text"}}})
    assert whole.matches(envelope({"aspect": {"value": b"text"}}, MCL))


def test_types_are_named_once_or_in_a_list_or_not_at_all() -> None:
    for names in (ECE, [ECE, MCL]):
        assert compile_filter({"event_type": names}).matches(envelope({}))
    assert not compile_filter({"event_type": MCL}).matches(envelope({}))
    assert compile_filter({"event_type": [ECE, MCL]}).event_types() == {ECE, MCL}
    assert compile_filter({"event": {"a": 1}}).event_types() is None
    assert compile_filter().event_types() is None
    assert compile_filter().matches(envelope({}))


def by_type(spec: object) -> dict[str, object]:
    return {"type": "event_type", "config": {"filter": spec}}


def test_the_filter_by_type_wants_any_of_its_predicates() -> None:
    chosen = compile_filter(
        several=[by_type({ECE: {"event": [{"category": "TAG"}, {"category": "OWNER"}]}, MCL: None})]
    )
    assert chosen.matches(envelope({"category": "OWNER"}))
    assert not chosen.matches(envelope({"category": "DOMAIN"}))
    assert chosen.matches(envelope({}, MCL))
    assert not chosen.matches(envelope({}, "RelationshipChangeEvent_v1"))
    assert not compile_filter(several=[by_type({ECE: {"event": []}})]).matches(envelope({}))
    assert compile_filter(several=[by_type({ECE: {}})]).matches(envelope({}))


def test_several_filters_must_all_match() -> None:
    chosen = compile_filter(
        {"event_type": [ECE, MCL], "event": {"operation": "ADD"}}, [by_type({ECE: {"event": [{"category": "TAG"}]}})]
    )
    assert chosen.matches(envelope({"category": "TAG", "operation": "ADD"}))
    assert not chosen.matches(envelope({"category": "TAG", "operation": "REMOVE"}))
    assert chosen.event_types() == {ECE}


def test_every_mistake_is_told_with_its_place() -> None:
    with pytest.raises(ConfigError) as failure:
        compile_filter(
            {
                "event_typ": ECE,
                "event_type": [1],
                "event": {"a": {"regex": "("}, "b": {"exists": "yes"}, "c": {"in": 1}},
            },
            [
                by_type({ECE: {"event": {"category": "TAG"}}, MCL: []}),
                {"type": "event_type", "config": {}},
                {"config": {}},
                {"type": "no_such_filter"},
                {"type": "event_type", "config": by_type({ECE: {"event": [{"x": {"gt": None}}]}})["config"]},
                {"type": "event_type", "config": {"filter": {ECE: {"event": [{"any": "x"}]}}}},
            ],
            lambda path: "/".join(map(str, path)),
        )
    places = [problem.place for problem in failure.value.problems]
    assert places == [
        "filter/event_typ",
        "filter/event/a/regex",
        "filter/event/b/exists",
        "filter/event/c/in",
        "filter/event_type",
        f"filters/0/config/filter/{ECE}/event",
        f"filters/0/config/filter/{MCL}",
        "filters/1/config",
        "filters/2",
        "filters/3/type",
        f"filters/4/config/filter/{ECE}/event/0/x/gt",
        f"filters/5/config/filter/{ECE}/event/0/any",
    ]
    assert failure.value.problems[0].hint == "did you mean event_type?"


class OnlyTags:
    """A filter as DataHub's guide has it."""

    def __init__(self, category: str) -> None:
        self.category = category

    @classmethod
    def create(cls, config: dict[str, Any], _ctx: object) -> OnlyTags:
        return cls(config["category"])

    def matches(self, event: EventEnvelope) -> bool:
        return bool(event.event.category == self.category)


def test_a_class_of_the_users_own_filters_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "own_filters", __import__("sys").modules[__name__])
    chosen = compile_filter(several=[{"type": "own_filters:OnlyTags", "config": {"category": "TAG"}}], ctx=context())
    assert chosen.matches(envelope({"category": "TAG"}))
    assert not chosen.matches(envelope({"category": "OWNER"}))
    assert chosen.may_match(ECE, b"anything")


texts = st.text(alphabet='TAG"\\/é 1.', max_size=4)
leaves = st.none() | st.booleans() | st.integers(-2, 2) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
specs = st.recursive(leaves | st.lists(leaves, max_size=3), lambda inner: st.dictionaries(texts, inner, max_size=3))


def datahub(spec: object, value: object) -> bool:
    """DataHub's rules as its documents state them."""
    if isinstance(spec, dict):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return False
        return isinstance(value, dict) and all(datahub(item, value.get(key)) for key, item in spec.items())
    if isinstance(spec, list):
        return isinstance(value, str) and value in spec
    return spec == value


bodies = st.dictionaries(st.sampled_from("abc"), values | values.map(json.dumps), max_size=3)
filters = st.dictionaries(st.sampled_from("abc"), specs, max_size=3)


@given(filters, bodies)
def test_any_filter_without_paths_decides_as_datahub_does(event: dict[str, Any], body: dict[str, Any]) -> None:
    if "." not in json.dumps(event):
        assert matches(event, body) == datahub(event, body)


@given(filters, bodies, st.booleans())
def test_no_event_that_matches_is_dropped_by_its_bytes(
    event: dict[str, Any], body: dict[str, Any], escaped: bool
) -> None:
    chosen = compile_filter({"event_type": ECE, "event": event})
    if chosen.matches(envelope(body)):
        assert chosen.may_match(ECE, json.dumps(body, ensure_ascii=escaped).encode())


def test_events_without_the_wanted_text_are_dropped_by_their_bytes() -> None:
    chosen = compile_filter({"event_type": ECE, "event": {"category": ["TAG", "OWNER"], "parameters": {"tag": "pii"}}})
    assert chosen.may_match(ECE, b'{"category": "OWNER", "parameters": "{\\"tag\\": \\"pii\\"}"}')
    assert not chosen.may_match(ECE, b'{"category": "DOMAIN", "parameters": {"tag": "pii"}}')
    assert not chosen.may_match(ECE, b'{"category": "TAG", "parameters": {}}')
    assert not chosen.may_match(ECE, '{"category": "TAG", "parameters": {}}'), "a payload may be text as well"  # type: ignore[arg-type] - as Avro may have it
    assert chosen.may_match(ECE, rb'{"category": "\u0054AG", "parameters": {}}'), "an escape may hide the text"


def test_enums_are_not_looked_for_in_avro() -> None:
    chosen = compile_filter({"event_type": MCL, "event": {"changeType": "UPSERT", "entityType": "dataset"}})
    assert chosen.may_match(MCL, b"\0\0\0\0\1 dataset \2")
    assert not chosen.may_match(MCL, b"\0\0\0\0\1 chart \2")
    generic = compile_filter({"event_type": "orders", "event": {"status": "PAID"}})
    assert generic.may_match("orders", b"\0\0\0\0\1\2")
    assert not generic.may_match("orders", b'{"status": "NEW"}')
