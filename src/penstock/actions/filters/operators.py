"""Operators of filters, in addition to DataHub's plain values: `regex`, `exists`, `gt` and so on.

| operator               | matches                                                              |
|------------------------|----------------------------------------------------------------------|
| `not: <anything>`      | values that the operand does not match                               |
| `any: […]`, `all: […]` | values that one operand, or every operand, matches                   |
| `regex: text`          | text in which the expression is found; anchor with `^` and `$`       |
| `exists: true`         | a field that is present and not null; `false` is the opposite        |
| `equals: value`        | an equal value, also a whole list or map                             |
| `in: [values]`         | a value equal to one of the list, including numbers and null         |
| `gt gte lt lte: value` | numbers by size, text by its order; never a mix of both              |
| `fields: {…}`          | a map with matching fields, for fields named like an operator        |
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from penstock.actions.filters.lookup import MISSING
from penstock.config.yaml_file import KeyPath
from penstock.events.fields import as_plain

Matches = Callable[[object], bool]
Report = Callable[[KeyPath, str, str], None]

MAX_REGEX = 1000
"""Longer expressions are mistakes, or attacks on the compiler of the expression."""


def is_operation(spec: Mapping[str, object]) -> bool:
    """Return whether a map consists of operators only. Any other key makes the map a map of fields, as in DataHub."""
    return bool(spec) and spec.keys() <= OPERATORS.keys()


def _never(_value: object) -> bool:
    return False


def _plain(value: object) -> object:
    return None if value is MISSING else as_plain(value)


def _regex(operand: object, path: KeyPath, report: Report) -> Matches:
    if not isinstance(operand, str) or len(operand) > MAX_REGEX:
        report(path, f"regex takes text of at most {MAX_REGEX} characters", "")
        return _never
    try:
        search = re.compile(operand).search
    except (re.error, RecursionError, OverflowError) as error:
        report(path, f"{operand!r} is not a regular expression: {error}", "")
        return _never
    return lambda value: isinstance(value, str) and search(value) is not None


def _exists(operand: object, path: KeyPath, report: Report) -> Matches:
    if not isinstance(operand, bool):
        report(path, "exists takes true or false", "")
    return lambda value: (value is not None and value is not MISSING) is operand


def _equals(operand: object, _path: KeyPath, _report: Report) -> Matches:
    return lambda value: _plain(value) == operand


def _in(operand: object, path: KeyPath, report: Report) -> Matches:
    if not isinstance(operand, list):
        report(path, "in takes a list of values", "")
        return _never
    return lambda value: _plain(value) in operand


def _compare(compare: Callable[[Any, Any], bool], operand: object, path: KeyPath, report: Report) -> Matches:
    kinds = str if isinstance(operand, str) else (int, float)
    if isinstance(operand, bool) or not isinstance(operand, kinds):
        report(path, f"{path[-1]} takes a number or text", "write a time as text in quotes")
        return _never
    return lambda value: isinstance(value, kinds) and not isinstance(value, bool) and compare(value, operand)


def _wrong_operand(takes: str, _operand: object, path: KeyPath, report: Report) -> Matches:
    report(path, f"{path[-1]} takes {takes}", "")
    return _never


OPERATORS: dict[str, Callable[[object, KeyPath, Report], Matches]] = {
    "regex": _regex,
    "exists": _exists,
    "equals": _equals,
    "in": _in,
    "gt": partial(_compare, operator.gt),
    "gte": partial(_compare, operator.ge),
    "lt": partial(_compare, operator.lt),
    "lte": partial(_compare, operator.le),
    "not": partial(_wrong_operand, "something to match"),
    "any": partial(_wrong_operand, "a list"),
    "all": partial(_wrong_operand, "a list"),
    "fields": partial(_wrong_operand, "a map"),
}
"""Operators, with the function that compiles the operand. Nested operators are compiled in `matching.py`."""
