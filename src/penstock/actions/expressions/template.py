"""Templates: YAML values whose texts have `{{ expressions }}` in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.actions.expressions.compile import Expression, compile_expression
from penstock.actions.expressions.functions import FUNCTIONS
from penstock.actions.expressions.scope import Scope
from penstock.errors import UsageError

Template = Callable[[Scope], Any]

MAX_DEPTH = 20

_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def compile_template(value: object, depth: int = 0) -> Template:
    """What fills in the expressions of a value; a text that is nothing but one expression takes its value's type."""
    if depth > MAX_DEPTH:
        raise UsageError(f"the template is nested more than {MAX_DEPTH} times")
    if isinstance(value, dict):
        parts = {key: compile_template(item, depth + 1) for key, item in value.items()}
        return lambda scope: {key: part(scope) for key, part in parts.items()}
    if isinstance(value, list):
        items = [compile_template(item, depth + 1) for item in value]
        return lambda scope: [item(scope) for item in items]
    return _compile_text(value) if isinstance(value, str) else lambda _scope: value


def _compile_text(text: str) -> Template:
    pieces = _PLACEHOLDER.split(text)
    if len(pieces) == 1:
        return lambda _scope: text
    expressions = [compile_expression(piece) for piece in pieces[1::2]]
    if len(expressions) == 1 and not "".join(pieces[::2]).strip():
        return expressions[0]
    return lambda scope: _filled(pieces[::2], expressions, scope)


def _filled(texts: list[str], expressions: list[Expression], scope: Scope) -> str:
    shown = (_shown(expression(scope)) for expression in expressions)
    return texts[0] + "".join(value + text for value, text in zip(shown, texts[1:], strict=True))


def _shown(value: object) -> str:
    text: str = "" if value is None else FUNCTIONS["text"].apply(value)
    return text
