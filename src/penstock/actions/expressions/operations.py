"""Operators of expressions. Each rejects unsupported operands and results of excessive size."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sized
from typing import Any, TypeVar

from penstock.actions.filters.lookup import as_text, opened

MAX_LENGTH = 1_000_000
MAX_BITS = 1024

Operation = Callable[[Any, Any], Any]
Limited = TypeVar("Limited", bound=Sized)


def plain(value: object) -> object:
    """Return bytes as text, other values unchanged."""
    return as_text(value)


def item(value: object, key: object) -> object:
    """Return the item of a map, list or text at a key or index; null if missing."""
    inside = opened(value)
    if isinstance(inside, dict):
        return inside.get(key) if isinstance(key, str) else None
    if isinstance(inside, list | str) and isinstance(key, int) and -len(inside) <= key < len(inside):
        found: object = inside[key]
        return found
    return None


def cut(value: object, low: object, high: object) -> object:
    """Return a part of a text or list."""
    value = plain(value)
    if not isinstance(value, str | list) or not isinstance(low, int | None) or not isinstance(high, int | None):
        raise TypeError(f"cannot cut {kind(value)}")
    return value[low:high]


def add(left: object, right: object) -> object:
    """Return the sum of two numbers, or two joined texts or lists."""
    left, right = plain(left), plain(right)
    if isinstance(left, str) and isinstance(right, str):
        return limited(left + right)
    if isinstance(left, list) and isinstance(right, list):
        return limited(left + right)
    return _sum(left, right)


def of_numbers(apply: Operation, sign: str) -> Operation:
    """Return an operation that accepts only numbers."""

    def checked(left: object, right: object) -> object:
        if not is_number(left) or not is_number(right):
            raise TypeError(f"{kind(left)} {sign} {kind(right)} is not defined")
        result = apply(left, right)
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise OverflowError("the number is too large")
        return result

    return checked


_sum = of_numbers(operator.add, "+")


def ordered(apply: Operation, sign: str) -> Operation:
    """Return a comparison of two numbers or two texts."""

    def checked(left: object, right: object) -> object:
        if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
            return apply(left, right)
        raise TypeError(f"{kind(left)} {sign} {kind(right)} is not defined")

    return checked


def is_in(wanted: object, container: object) -> bool:
    """Whether a list or map contains the value, or a text contains the text."""
    container = plain(container)
    if isinstance(container, str):
        return isinstance(wanted, str) and wanted in container
    if isinstance(container, dict):
        return isinstance(wanted, str) and wanted in container
    if isinstance(container, list):
        return wanted in container
    raise TypeError(f"{kind(container)} contains nothing")


def negated(value: Any) -> object:  # noqa: ANN401 - a number, as is checked
    """Return the negated number."""
    if not is_number(value):
        raise TypeError(f"-{kind(value)} is not defined")
    result: object = -value
    return result


def is_number(value: object) -> bool:
    """Whether the value is a number. Booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind(value: object) -> str:
    """Return the type of a value in words, for messages."""
    names = {dict: "a map", list: "a list", str: "text", bytes: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if is_number(value) else type(value).__name__)


def limited(value: Limited) -> Limited:
    """Return the text or list. Raise OverflowError if its length exceeds the limit."""
    if len(value) > MAX_LENGTH:
        raise OverflowError(f"the result is longer than {MAX_LENGTH:,}")
    return value
