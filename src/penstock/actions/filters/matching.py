"""Compiler of a filter for one value.

The rules are DataHub's, because files written for DataHub rely on them:

| in the filter | matches                                                                                          |
|---------------|--------------------------------------------------------------------------------------------------|
| a map         | a map in which every key matches; text is parsed as JSON first                                   |
| a list        | text equal to one of the items                                                                   |
| anything else | an equal value; a missing field equals null                                                      |

A map whose keys are all operators (`operators.py`) is no map of fields, and a key may be a path (`lookup.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.actions.filters.lookup import MISSING, as_text, is_path, opened, values_at
from penstock.actions.filters.operators import OPERATORS, Matches, Report, is_operation
from penstock.config.yaml_file import KeyPath


def compile_value(spec: object, path: KeyPath, report: Report) -> Matches:
    """Compile the condition for a value. Mistakes in the filter are reported with their path."""
    if isinstance(spec, dict):
        return _operation(spec, path, report) if is_operation(spec) else compile_fields(spec, path, report)
    if isinstance(spec, list):
        return _one_of(spec)
    return _equal_to(spec)


def compile_fields(spec: Mapping[str, object], path: KeyPath, report: Report) -> Matches:
    """Compile a condition for a map, or text with a JSON map, in which every named field matches."""
    fields = [_compile_field(key, item, (*path, key), report) for key, item in spec.items()]

    def matches(value: object) -> bool:
        inside = opened(value)
        return isinstance(inside, dict) and all(field(inside) for field in fields)

    return matches


def _compile_field(key: str, spec: object, path: KeyPath, report: Report) -> Callable[[Mapping[str, object]], bool]:
    wanted = compile_value(spec, path, report)
    if not is_path(key):
        return lambda fields: wanted(as_text(fields.get(key, MISSING)))
    return lambda fields: any(wanted(as_text(found)) for found in list(values_at(fields, key)) or [MISSING])


def _operation(spec: Mapping[str, object], path: KeyPath, report: Report) -> Matches:
    parts = [_operator(name, operand, (*path, name), report) for name, operand in spec.items()]
    return parts[0] if len(parts) == 1 else lambda value: all(part(value) for part in parts)


def _operator(name: str, operand: object, path: KeyPath, report: Report) -> Matches:
    match name, operand:
        case "not", _:
            unwanted = compile_value(operand, path, report)
            return lambda value: not unwanted(value)
        case "any" | "all", list():
            choices = [compile_value(item, (*path, index), report) for index, item in enumerate(operand)]
            quantifier = any if name == "any" else all
            return lambda value: quantifier(choice(value) for choice in choices)
        case "fields", dict():
            return compile_fields(operand, path, report)
        case _:
            return OPERATORS[name](operand, path, report)


def _one_of(items: list[object]) -> Matches:
    texts = frozenset(item for item in items if isinstance(item, str))
    return lambda value: isinstance(value, str) and value in texts


def _equal_to(wanted: object) -> Matches:
    if wanted is None:
        return lambda value: value is None or value is MISSING
    return lambda value: value == wanted
