r"""Fast check of a message's bytes: reject messages that cannot match, before decoding.

If a filter requires a field to equal a text, the text must appear in the message: JSON and Avro both write text
unchanged. A message without the text cannot match. JSON may also write a character as an escape (`\u0054`), so messages
with such escapes always pass, and text that JSON must escape is not checked. Avro writes enums as numbers, so in Avro
only fields known to be text are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from penstock.actions.filters.lookup import ANY
from penstock.actions.filters.operators import is_operation
from penstock.events.metadata import METADATA_CHANGE_LOG, PLATFORM_EVENTS

Screen = Callable[[bytes], bool]
Need = frozenset[bytes]
"""Texts of which the message must contain at least one."""

_TEXT_IN_AVRO = ("entityType", "entityUrn", "aspectName")
_JSON_IN_AVRO = ("aspect.value.", "previousAspectValue.value.")
_KNOWN = (METADATA_CHANGE_LOG, *PLATFORM_EVENTS.values())
_PLAIN = re.compile(r"[ !#-\[\]-~]+")
_ESCAPES = (b"\\u", b"\\/")
_AVRO = b"\0"
"""JSON has no zero byte. Every message with a schema id begins with a zero byte."""


def screen(event_type: str, predicates: Sequence[object]) -> Screen | None:
    """Return the check for messages of a type, if one of the predicates must match. None lets every message pass."""
    alternatives = [needs(event_type, predicate) for predicate in predicates]
    if not all(alternatives):
        return None
    unsure = _ESCAPES if event_type in _KNOWN else (*_ESCAPES, _AVRO)

    def can_match(data: bytes) -> bool:
        return any(_has(data, wanted) for wanted in alternatives) or any(mark in data for mark in unsure)

    return can_match


def needs(event_type: str, predicate: object) -> list[Need]:
    """Return the texts that the bytes of a matching message must contain."""
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
    """Yield the operands that must all match."""
    for name, operand in spec.items():
        if name == "all" and isinstance(operand, list):
            yield from ((path, item) for item in operand)
        elif name == "fields" and isinstance(operand, dict):
            yield from _fields(path, operand)
        elif name == "in" or (name == "equals" and isinstance(operand, str)):
            yield path, operand
