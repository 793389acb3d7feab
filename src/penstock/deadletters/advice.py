"""Advice for dead letters, by error code."""

from __future__ import annotations

_REPAIR = "repair the value (show --json, edit, replay --file), or let the schema take it and replay"
_ADVICE = {
    "record.invalid": _REPAIR,
    "record.undecodable": "if its schema was missing, register it and replay; else repair the value and replay it",
    "record.too_large": "raise max.message.bytes of the topic, then replay",
    "record.transform": "mend the pipeline's transform, restart it, then replay",
    "request.not_json": "the sender's body was no JSON: repair it (show --json, edit, replay --file)",
    "schema.not_found": "register the schema that the record names, then replay",
}
_OTHERWISE = "mend what the message tells, then replay"


def advice(code: str) -> str:
    """Return one line of advice for the reader of a letter."""
    return _ADVICE.get(code, _OTHERWISE)
