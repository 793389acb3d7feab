"""Which tables a question names, from the tree that DuckDB makes of its SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.lake.inventory import TableName

_DEFAULT_SCHEMAS = ("", "main")


class TableRef(NamedTuple):
    """A table as SQL names it: `events`, `shop.orders`, `"shop/eu".orders`.

    `own` says that the question also makes something of this name itself, with WITH.
    """

    schema: str
    name: str
    own: bool = False

    @property
    def table(self) -> TableName:
        """The name that the lake has for it."""
        return TableName(f"{self.schema}/{self.name}" if self.schema else self.name)


def table_refs(tree: object) -> list[TableRef]:
    """Each table once: for DuckDB, names that differ by case only are the same."""
    nodes = list(_nodes(tree))
    own = {str(entry["key"]).lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    refs = (_ref(node, own) for node in nodes if node.get("type") == "BASE_TABLE")
    return list({(ref.schema.lower(), ref.name.lower()): ref for ref in refs}.values())


def _ref(node: dict[str, Any], own: set[str]) -> TableRef:
    schema, name = node["schema_name"], node["table_name"]
    if schema in _DEFAULT_SCHEMAS:
        return TableRef("", name, own=name.lower() in own)
    return TableRef(schema, name)


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Every object of the tree; a list of what is left to visit, for questions may nest deeply."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
