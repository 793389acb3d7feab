"""Display of a record on a single line, coloured for people or as JSON."""

from __future__ import annotations

import base64
import json
from datetime import datetime

from penstock.cli.output import text
from penstock.config.printable import printable_json
from penstock.events.record import ConsumerRecord
from penstock.schemas.to_json import to_json


def json_line(record: ConsumerRecord) -> str:
    """Return the record as JSON. Bytes without a schema become text, or `{"base64": …}` if not valid UTF-8."""
    return printable_json(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "time": record.time.isoformat(timespec="milliseconds") if record.time else None,
            "key": _raw_json(record.key),
            "value": to_json(record.value) if record.has_schema else _raw_json(record.value),
            "headers": [[name, _raw_json(value)] for name, value in record.headers],
            "has_schema": record.has_schema,
        }
    )


def pretty_line(record: ConsumerRecord) -> str:
    """Format the record for people, with markup: time, origin, key, and fields or a placeholder."""
    key = "[dim]-[/]" if record.key is None else f"[yellow]{text(_raw(record.key))}[/]"
    return f"[dim]{_local(record.time)}[/]  [cyan]{text(record.origin)}[/]  {key}  {_value(record)}"


def _value(record: ConsumerRecord) -> str:
    if record.value is None and not record.has_schema:
        return "[dim](tombstone)[/]"
    if not record.has_schema:
        return text(_raw(record.value))
    if isinstance(record.value, dict):
        return " ".join(f"[green]{text(name)}[/]={_compact(item)}" for name, item in record.value.items())
    return _compact(record.value)


def _raw(value: object) -> object:
    """Decode valid UTF-8 bytes to text. Return other values unchanged."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _raw_json(value: object) -> object:
    found = _raw(value)
    return {"base64": base64.b64encode(found).decode()} if isinstance(found, bytes) else to_json(found)


def _compact(value: object) -> str:
    """Format a value as JSON, but dates and decimals without quotes."""
    plain = to_json(value)
    if isinstance(plain, str) and not isinstance(value, str):
        return text(plain)
    return text(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def _local(moment: datetime | None) -> str:
    return moment.astimezone().isoformat(" ", "milliseconds")[: len("2026-01-31 12:00:00.000")] if moment else "-"
