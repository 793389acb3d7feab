"""Expressions and templates as fields of settings, so that mistakes are reported with their line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, PlainValidator

from penstock.actions.expressions.compile import Expression, compile_expression
from penstock.actions.expressions.template import Template, compile_template
from penstock.errors import UsageError

Made = TypeVar("Made")


def _told(compile_: Callable[[object], Made]) -> Callable[[object], Made]:
    def compiled(value: object) -> Made:
        try:
            return compile_(value)
        except UsageError as error:
            raise ValueError(error.message + (f" ({error.hint})" if error.hint else "")) from None

    return compiled


def _checked(text: str) -> str:
    _told(compile_template)(text)
    return text


ExpressionField = Annotated[Expression, PlainValidator(_told(compile_expression))]
TemplateField = Annotated[Template, PlainValidator(_told(compile_template))]
TemplateText = Annotated[str, AfterValidator(_checked)]
"""Checked template, kept as text. The user of the text compiles the template with the right escaping of values."""
