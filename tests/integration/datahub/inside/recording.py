"""An action, transformers and a filter for DataHub and Penstock alike, which note what they are called with."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

from datahub_actions.action.action import Action
from datahub_actions.event.event_envelope import EventEnvelope
from datahub_actions.event.event_registry import EntityChangeEvent, MetadataChangeLogEvent, RelationshipChangeEvent
from datahub_actions.filter.filter import Filter
from datahub_actions.pipeline.pipeline_context import PipelineContext
from datahub_actions.transform.transformer import Transformer

CLASSES = (EntityChangeEvent, MetadataChangeLogEvent, RelationshipChangeEvent)


def place_of(event: EventEnvelope) -> list[Any]:
    """Where an event stands."""
    place = event.meta["kafka"]
    return [place["topic"], place["partition"], place["offset"]]


class Recording(Action):
    """Notes each call. `fails` says which events raise, by offset, and `times` at how many of their attempts."""

    def __init__(self, config: dict[str, Any], ctx: PipelineContext) -> None:
        self._notes = os.open(f"{config['notes']}/{ctx.pipeline_name}", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._fails = set(config.get("fails", ()))
        self._times = config.get("times", 1000)
        self._answer = config.get("answer")
        self._attempts: dict[str, int] = {}
        self._error = {"os": OSError, "value": ValueError}[config.get("error", "value")]

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Recording:
        return cls(config_dict, ctx)

    def act(self, event: EventEnvelope) -> Any:
        place = place_of(event)
        known = [one.__name__ for one in CLASSES if isinstance(event.event, one)]
        whole = [type(event) is EventEnvelope, known, event.event_type, json.loads(event.event.as_json())]
        os.write(self._notes, json.dumps([place, whole, event.meta.get("step")]).encode() + b"\n")
        attempts = self._attempts[str(place)] = self._attempts.get(str(place), 0) + 1
        if place[2] in self._fails and attempts <= self._times:
            raise self._error("told to fail")
        return self._answer

    def close(self) -> None:
        os.close(self._notes)


class Step(Transformer):
    """Changes events, drops those of some offsets and raises at others, as its config says."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Step:  # noqa: ARG003 - DataHub's signature
        return cls(config)

    def transform(self, event: EventEnvelope) -> EventEnvelope | None:
        offset = place_of(event)[2]
        if offset % 7 == self._config.get("drops"):
            return None
        if offset in self._config.get("fails", ()):
            raise RuntimeError("told to fail")
        if self._config.get("sets") and isinstance(event.event, EntityChangeEvent):
            event.event.modifier = f"urn:li:tag:{self._config['sets']}"
            event.event._inner_dict["category"] = "CHANGED"
        if self._config.get("replaces"):
            return dataclasses.replace(event, meta={**event.meta, "step": self._config["replaces"]})
        return event


class Even(Filter):
    """Wants events of even offsets."""

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Even:  # noqa: ARG003 - DataHub's signature
        return cls()

    def matches(self, event: EventEnvelope) -> bool:
        return isinstance(event.event, CLASSES) and place_of(event)[2] % 2 == 0
