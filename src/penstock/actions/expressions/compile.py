"""Compiler of expressions: parsed as Python, restricted to the parts listed here, and never evaluated as Python.

| written                                | result                                                             |
|----------------------------------------|--------------------------------------------------------------------|
| `category`, `auditStamp.actor`         | a field, or null if missing; text with JSON is parsed              |
| `owners[0].name`, `x['a b']`, `x[1:3]` | an item or part of a list, map or text, or null                    |
| `'text'`, `1.5`, `true`, `null`, `[…]` | the value itself                                                   |
| `+ - * / // %`                         | numbers; `+` also joins texts and lists                            |
| `== != < <= > >= in`, `and or not`     | true or false; `and` and `or` return an operand, as in Python      |
| `a if b else c`                        | a choice                                                           |
| `upper(x)` and so on                   | see `functions.py`                                                 |

Loops and further names do not exist, so the evaluation takes at most as many steps as the expression has parts.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from penstock.actions.expressions import operations
from penstock.actions.expressions.functions import FUNCTIONS, check_regex
from penstock.actions.expressions.scope import Scope
from penstock.config.suggest import did_you_mean
from penstock.errors import PenstockError, TransformFailed, UsageError

MAX_TEXT = 2000
MAX_PARTS = 300

Evaluate = Callable[[Scope], Any]

_WORDS = {"true": True, "false": False, "null": None}
_BINARY: dict[type[ast.operator], operations.Operation] = {
    ast.Add: operations.add,
    ast.Sub: operations.of_numbers(operator.sub, "-"),
    ast.Mult: operations.of_numbers(operator.mul, "*"),
    ast.Div: operations.of_numbers(operator.truediv, "/"),
    ast.FloorDiv: operations.of_numbers(operator.floordiv, "//"),
    ast.Mod: operations.of_numbers(operator.mod, "%"),
}
_COMPARE: dict[type[ast.cmpop], operations.Operation] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operations.ordered(operator.lt, "<"),
    ast.LtE: operations.ordered(operator.le, "<="),
    ast.Gt: operations.ordered(operator.gt, ">"),
    ast.GtE: operations.ordered(operator.ge, ">="),
    ast.In: operations.is_in,
    ast.NotIn: lambda item, container: not operations.is_in(item, container),
}


class Expression:
    """Compiled expression. TransformFailed gives the reason if an event has no value for the expression."""

    def __init__(self, text: str, evaluate: Evaluate) -> None:
        self.text = text
        self._evaluate = evaluate

    def __call__(self, scope: Scope) -> Any:  # noqa: ANN401 - the value of an expression is of any type
        """Return the value for an event's fields."""
        try:
            return operations.plain(self._evaluate(scope))
        except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
            raise TransformFailed(f"{self.text!r} has no value for this event: {error}") from error


def compile_expression(text: object) -> Expression:
    """Compile a text. Raise UsageError with the invalid part if the text is no expression."""
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
        raise UsageError(f"an expression is text of 1 to {MAX_TEXT:,} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UsageError(f"{text!r} is not an expression: {reason}") from None
    if sum(1 for _ in ast.walk(tree)) > MAX_PARTS:
        raise UsageError(f"the expression has more than {MAX_PARTS} parts")
    return Expression(text, _compile(tree))


def _compile(node: ast.expr) -> Evaluate:
    handler = _NODES.get(type(node))
    if handler is None:
        raise _refused(node)
    return handler(node)


def _refused(node: ast.AST, reason: str = "is not part of the language") -> PenstockError:
    hint = "docs/actions-builtin.md lists what expressions are made of"
    return UsageError(f"{ast.unparse(node)!r} {reason}", hint=hint)


def _constant(node: ast.Constant) -> Evaluate:
    value = node.value
    if not isinstance(value, str | int | float | bool | None):
        raise _refused(node)
    return lambda _scope: value


def _name(node: ast.Name) -> Evaluate:
    name = node.id
    if name in _WORDS:
        word = _WORDS[name]
        return lambda _scope: word
    return lambda scope: scope.get(name)


def _attribute(node: ast.Attribute) -> Evaluate:
    inside, name = _compile(node.value), node.attr
    return lambda scope: operations.item(inside(scope), name)


def _subscript(node: ast.Subscript) -> Evaluate:
    inside = _compile(node.value)
    if isinstance(node.slice, ast.Slice):
        if node.slice.step is not None:
            raise _refused(node, "has a step, which the language lacks")
        low, high = (_compile(part) if part else (lambda _scope: None) for part in (node.slice.lower, node.slice.upper))
        return lambda scope: operations.cut(inside(scope), low(scope), high(scope))
    index = _compile(node.slice)
    return lambda scope: operations.item(inside(scope), index(scope))


def _binary(node: ast.BinOp) -> Evaluate:
    operation = _BINARY.get(type(node.op))
    if operation is None:
        raise _refused(node)
    apply, left, right = operation, _compile(node.left), _compile(node.right)
    return lambda scope: apply(left(scope), right(scope))


def _unary(node: ast.UnaryOp) -> Evaluate:
    operand = _compile(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda scope: not operand(scope)
    if isinstance(node.op, ast.USub):
        return lambda scope: operations.negated(operand(scope))
    raise _refused(node)


def _bool(node: ast.BoolOp) -> Evaluate:
    sides, stop = [_compile(value) for value in node.values], isinstance(node.op, ast.Or)

    def evaluate(scope: Scope) -> object:
        value: object = None
        for side in sides:
            value = side(scope)
            if bool(value) is stop:
                break
        return value

    return evaluate


def _compare(node: ast.Compare) -> Evaluate:
    if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARE:
        raise _refused(node)
    apply, left, right = _COMPARE[type(node.ops[0])], _compile(node.left), _compile(node.comparators[0])
    return lambda scope: apply(operations.plain(left(scope)), operations.plain(right(scope)))


def _choice(node: ast.IfExp) -> Evaluate:
    test, yes, no = _compile(node.test), _compile(node.body), _compile(node.orelse)
    return lambda scope: yes(scope) if test(scope) else no(scope)


def _list(node: ast.List) -> Evaluate:
    items = [_compile(item) for item in node.elts]
    return lambda scope: [item(scope) for item in items]


def _map(node: ast.Dict) -> Evaluate:
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys):
        raise _refused(node, "has a key that is not plain text")
    items = [(ast.literal_eval(key), _compile(value)) for key, value in zip(node.keys, node.values, strict=True) if key]
    return lambda scope: {key: value(scope) for key, value in items}


def _call(node: ast.Call) -> Evaluate:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in FUNCTIONS or node.keywords:
        hint = did_you_mean(name, FUNCTIONS, f"there are {', '.join(FUNCTIONS)}")
        raise UsageError(f"{ast.unparse(node)!r} calls no function of the language", hint=hint)
    function = FUNCTIONS[name]
    if not function.least <= len(node.args) <= function.most:
        raise _refused(node, f"takes {function.takes}")
    if name == "find":
        _check_find(node)
    given, apply = [_compile(argument) for argument in node.args], function.apply
    return lambda scope: apply(*(argument(scope) for argument in given))


def _check_find(node: ast.Call) -> None:
    """Reject regular expressions from events: their run time has no limit."""
    pattern = node.args[1]
    if not isinstance(pattern, ast.Constant):
        raise _refused(node, "needs its regular expression as plain text")
    check_regex(pattern.value)


_NODES: dict[type[ast.expr], Callable[[Any], Evaluate]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.List: _list,
    ast.Dict: _map,
    ast.Call: _call,
}
