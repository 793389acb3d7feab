"""Parser of a schema's JSON text, with syntax errors that show the line."""

from __future__ import annotations

import json

from penstock.errors import SchemaSyntaxError

_SHOWN_COLUMNS = 100


def load_json(text: str, source: str = "") -> object:
    """Parse the text as JSON. Errors contain the line, the column and the text of the line."""
    try:
        node: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(text, source, error) from error
    except ValueError as error:
        raise SchemaSyntaxError(f"{source or 'the schema'} contains a number with too many digits") from error
    except RecursionError as error:
        raise SchemaSyntaxError(f"{source or 'the schema'} is nested too deeply") from error
    return node


def _syntax_error(text: str, source: str, error: json.JSONDecodeError) -> SchemaSyntaxError:
    if not text.strip():
        return SchemaSyntaxError(f"{source or 'the schema'} is empty", hint='the smallest schema is "string"')
    place = f"line {error.lineno}, column {error.colno}"
    place = f"{source}, {place}" if source else place
    return SchemaSyntaxError(
        f"{place}: {error.msg}\n{_pointed(error.doc, error.lineno, error.colno)}",
        hint="a schema is JSON: look for a missing comma, quote or bracket before this place",
        line=error.lineno,
        column=error.colno,
    )


def _pointed(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    shown = (lines[line - 1] if line <= len(lines) else "").expandtabs(1)
    start = max(0, column - _SHOWN_COLUMNS // 2)
    return f"  {shown[start : start + _SHOWN_COLUMNS]}\n  {' ' * (column - 1 - start)}^"
