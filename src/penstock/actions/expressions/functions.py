"""Functions of expressions.

| function                                        | result                                                        |
|-------------------------------------------------|---------------------------------------------------------------|
| `lower(x)`, `upper(x)`, `trim(x)`               | the changed text                                              |
| `replace(x, old, new)`                          | the text with every `old` replaced                            |
| `split(x, by)`, `join(list, by)`                | a text as a list, and back                                    |
| `starts_with(x, part)`, `ends_with(x, part)`    | true or false                                                 |
| `find(x, 'regex')`                              | the first group of the first match, or the match, or null     |
| `length(x)`                                     | length of a text, list or map; 0 for null                     |
| `text(x)`, `number(x)`                          | a value as text, text as a number                             |
| `to_json(x)`, `from_json(x)`                    | a value as JSON, JSON as a value                              |
| `coalesce(x, y, …)`                             | the first value except null                                   |
| `iso_time(ms)`                                  | milliseconds since 1970 as `2026-01-31T12:00:00.000Z`         |
| `min(x, y, …)`, `max(x, y, …)`, `round(x)`, `abs(x)` | a number                                                 |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from penstock.actions.expressions.operations import MAX_LENGTH, is_number, kind, limited, plain
from penstock.errors import UsageError
from penstock.events.fields import as_plain

_MANY = 20


class Function(NamedTuple):
    """Function, with its minimum and maximum number of arguments."""

    apply: Callable[..., Any]
    least: int = 1
    most: int = 1

    @property
    def takes(self) -> str:
        """Number of arguments, in words."""
        number = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        return f"{number} argument" + ("" if self.most == 1 else "s")


def check_regex(pattern: object) -> None:
    """Reject an invalid regular expression for `find`."""
    try:
        re.compile(_text(pattern))
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from None


def _text(value: object) -> str:
    value = plain(value)
    if not isinstance(value, str):
        raise TypeError(f"{kind(value)} is not text")
    return value


def _of_text(apply: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *texts: apply(*map(_text, texts))


def _replace(value: str, old: str, new: str) -> str:
    if value.count(old) * len(new) > MAX_LENGTH:
        raise OverflowError(f"the result is longer than {MAX_LENGTH:,}")
    return value.replace(old, new)


def _find(value: str, pattern: str) -> object:
    found = re.search(pattern, value)
    return found and (found[1] if found.re.groups else found[0])


def _join(items: object, by: object) -> str:
    if not isinstance(items, list):
        raise TypeError(f"{kind(items)} is not a list")
    return limited(_text(by).join(map(_as_text, items)))


def _length(value: object) -> int:
    value = plain(value)
    if not isinstance(value, str | list | dict | None):
        raise TypeError(f"{kind(value)} has no length")
    return len(value or "")


def _as_text(value: object) -> str:
    value = plain(value)
    return value if isinstance(value, str) else _to_json(value)


def _to_json(value: object) -> str:
    return msgspec.json.encode(as_plain(value)).decode()


def _from_json(value: object) -> object:
    parsed: object = msgspec.json.decode(_text(value))
    return parsed


def _number(value: object) -> object:
    value = plain(value)
    if is_number(value):
        return value
    text = _text(value).strip()
    return int(text) if re.fullmatch(r"[+-]?\d{1,300}", text) else float(text)


def _iso_time(value: object) -> str:
    if not isinstance(value, int | float):
        raise TypeError(f"{kind(value)} is not a time in milliseconds")
    return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _of_numbers(apply: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*numbers: object) -> object:
        if not all(map(is_number, numbers)):
            raise TypeError("only numbers can be compared so")
        result: object = apply(*numbers)
        return result

    return checked


FUNCTIONS: dict[str, Function] = {
    "lower": Function(_of_text(str.lower)),
    "upper": Function(_of_text(str.upper)),
    "trim": Function(_of_text(str.strip)),
    "replace": Function(_of_text(_replace), 3, 3),
    "split": Function(_of_text(str.split), 2, 2),
    "join": Function(_join, 2, 2),
    "starts_with": Function(_of_text(str.startswith), 2, 2),
    "ends_with": Function(_of_text(str.endswith), 2, 2),
    "find": Function(_of_text(_find), 2, 2),
    "length": Function(_length),
    "text": Function(_as_text),
    "number": Function(_number),
    "to_json": Function(_to_json),
    "from_json": Function(_from_json),
    "coalesce": Function(lambda *values: next((value for value in values if value is not None), None), 1, _MANY),
    "iso_time": Function(_iso_time),
    "min": Function(_of_numbers(min), 2, _MANY),
    "max": Function(_of_numbers(max), 2, _MANY),
    "round": Function(_of_numbers(round)),
    "abs": Function(_of_numbers(abs)),
}
