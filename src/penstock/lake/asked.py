"""What a question names, from the tree that DuckDB makes of its SQL: tables, and words that may be their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.lake.inventory import TableName

_DEFAULT_SCHEMAS = ("", "main")
_TAKES_ALL_COLUMNS = ("STAR", "PIVOT")

Node = dict[str, Any]


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


class Asked(NamedTuple):
    """The tables of a question, and every word, in lower case, that can name a column of theirs; None means any."""

    tables: list[TableRef]
    words: frozenset[str] | None

    def columns(self, known: Sequence[str]) -> list[str] | None:
        """Which of a table's columns are enough for an answer; None for all, and at least one, to count rows by."""
        if self.words is None:
            return None
        return [name for name in known if name.lower() in self.words] or list(known[:1])


def read_tree(tree: object) -> Asked:
    """What a question names."""
    nodes = list(_nodes(tree))
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    return Asked(_refs(nodes, tables), _words(nodes, tables))


def _refs(nodes: Collection[Node], tables: Collection[Node]) -> list[TableRef]:
    """Each table once: for DuckDB, names that differ by case only are the same."""
    own = {str(entry["key"]).lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    refs = (_ref(node, own) for node in tables)
    return list({(ref.schema.lower(), ref.name.lower()): ref for ref in refs}.values())


def _ref(node: Node, own: Collection[str]) -> TableRef:
    schema, name = node["schema_name"], node["table_name"]
    if schema in _DEFAULT_SCHEMAS:
        return TableRef("", name, own=name.lower() in own)
    return TableRef(schema, name)


def _words(nodes: Collection[Node], tables: Collection[Node]) -> frozenset[str] | None:
    """None where columns are taken without being named: by `*`, by NATURAL, by their order, or as a whole row."""
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
    """Every object of the tree; a list of what is left to visit, for questions may nest deeply."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
