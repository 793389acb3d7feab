"""PyYAML's safe loader for untrusted files: every mistake is a YAMLError with a position."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 50
_MAX_NUMBER = 100
_NUMBERS = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp")}
_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Loader(yaml.SafeLoader):
    """Safe loader that rejects deep nesting and adds a position to Python's errors about values."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - as PyYAML has it
        """Compose a node and its children."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            mark = self.get_mark()
            raise yaml.composer.ComposerError(None, None, f"values are nested deeper than {MAX_DEPTH} levels", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401 - as PyYAML has it
        """Construct the value of a node."""
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and len(node.value) > _MAX_NUMBER:
            raise _wrong(node, "it is too long for a number or a date")
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError:
            raise _wrong(node, "it has half of a surrogate pair") from None
        except _FAILURES as error:
            raise _wrong(node, _reason(error)) from error
        return value


def load(text: str) -> tuple[Loader, yaml.Node | None]:
    """Return a loader and the node tree of the single document in a text."""
    loader = Loader(text)
    try:
        return loader, loader.get_single_node()
    except (ArithmeticError, ValueError) as error:  # an escape of a nonexistent character, such as "\UFFFFFFFF"
        raise yaml.scanner.ScannerError(None, None, str(error), loader.get_mark()) from error


def _wrong(node: yaml.Node, reason: str) -> yaml.MarkedYAMLError:
    text = node.value if isinstance(node, yaml.ScalarNode) else "the value"
    problem = f"{text!r:.60} cannot be read: {reason}; put it in quotes if it is text"
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _reason(error: Exception) -> str:
    return str(error).partition(";")[0] if isinstance(error, ArithmeticError | ValueError) else "it is not of its type"
