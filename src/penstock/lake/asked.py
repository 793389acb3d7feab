"""Tables and possible column names in a query, from DuckDB's syntax tree."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.lake.inventory import TableName

_DEFAULT_SCHEMAS = ("", "main")
_TAKES_ALL_COLUMNS = ("STAR", "PIVOT")

Node = dict[str, Any]


class TableRef(NamedTuple):
    """Table as named in SQL: `events`, `shop.orders`, `"shop/eu".orders`.

    `own` is set if the query also defines this name in a WITH clause.
    """

    schema: str
    name: str
    own: bool = False

    @property
    def table(self) -> TableName:
        """Name of the table in the lake."""
        return TableName(f"{self.schema}/{self.name}" if self.schema else self.name)


class Asked(NamedTuple):
    """Tables of a query, and all lower-case words that may name a column; None means any column."""

    tables: list[TableRef]
    words: frozenset[str] | None

    def columns(self, known: Sequence[str]) -> list[str] | None:
        """Return the table's columns needed for the query; None for all. At least one column remains, to count rows."""
        if self.words is None:
            return None
        return [name for name in known if name.lower() in self.words] or list(known[:1])


def read_tree(tree: object) -> Asked:
    """Return the tables and words in the tree."""
    nodes = list(_nodes(tree))
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    return Asked(_refs(nodes, tables), _words(nodes, tables))


def _refs(nodes: Collection[Node], tables: Collection[Node]) -> list[TableRef]:
    """Return each table once: DuckDB ignores case in names."""
    own = {str(entry["key"]).lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    refs = (_ref(node, own) for node in tables)
    return list({(ref.schema.lower(), ref.name.lower()): ref for ref in refs}.values())


def _ref(node: Node, own: Collection[str]) -> TableRef:
    schema, name = node["schema_name"], node["table_name"]
    if schema in _DEFAULT_SCHEMAS:
        return TableRef("", name, own=name.lower() in own)
    return TableRef(schema, name)


def _words(nodes: Collection[Node], tables: Collection[Node]) -> frozenset[str] | None:
    """Return the words, or None if columns are used without names: by `*`, NATURAL, position, or as a whole row."""
    paths = [node["column_names"] for node in nodes if node.get("type") == "COLUMN_REF"]
    rows = {str(node[key]).lower() for node in tables for key in ("table_name", "alias")}
    takes_all = any(node.get("type") in _TAKES_ALL_COLUMNS or node.get("ref_type") == "NATURAL" for node in nodes)
    if takes_all or any(node.get("column_name_alias") for node in nodes):
        return None
    if any(len(path) == 1 and path[0].lower() in rows for path in paths):
        return None
    used = (node.get("using_columns", ()) for node in nodes)
    return frozenset(word.lower() for path in (*paths, *used) for word in path)


def _nodes(tree: object) -> Iterator[Node]:
    """Yield every object of the tree. Iterative, because queries may nest deeply."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
