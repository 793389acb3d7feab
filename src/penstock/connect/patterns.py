"""Table patterns: a comma-separated list such as `public.*`, `shop.order_?`, or plain names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.errors import UsageError

_PATTERN = re.compile(r"[^.,\s]+\.[^.,\s]+")
_WILD = {"*": "[^.]*", "?": "[^.]"}
# Brackets and dollar signs inside escaped names are preceded by a backslash.
_EXCEPTIONS = re.compile(r"\(\?!\(\?:.*?\)\$\)")


def table_patterns(text: str) -> tuple[str, ...]:
    """Split a list into patterns. Raise UsageError unless each has a schema and a table."""
    patterns = tuple(part.strip() for part in text.split(",") if part.strip())
    wrong = [pattern for pattern in patterns if not _PATTERN.fullmatch(pattern)]
    if wrong or not patterns:
        raise UsageError(
            f"{', '.join(wrong) or 'nothing'} does not name tables",
            hint="write schema.table, where * stands for any text: 'public.*' or 'shop.orders,shop.customers'",
        )
    return patterns


def is_meant(full_name: str, patterns: tuple[str, ...]) -> bool:
    """Whether `schema.table` matches one of the patterns."""
    return any(re.fullmatch(_regular(pattern), full_name) for pattern in patterns)


def as_regular_expressions(patterns: tuple[str, ...], without: Sequence[str] = ()) -> str:
    """Convert patterns to Debezium's `table.include.list`, excluding the names in `without`."""
    return ",".join(f"{_not_these(pattern, without)}{_regular(pattern)}" for pattern in patterns)


def from_regular_expressions(text: str) -> tuple[str, ...]:
    """Convert the result of `as_regular_expressions` back to patterns."""
    plain = _EXCEPTIONS.sub("", text).replace("[^.]*", "*").replace("[^.]", "?")
    return tuple(re.sub(r"\\(.)", r"\1", part) for part in plain.split(",") if part)


def _not_these(pattern: str, names: Sequence[str]) -> str:
    meant = [re.escape(name) for name in names if is_meant(name, (pattern,))]
    return f"(?!(?:{'|'.join(meant)})$)" if meant else ""


def _regular(pattern: str) -> str:
    return "".join(_WILD.get(char, re.escape(char)) for char in pattern)
