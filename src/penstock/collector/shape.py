"""Validation of a topic's events: JSON that fits the topic's Avro schema.

msgspec decodes and checks in one step. An event accepted by msgspec is valid, apart from fields of richer types
(arrays, maps, records, dates, wider unions). `penstock.schemas` validates these fields, and every event rejected by
msgspec, and explains why a value does not fit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from penstock.collector.ids import MAX_ID_LENGTH
from penstock.collector.plain_types import RICH, plain_type
from penstock.errors import RecordInvalid
from penstock.schemas.avro.misfit import Misfit, find_misfit
from penstock.schemas.avro.model import Field, RecordType
from penstock.schemas.from_json import parse_json, read_checked
from penstock.schemas.to_json import json_default

Event = Any
"""Event as decoded by msgspec: a Struct created at run time for the schema."""

ID_FIELD = "event_id"

NOT_SURELY = (msgspec.DecodeError, RecordInvalid, RecursionError, UnicodeDecodeError)
"""Errors while decoding many events that require checking each event separately."""

_ID_TYPE = Annotated[str, Meta(min_length=1, max_length=MAX_ID_LENGTH)] | None | UnsetType
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}


class _Slot(NamedTuple):
    """Field of the schema, and the Struct's attribute that holds the field."""

    attribute: str
    field: Field


class EventShape:
    """Decodes, checks and encodes the events of one schema.

    `time_field` may be missing or null; the server sets it. `event_id` is accepted in addition to the schema's fields,
    and is removed unless the schema contains it.
    """

    def __init__(self, record: RecordType, *, key_field: str | None = None, time_field: str | None = None) -> None:
        self._record = record
        self.time_field = time_field
        self._slots = [_Slot(f"field_{index}", field) for index, field in enumerate(record.fields)]
        attributes = {slot.field.name: slot.attribute for slot in self._slots}
        self._key = attributes[key_field] if key_field else None
        self._time = attributes[time_field] if time_field else None
        self._id = attributes.get(ID_FIELD, ID_FIELD)
        self._id_is_extra = ID_FIELD not in attributes
        self._rich = [slot for slot in self._slots if plain_type(slot.field.type) is RICH]
        self.struct = self._make_struct(plain_type)
        decoder = partial(msgspec.json.Decoder, float_hook=_exact_number)
        self._one = decoder(self.struct)
        self._array = decoder(list[self.struct])  # type: ignore[name-defined]
        self._untyped = decoder(self._make_struct(lambda _type: RICH))
        self.encode: Callable[[Event], bytes] = msgspec.json.Encoder(decimal_format="number").encode

    @property
    def is_plain(self) -> bool:
        """Whether msgspec checks every field, so that decoding takes no longer than parsing."""
        return not self._rich

    def decode(self, text: bytes, *, suggests: bool = True) -> Event:
        """Decode one event from JSON. RecordInvalid names the field and the value that do not fit.

        It may also suggest a similar name, which takes longer than everything else.
        """
        try:
            event = self._one.decode(text)
            return self._checked(event) if self._rich else event
        except NOT_SURELY:
            return self._look_closely(text, suggests)

    def decode_array(self, text: bytes) -> list[Event]:
        """Decode all events of a JSON array. Raises the errors in NOT_SURELY."""
        events = self._array.decode(text)
        return [self._checked(event) for event in events] if self._rich else events

    def decode_lines(self, text: bytes) -> list[Event]:
        """Decode all events of newline-delimited JSON. Raises the errors in NOT_SURELY."""
        events = self._one.decode_lines(text)
        return [self._checked(event) for event in events] if self._rich else events

    def take_id(self, event: Event) -> str | None:
        """Return the event's own id, if any. Remove an `event_id` that is not a field of the schema."""
        event_id = getattr(event, self._id)
        if self._id_is_extra and event_id is not UNSET:
            event.event_id = UNSET
        if not isinstance(event_id, str):
            return None
        _check_length(event_id)
        return event_id

    def finish(self, event: Event, now: str) -> tuple[bytes, bytes | None]:
        """Return the record's value and key: the event as JSON, with its time set if missing, and the key field."""
        if self._time is not None and getattr(event, self._time) is None:
            setattr(event, self._time, now)
        key = getattr(event, self._key) if self._key is not None else None
        return self.encode(event), None if key is None else str(key).encode()

    def _make_struct(self, type_of: Callable[[Any], Any]) -> type[msgspec.Struct]:
        fields = [self._struct_field(slot, type_of(slot.field.type)) for slot in self._slots]
        if self._id_is_extra:
            fields.append((ID_FIELD, _ID_TYPE, UNSET))
        name = self._record.name.rpartition(".")[2]
        names = {slot.attribute: slot.field.name for slot in self._slots}
        return msgspec.defstruct(name, fields, rename=names, kw_only=True, forbid_unknown_fields=True)

    def _struct_field(self, slot: _Slot, kind: Any) -> Any:  # noqa: ANN401 - defstruct accepts tuples of several forms
        if slot.field.name == self.time_field:
            return (slot.attribute, kind | None, None)
        if not slot.field.has_default:
            return (slot.attribute, kind)
        default = json_default(slot.field)
        if isinstance(default, list | dict):
            return (slot.attribute, kind, msgspec.field(default_factory=partial(copy.deepcopy, default)))
        return (slot.attribute, kind, default)

    def _checked(self, event: Event) -> Event:
        """Return the event if its fields of richer types are valid."""
        for attribute, field in self._rich:
            value = getattr(event, attribute)
            read, checked = read_checked(value, field.type)
            misfit = find_misfit(read, field.type, checked, field.name, suggests=False)
            if misfit:
                raise _invalid(misfit)
        return event

    def _look_closely(self, text: bytes, suggests: bool) -> Event:
        value = parse_json(text)
        if not isinstance(value, dict):
            raise RecordInvalid(f"{text.decode():.60} is not a JSON object, as an event must be")
        self._leave_out_what_the_schema_does_not_say(value)
        read, checked = read_checked(value, self._record)
        misfit = find_misfit(read, self._record, checked, suggests=suggests)
        if misfit:
            raise _invalid(misfit)
        return self._untyped.decode(text)

    def _leave_out_what_the_schema_does_not_say(self, value: dict[str, Any]) -> None:
        if self.time_field and value.get(self.time_field) is None:
            value[self.time_field] = ""
        if self._id_is_extra and (event_id := value.pop(ID_FIELD, None)) is not None:
            if not isinstance(event_id, str):
                raise _invalid(Misfit(ID_FIELD, f"{event_id!r:.60} is not a string"))
            _check_length(event_id)


def _check_length(event_id: str) -> None:
    if not 1 <= len(event_id) <= MAX_ID_LENGTH:
        raise RecordInvalid(f"{ID_FIELD}: {event_id[:60]!r} is not 1 to {MAX_ID_LENGTH} characters long")


def _exact_number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text:.60} is out of range") from None


def _invalid(misfit: Misfit) -> RecordInvalid:
    """Return the rejection, worded for JSON."""
    word, space, rest = misfit.message.partition(" ")
    message = _JSON_WORDS.get(word, word) + space + rest
    return RecordInvalid(f"{misfit.path}: {message}" if misfit.path else message, hint=misfit.hint)
