"""Lake values as Python values. Dates and timestamps become text, because Python's calendar ends in 9999."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.pipelines.verify.calendar import day_text, moment_text


def plain_values(column: pa.Array) -> list[Any]:
    """Return the values of a column."""
    items = _items(column.type)
    if pa.types.is_timestamp(items):
        micros = column.cast(_of(column.type, pa.timestamp("us", items.tz)), safe=False)
        return _each(micros.cast(_of(column.type, pa.int64())).to_pylist(), moment_text)
    if pa.types.is_date32(items):
        return _each(column.cast(_of(column.type, pa.int32())).to_pylist(), day_text)
    return list(column.to_pylist())


def _items(kind: pa.DataType) -> pa.DataType:
    """Return the item type of a list type; nested lists are unwrapped."""
    return _items(kind.value_type) if _is_list(kind) else kind


def _of(kind: pa.DataType, items: pa.DataType) -> pa.DataType:
    """Return the list type with a different item type."""
    if not _is_list(kind):
        return items
    make = pa.large_list if pa.types.is_large_list(kind) else pa.list_
    return make(_of(kind.value_type, items))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _each(values: list[Any], text: Callable[[int], str]) -> list[Any]:
    return [
        _each(value, text) if isinstance(value, list) else None if value is None else text(value) for value in values
    ]
