"""Transformers: what becomes of an event, which itself stays as it was."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.actions.registry import TRANSFORMERS, find_class
from penstock.errors import TransformFailed
from penstock.events.metadata import event_class
from tests.action_context import ECE, context, event


def transformed(name: str, config: dict[str, Any], body: dict[str, Any], event_type: str = ECE) -> Any:
    step = find_class(TRANSFORMERS, name).create(config, context())
    given, before = event(body, event_type), copy.deepcopy(body)
    made = step.transform(given)
    assert given.event.data == before, "the original is as it was"
    if made is None:
        return None
    assert (made.event_type, made.meta) == (event_type, given.meta)
    assert type(made.event) is event_class(event_type)
    return made.event.data


@pytest.mark.parametrize(
    ("name", "config", "body", "expected"),
    [
        ("set", {"fields": {"a": 1, "b.c": [2]}}, {"a": 0}, {"a": 1, "b": {"c": [2]}}),
        ("set", {"fields": {"a.b": 1}}, {"a.b": 0}, {"a.b": 1}),
        ("set", {"fields": {"a.*.b": 1}}, {"a": [{}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 1}]}),
        ("set", {"fields": {"a.b": 1}}, {"a": None}, {"a": {"b": 1}}),
        ("drop", {"fields": ["a", "b.c", "nowhere.d"]}, {"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2}}),
        ("drop", {"fields": ["a.0", "b.*.c"]}, {"a": [1, 2], "b": [{"c": 1}, 5]}, {"a": [2], "b": [{}, 5]}),
        ("drop", {"fields": ["a.b"]}, {"a": '{"b": 1, "c": 2}'}, {"a": '{"c":2}'}),
        ("drop", {"fields": ["a.b"]}, {"a": b'{"b": 1}'}, {"a": b"{}"}),
        ("drop", {"fields": ["a.b"]}, {"a": "plain"}, {"a": "plain"}),
        ("rename", {"fields": {"a": "x.y", "gone": "z"}}, {"a": 1, "b": 2}, {"b": 2, "x": {"y": 1}}),
        ("rename", {"fields": {"a": "b", "b": "a"}}, {"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ("rename", {"fields": {"a": "b"}}, {"a": None}, {"b": None}),
        ("map", {"fields": {"a": "b + 1", "b": "a"}}, {"a": 5, "b": 1}, {"a": 2, "b": 5}),
        ("map", {"fields": {"x.y": "upper(a)"}, "only": True}, {"a": "k", "b": 1}, {"x": {"y": "K"}}),
        ("filter", {"event": {"a": 1}}, {"a": 1}, {"a": 1}),
        ("filter", {"event": {"a": 1}}, {"a": 2}, None),
        ("filter", {"event_type": "MetadataChangeLogEvent_v1"}, {}, None),
    ],
)
def test_a_transformer_gives(name: str, config: dict[str, Any], body: dict[str, Any], expected: object) -> None:
    assert transformed(name, config, body) == expected


def test_what_cannot_be_set_fails_the_event() -> None:
    with pytest.raises(TransformFailed, match=r"a\.b: b cannot be set in a int"):
        transformed("set", {"fields": {"a.b": 1}}, {"a": 5})
    with pytest.raises(TransformFailed, match="has no value"):
        transformed("map", {"fields": {"a": "b + 1"}}, {"b": "text"})


def test_a_value_that_is_set_is_not_shared_between_events() -> None:
    step = find_class(TRANSFORMERS, "set").create({"fields": {"a": []}}, context())
    first, second = (step.transform(event({})) for _ in range(2))
    first.event.data["a"].append(1)
    assert second.event.data["a"] == []


@pytest.mark.parametrize(
    ("name", "config", "places"),
    [
        ("set", {"field": {}}, [("fields",), ("field",)]),
        ("drop", {"fields": []}, [("fields",)]),
        ("rename", {"fields": {"a": 1}}, [("fields", "a")]),
        ("map", {"fields": {"a": "b +", "c": "nope(1)"}}, [("fields", "a"), ("fields", "c")]),
        ("filter", {"event": {"a": {"regex": "("}, "b": {"in": 5}}}, [("event", "a", "regex"), ("event", "b", "in")]),
    ],
)
def test_mistakes_are_told_with_their_places(name: str, config: dict[str, Any], places: list[object]) -> None:
    with pytest.raises(ValidationError) as failure:
        find_class(TRANSFORMERS, name).Config.model_validate(config)
    assert [error["loc"] for error in failure.value.errors()] == places
