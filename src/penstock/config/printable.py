"""Make external text safe for a terminal: the only place that decides which characters are shown unescaped."""

from __future__ import annotations

import json
import re

_LINES = "\n\t"
_NOT_IN_JSON = re.compile(r"[^\x20-\x7e\n]")


def printable(value: object, keep: str = "") -> str:
    r"""Return the text with terminal control characters and invisible characters as escapes such as `\x1b`.

    Escaped are control characters of both sets (C0 and C1), changes of writing direction, line breaks and surrogates.
    """
    plain = str(value)
    if plain.isprintable():
        return plain
    return "".join(mark if mark.isprintable() or mark in keep else _escape(mark) for mark in plain)


def printable_lines(value: object) -> str:
    """Like `printable`, for text of several lines: line breaks and tabs stay."""
    return printable(value, _LINES)


def printable_json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON, with the characters that `printable` escapes as JSON escapes: the value is unchanged."""
    plain = json.dumps(value, indent=indent, default=str, ensure_ascii=False)
    return _NOT_IN_JSON.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], plain)


def _escape(mark: str) -> str:
    return mark.encode("unicode_escape").decode()
