"""Parser of bodies: a JSON object, an array of objects, or an object per line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from penstock.collector.refusals import NoEvents, NotJson, Refusal, TooManyEvents, Unsupported
from penstock.collector.shape import NOT_SURELY, Event, EventShape
from penstock.errors import RecordInvalid

JSON = b"application/json"

_JSON = JSON.decode()
_JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")

ACCEPTED = f"{_JSON}, {_JSON_LINES[0]}"

_raw_items = msgspec.json.Decoder(list[msgspec.Raw])
_raw_item = msgspec.json.Decoder(msgspec.Raw)
_SPACE = b" \t\r\n"
_BRACE = b"{"
_WITH_SUGGESTION = 20


class Rejected(NamedTuple):
    """Invalid event, with text and reason."""

    text: bytes
    error: RecordInvalid


class Parsed(msgspec.Struct):
    """Events of a body in order. `single` is true for one object, false for an array or lines."""

    events: list[Event | Rejected]
    single: bool


def parse_body(body: bytes, content_type: bytes, shape: EventShape, most: int) -> Parsed:
    """Decode and check every event. Invalid events become Rejected; invalid JSON raises NotJson."""
    parsed = _parser_for(content_type)(body, shape, most)
    if not parsed.events:
        raise NoEvents("the body holds no event", hint="send a JSON object, an array of them, or one a line")
    _check_number(len(parsed.events), most)
    return parsed


def charge(body: bytes, most: int) -> int:
    """Return how many events an invalid body counts as: as many as it seems to contain, because each cost work."""
    return min(max(1, body.count(_BRACE)), most)


@lru_cache(maxsize=100)
def _parser_for(content_type: bytes) -> Callable[[bytes, EventShape, int], Parsed]:
    name, _, parameters = content_type.decode("latin-1").partition(";")
    media_type = name.strip().lower()
    charset = parameters.lower().replace(" ", "").replace('"', "").removeprefix("charset=")
    if media_type in {_JSON, *_JSON_LINES} and charset in {"", "utf-8", "utf8"}:
        return _parse_json if media_type == _JSON else _parse_lines
    raise Unsupported(
        f"content type {content_type.decode('latin-1')!r:.60} is not understood",
        hint=f"use {_JSON} or {_JSON_LINES[0]}, in UTF-8",
        headers={"accept-post": ACCEPTED},
    )


def _parse_json(body: bytes, shape: EventShape, most: int) -> Parsed:
    start = body.lstrip(_SPACE)[:1]
    if start == b"[":
        return Parsed(_parse_array(body, shape, most), single=False)
    if not start:
        return Parsed([], single=True)
    try:
        return Parsed([shape.decode(body)], single=True)
    except RecordInvalid as error:
        _refuse_what_is_not_json(body)
        return Parsed([Rejected(body, error)], single=True)


def _parse_array(body: bytes, shape: EventShape, most: int) -> list[Event | Rejected]:
    if _may_hold_more(body, most):
        _check_number(len(_items(body)), most)
    try:
        return shape.decode_array(body)
    except NOT_SURELY:
        return _one_by_one(_items(body), shape, most)


def _parse_lines(body: bytes, shape: EventShape, most: int) -> Parsed:
    try:
        if _may_hold_more(body, most):
            _check_number(len(_raw_item.decode_lines(body)), most)
        return Parsed(shape.decode_lines(body), single=False)
    except NOT_SURELY:
        lines = [line for line in body.split(b"\n") if line.strip(_SPACE)]
        return Parsed(_one_by_one(lines, shape, most), single=False)


def _one_by_one(texts: Sequence[bytes | msgspec.Raw], shape: EventShape, most: int) -> list[Event | Rejected]:
    """Check each event separately. This is slow, so the number of events is checked first."""
    _check_number(len(texts), most)
    events: list[Event | Rejected] = []
    rejected = 0
    for text in texts:
        event = _event_or_rejected(bytes(text).strip(_SPACE), shape, suggests=rejected < _WITH_SUGGESTION)
        rejected += isinstance(event, Rejected)
        events.append(event)
    return events


def _may_hold_more(body: bytes, most: int) -> bool:
    """Whether the events must be counted before decoding. Decoding costs a hundred times as much as counting.

    Each event contains at least one brace. Items without braces are refused early.
    """
    return body.count(_BRACE) > most


def _check_number(events: int, most: int) -> None:
    if events > most:
        raise TooManyEvents(events, most)


def _event_or_rejected(text: bytes, shape: EventShape, *, suggests: bool) -> Event | Rejected:
    try:
        return shape.decode(text, suggests=suggests)
    except RecordInvalid as error:
        return Rejected(text, error)


def _items(body: bytes) -> list[msgspec.Raw]:
    try:
        return _raw_items.decode(body)
    except NOT_SURELY as error:
        raise _not_json(error) from error


def _refuse_what_is_not_json(body: bytes) -> None:
    try:
        msgspec.json.decode(body)
    except NOT_SURELY as error:
        raise _not_json(error) from error


def _not_json(error: Exception) -> Refusal:
    text = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return NotJson(f"the body is not JSON: {text}")
