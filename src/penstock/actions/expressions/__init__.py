"""Small expression language over an event's fields: `upper(category) + ' ' + parameters.tagUrn`."""

from penstock.actions.expressions.compile import Expression, compile_expression
from penstock.actions.expressions.scope import scope_of
from penstock.actions.expressions.template import Template, compile_template

__all__ = ["Expression", "Template", "compile_expression", "compile_template", "scope_of"]
