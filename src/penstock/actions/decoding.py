"""Decoder of messages: Avro by schema id, PlatformEvents unpacked, anything else as generic events.

A message rejected by the pipeline's filter is decoded only until the mismatch is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.actions.filter import Filter
from penstock.actions.source_spec import MCL, MCL_TIMESERIES, PE
from penstock.errors import RecordUndecodable
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import METADATA_CHANGE_LOG, PLATFORM_EVENTS, Event, event_class
from penstock.events.record import ConsumerRecord
from penstock.schemas import AvroCodec, claims_schema

Decode = Callable[[ConsumerRecord], EventEnvelope | None]

_TYPES = {MCL: METADATA_CHANGE_LOG, MCL_TIMESERIES: METADATA_CHANGE_LOG, PE: "PlatformEvent_v1"}
_REQUIRED = ("entityType", "changeType")
_json = msgspec.json.Decoder(type=Any)
_object = msgspec.json.Decoder(type=dict[str, Any])


class EventDecoder:
    """Decoder for the messages of a pipeline's topics.

    `routes` maps each topic to its content: `mcl` and `mcl_timeseries` for MetadataChangeLogs, `pe` for PlatformEvents.
    Any other name is a type of generic events.
    """

    def __init__(self, routes: Mapping[str, str], codec: AvroCodec, wanted: Filter) -> None:
        self._avro = codec.decode
        self._may_match = wanted.may_match
        self._types = wanted.event_types()
        self._by_topic = {topic: self._route(route) for topic, route in routes.items()}
        self._named = {topic: _TYPES.get(route, route) for topic, route in routes.items()}

    def decode(self, record: ConsumerRecord) -> EventEnvelope | None:
        """Return the event of a message. Return None if the filter cannot match, or for a tombstone without an event.

        RecordUndecodable and SchemaNotFound report a bad message, RegistryUnavailable reports an unreachable registry.
        """
        return self._by_topic[record.topic](record)

    def type_of(self, record: ConsumerRecord) -> str:
        """Return the event type of the message's route, for messages that cannot be decoded."""
        return self._named[record.topic]

    def _route(self, route: str) -> Decode:
        if route in {MCL, MCL_TIMESERIES}:
            return self._change_log
        return self._platform_event if route == PE else self._generic(route)

    def _change_log(self, record: ConsumerRecord) -> EventEnvelope | None:
        data = record.value
        if data is None or (claims_schema(data) and not self._wants(METADATA_CHANGE_LOG, data)):
            return None
        value = self._avro(data)
        if not (isinstance(value, dict) and all(isinstance(value.get(name), str) for name in _REQUIRED)):
            missing = " or ".join(_REQUIRED)
            raise RecordUndecodable(f"the value is no record or has no {missing}, so it is no MetadataChangeLog")
        return EventEnvelope(METADATA_CHANGE_LOG, event_class(METADATA_CHANGE_LOG)(value), None, record)

    def _platform_event(self, record: ConsumerRecord) -> EventEnvelope | None:
        if record.value is None:
            return None
        value: Any = self._avro(record.value)
        try:
            name, payload = value["name"], value["payload"]["value"]
        except (TypeError, KeyError):
            raise RecordUndecodable("the value has no name and payload, so it is no PlatformEvent") from None
        event_type = PLATFORM_EVENTS.get(name, name)
        if (name not in PLATFORM_EVENTS and not self._names(name)) or not self._wants(event_type, payload):
            return None
        try:
            event = event_class(event_type)(_object.decode(payload))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordUndecodable(f"the payload of the PlatformEvent is no JSON object: {error}") from error
        return EventEnvelope(event_type, event, None, record)

    def _generic(self, event_type: str) -> Decode:
        def decode(record: ConsumerRecord) -> EventEnvelope | None:
            data = record.value or b"null"
            has_schema = claims_schema(data)
            if (has_schema or data.startswith(b"{")) and not self._wants(event_type, data):
                return None
            value = self._avro(data) if has_schema else _json_value(data)
            return EventEnvelope(
                event_type, Event(value if isinstance(value, dict) else {"value": value}), None, record
            )

        return decode

    def _names(self, event_type: str) -> bool:
        """Whether the filter names the type. As in DataHub, PlatformEvents of unknown kinds are dropped otherwise."""
        return self._types is not None and event_type in self._types

    def _wants(self, event_type: str, data: bytes) -> bool:
        return (self._types is None or event_type in self._types) and self._may_match(event_type, data)


def _json_value(data: bytes | str) -> object:
    try:
        value: object = _json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordUndecodable(
            f"neither Avro with a schema id nor JSON: {error}", hint="is it a topic for this route?"
        ) from error
    return value
