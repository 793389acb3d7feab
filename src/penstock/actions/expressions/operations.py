"""What operators of expressions do; each refuses what it is not for, and results that grow without end."""

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
    """Bytes as the text they hold."""
    return as_text(value)


def item(value: object, key: object) -> object:
    """What a map, a list or a text has at a key; null where it has nothing."""
    inside = opened(value)
    if isinstance(inside, dict):
        return inside.get(key) if isinstance(key, str) else None
    if isinstance(inside, list | str) and isinstance(key, int) and -len(inside) <= key < len(inside):
        found: object = inside[key]
        return found
    return None


def cut(value: object, low: object, high: object) -> object:
    """A part of a text or a list."""
    value = plain(value)
    if not isinstance(value, str | list) or not isinstance(low, int | None) or not isinstance(high, int | None):
        raise TypeError(f"cannot cut {kind(value)}")
    return value[low:high]


def add(left: object, right: object) -> object:
    """A sum of numbers, or two texts or lists joined."""
    left, right = plain(left), plain(right)
    if isinstance(left, str) and isinstance(right, str):
        return limited(left + right)
    if isinstance(left, list) and isinstance(right, list):
        return limited(left + right)
    return _sum(left, right)


def of_numbers(apply: Operation, sign: str) -> Operation:
    """An operation on numbers only."""

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
    """A comparison of two numbers or two texts."""

    def checked(left: object, right: object) -> object:
        if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
            return apply(left, right)
        raise TypeError(f"{kind(left)} {sign} {kind(right)} is not defined")

    return checked


def is_in(wanted: object, container: object) -> bool:
    """Whether a list or map has it, or a text contains it."""
    container = plain(container)
    if isinstance(container, str):
        return isinstance(wanted, str) and wanted in container
    if isinstance(container, dict):
        return isinstance(wanted, str) and wanted in container
    if isinstance(container, list):
        return wanted in container
    raise TypeError(f"{kind(container)} contains nothing")


def negated(value: Any) -> object:  # noqa: ANN401 - a number, as is checked
    """The number with its sign changed."""
    if not is_number(value):
        raise TypeError(f"-{kind(value)} is not defined")
    result: object = -value
    return result


def is_number(value: object) -> bool:
    """Whether it is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind(value: object) -> str:
    """What a value is, in words for messages."""
    names = {dict: "a map", list: "a list", str: "text", bytes: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if is_number(value) else type(value).__name__)


def limited(value: Limited) -> Limited:
    """The text or list, unless it has grown too long."""
    if len(value) > MAX_LENGTH:
        raise OverflowError(f"the result is longer than {MAX_LENGTH:,}")
    return value
