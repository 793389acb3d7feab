"""PyYAML's safe loader, for files that are not to be trusted: every mistake is a YAMLError with its place."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 50
_MAX_NUMBER = 100
_NUMBERS = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp")}
_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Loader(yaml.SafeLoader):
    """Refuses what is nested too deeply, and gives a place to errors of values, which Python raises without one."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - as PyYAML has it
        """Compose a node and those inside it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            mark = self.get_mark()
            raise yaml.composer.ComposerError(None, None, f"values are nested deeper than {MAX_DEPTH} levels", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401 - as PyYAML has it
        """Make the value of a node."""
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
    """A loader, and the tree of nodes of the one document in a text."""
    loader = Loader(text)
    try:
        return loader, loader.get_single_node()
    except (ArithmeticError, ValueError) as error:  # an escape such as "\UFFFFFFFF", which stands for no character
        raise yaml.scanner.ScannerError(None, None, str(error), loader.get_mark()) from error


def _wrong(node: yaml.Node, reason: str) -> yaml.MarkedYAMLError:
    text = node.value if isinstance(node, yaml.ScalarNode) else "the value"
    problem = f"{text!r:.60} cannot be read: {reason}; put it in quotes if it is text"
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _reason(error: Exception) -> str:
    return str(error).partition(";")[0] if isinstance(error, ArithmeticError | ValueError) else "it is not of its type"
