"""Templates: YAML values with `{{ expressions }}` in their texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.actions.expressions.compile import compile_expression
from penstock.actions.expressions.functions import FUNCTIONS
from penstock.actions.expressions.scope import Scope
from penstock.errors import UsageError

Template = Callable[[Scope], Any]
Escape = Callable[[str], str]

MAX_DEPTH = 20

_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def compile_template(value: object, depth: int = 0, escape: Escape | None = None) -> Template:
    """Return a function that fills in the expressions. A text of only one expression keeps the value's type.

    With `escape`, values are always filled in as text, and `escape` first removes anything an event must not
    contribute.
    """
    if depth > MAX_DEPTH:
        raise UsageError(f"the template is nested more than {MAX_DEPTH} times")
    if isinstance(value, dict):
        parts = {key: compile_template(item, depth + 1, escape) for key, item in value.items()}
        return lambda scope: {key: part(scope) for key, part in parts.items()}
    if isinstance(value, list):
        items = [compile_template(item, depth + 1, escape) for item in value]
        return lambda scope: [item(scope) for item in items]
    return _compile_text(value, escape) if isinstance(value, str) else lambda _scope: value


def _compile_text(text: str, escape: Escape | None) -> Template:
    pieces = _PLACEHOLDER.split(text)
    if len(pieces) == 1:
        return lambda _scope: text
    texts, expressions = pieces[::2], [compile_expression(piece) for piece in pieces[1::2]]
    if escape is None and len(expressions) == 1 and not "".join(texts).strip():
        return expressions[0]
    return lambda scope: _filled(texts, [(escape or str)(_shown(expression(scope))) for expression in expressions])


def _filled(texts: list[str], values: list[str]) -> str:
    return texts[0] + "".join(value + text for value, text in zip(values, texts[1:], strict=True))


def _shown(value: object) -> str:
    text: str = "" if value is None else FUNCTIONS["text"].apply(value)
    return text
