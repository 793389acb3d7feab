r"""A cheap look at a message's bytes that tells whether it can match at all, before anything is decoded.

Where a filter wants a field to be equal to a text, that text must stand in the message: JSON and Avro both write text
as it is. So a message without it cannot match. JSON may also write a character as an escape (`\u0054`), therefore
messages with such escapes are never judged here, and neither is text that JSON must escape. Avro writes enums as
numbers, therefore only fields that are known to be text are judged in Avro.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from penstock.actions.filters.lookup import ANY
from penstock.actions.filters.operators import is_operation
from penstock.events.metadata import METADATA_CHANGE_LOG, PLATFORM_EVENTS

Screen = Callable[[bytes], bool]
Need = frozenset[bytes]
"""Texts of which at least one must be in the message."""

_TEXT_IN_AVRO = ("entityType", "entityUrn", "aspectName")
_JSON_IN_AVRO = ("aspect.value.", "previousAspectValue.value.")
_KNOWN = (METADATA_CHANGE_LOG, *PLATFORM_EVENTS.values())
_PLAIN = re.compile(r"[ !#-\[\]-~]+")
_ESCAPES = (b"\\u", b"\\/")
_AVRO = b"\0"
"""JSON has no zero byte; every message with a schema id begins with one."""


def screen(event_type: str, predicates: Sequence[object]) -> Screen | None:
    """The look at messages of this type, for a filter that wants one of the predicates; None lets all pass."""
    alternatives = [needs(event_type, predicate) for predicate in predicates]
    if not all(alternatives):
        return None
    unsure = _ESCAPES if event_type in _KNOWN else (*_ESCAPES, _AVRO)

    def can_match(data: bytes) -> bool:
        return any(_has(data, wanted) for wanted in alternatives) or any(mark in data for mark in unsure)

    return can_match


def needs(event_type: str, predicate: object) -> list[Need]:
    """What must be in the bytes of a message that this predicate can match."""
    is_mcl = event_type == METADATA_CHANGE_LOG
    return [need for path, need in _needs("", predicate) if not is_mcl or _is_text_in_avro(path)]


def _has(data: bytes, wanted: Iterable[Need]) -> bool:
    return all(any(text in data for text in need) for need in wanted)


def _is_text_in_avro(path: str) -> bool:
    return path in _TEXT_IN_AVRO or path.startswith(_JSON_IN_AVRO)


def _needs(path: str, spec: object) -> Iterable[tuple[str, Need]]:
    if isinstance(spec, dict):
        parts = _operands(path, spec) if is_operation(spec) else _fields(path, spec)
        return [need for inner, part in parts for need in _needs(inner, part)]
    texts = spec if isinstance(spec, list) else [spec]
    plain = [item for item in texts if isinstance(item, str) and _PLAIN.fullmatch(item)]
    return [(path, frozenset(item.encode() for item in plain))] if plain and len(plain) == len(texts) else []


def _fields(path: str, spec: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    return [(f"{path}.{key}" if path else key, item) for key, item in spec.items() if key != ANY]


def _operands(path: str, spec: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Those operands that all must match."""
    for name, operand in spec.items():
        if name == "all" and isinstance(operand, list):
            yield from ((path, item) for item in operand)
        elif name == "fields" and isinstance(operand, dict):
            yield from _fields(path, operand)
        elif name == "in" or (name == "equals" and isinstance(operand, str)):
            yield path, operand
