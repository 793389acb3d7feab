"""Parser of a schema's JSON, with the position of every problem (`fields[2].type`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.errors import Problem, SchemaSyntaxError
from penstock.schemas.avro.defaults import Allowance, default_value
from penstock.schemas.avro.json_text import load_json
from penstock.schemas.avro.logical import logical_of
from penstock.schemas.avro.model import (
    MISSING,
    PRIMITIVES,
    ArrayType,
    EnumType,
    Field,
    FixedType,
    MapType,
    NamedType,
    Primitive,
    RecordType,
    Type,
    UnionType,
    type_name,
)
from penstock.schemas.avro.sizes import largest_least
from penstock.schemas.avro.words import meant, shown

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DEPTH = 100
_MAX_FIXED = (1 << 31) - 1
_MAX_PROBLEMS = 100
_WRONG = Primitive("null")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

Node = Any


class ParsedSchema(NamedTuple):
    """Parsed schema: root type, named types by full name, and problems of invalid defaults.

    Invalid defaults are ignored: registries accept such schemas, and their messages must stay readable.
    """

    root: Type
    names: Mapping[str, NamedType]
    wrong_defaults: list[Problem]


class _Scope(NamedTuple):
    """Position of the parser: path in the schema, enclosing namespace, and depth."""

    place: str = ""
    namespace: str = ""
    depth: int = 0

    def at(self, part: str) -> _Scope:
        place = f"{self.place}.{part}" if self.place and not part.startswith("[") else self.place + part
        return _Scope(place, self.namespace, self.depth + 1)


def parse_schema(text: str, known: Mapping[str, NamedType] | None = None, source: str = "") -> ParsedSchema:
    """Parse a schema that may use the `known` types.

    Raise a SchemaSyntaxError with all problems, except invalid defaults.
    """
    parser = _Parser(known or {})
    try:
        root = parser.type_of(load_json(text, source), _Scope())
        parser.check_sizes()
    except _TooManyProblems:
        raise syntax_error(parser.problems, source) from None
    if parser.problems:
        raise syntax_error(parser.problems, source)
    return ParsedSchema(root, parser.names, parser.leave_out_wrong_defaults())


def syntax_error(problems: list[Problem], source: str = "") -> SchemaSyntaxError:
    """Return one error for all problems of a schema."""
    prefix = f"{source}: " if source else ""
    return SchemaSyntaxError("\n".join(prefix + str(problem) for problem in problems), problems=problems)


class _TooManyProblems(Exception):
    """Limit of problems, because nobody reads more and each problem searches for a similar name."""


class _Parser:
    """Builds types and collects problems. An invalid node becomes `_WRONG`, so that a single run finds all problems."""

    def __init__(self, known: Mapping[str, NamedType]) -> None:
        self.names: dict[str, NamedType] = dict(known)
        self.problems: list[Problem] = []
        self._with_default: list[tuple[RecordType, int, _Scope]] = []
        self._records: list[RecordType] = []
        self._complex: dict[str, Callable[[dict[str, Node], _Scope], Type]] = {
            "record": self._record,
            "error": self._record,
            "enum": self._enum,
            "fixed": self._fixed,
            "array": lambda node, scope: ArrayType(self._inner(node, "items", scope)),
            "map": lambda node, scope: MapType(self._inner(node, "values", scope)),
        }

    def type_of(self, node: Node, scope: _Scope) -> Type:
        if scope.depth > _MAX_DEPTH:
            return self._wrong(scope, f"types are nested deeper than {_MAX_DEPTH} levels")
        if isinstance(node, str):
            return self._by_name(node, scope)
        if isinstance(node, list):
            return self._union(node, scope)
        if not isinstance(node, dict):
            return self._wrong(scope, f"{shown(node)} is not a type")
        if "type" not in node:
            return self._wrong(scope, f"{shown(node)} has no type")
        return self._by_node(node, scope)

    def _by_name(self, name: str, scope: _Scope, choices: Iterable[str] = ()) -> Type:
        if name in PRIMITIVES:
            return Primitive(name)
        full = _full_name(name, scope.namespace)
        if full in self.names:
            return self.names[full]
        return self._wrong(scope, f"{name!r} is not a type" + meant(name, (*PRIMITIVES, *choices, *self.names)))

    def _by_node(self, node: dict[str, Node], scope: _Scope) -> Type:
        kind = node["type"]
        if not isinstance(kind, str):
            return self.type_of(kind, scope.at("type"))
        if kind in self._complex:
            return self._complex[kind](node, scope)
        if kind in PRIMITIVES:
            return Primitive(kind, logical_of(kind, node))
        return self._by_name(kind, scope.at("type"), choices=self._complex)

    def _inner(self, node: dict[str, Node], key: str, scope: _Scope) -> Type:
        if key not in node:
            return self._wrong(scope, f"the {node['type']} has no {key}")
        return self.type_of(node[key], scope.at(key))

    def _union(self, nodes: list[Node], scope: _Scope) -> Type:
        branches = tuple(self.type_of(node, scope.at(f"[{index}]")) for index, node in enumerate(nodes))
        seen: set[str] = set()
        for index, branch in enumerate(branches):
            name = type_name(branch)
            if isinstance(branch, UnionType):
                self._wrong(scope.at(f"[{index}]"), "a union cannot stand directly in a union")
            elif name in seen and branch is not _WRONG:
                self._wrong(scope.at(f"[{index}]"), f"{name} stands twice in the union")
            seen.add(name)
        return UnionType(branches)

    def _record(self, node: dict[str, Node], scope: _Scope) -> Type:
        full, inside = self._name(node, scope)
        record = RecordType(full, self._aliases(node, inside))
        self._define(record, scope)
        fields = node.get("fields")
        if not isinstance(fields, list):
            return self._wrong(scope, f"the record {full} has no list of fields")
        names: set[str] = set()
        for index, item in enumerate(fields):
            self._add_field(record, item, inside.at(f"fields[{index}]"), names)
        self._records.append(record)
        return record

    def check_sizes(self) -> None:
        """Reject records that contain thousands of values without any bytes in a message."""
        record = largest_least(self._records)
        if record is not None:
            message = f"the record {record.name} holds thousands of values without bytes of their own"
            self.problems.append(Problem("the schema", message, "leave out fields of type null"))

    def _add_field(self, record: RecordType, node: Node, scope: _Scope, names: set[str]) -> None:
        if not isinstance(node, dict) or "name" not in node or "type" not in node:
            self._wrong(scope, f"{shown(node)} is not a field: a field has a name and a type")
            return
        name = node["name"]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self._wrong(scope.at("name"), f"{shown(name)} is not a field name", _name_hint(name))
        elif name in names:
            self._wrong(scope.at("name"), f"the field {name} stands twice")
        names.add(str(name))
        aliases = tuple(map(str, _list(node.get("aliases"))))
        field_type = self.type_of(node["type"], scope.at("type"))
        field = Field(str(name), field_type, node.get("default", MISSING), aliases)
        record.fields.append(field)
        if field.has_default:
            self._with_default.append((record, len(record.fields) - 1, scope.at("default")))

    def leave_out_wrong_defaults(self) -> list[Problem]:
        """Check the defaults, after all types are complete."""
        wrong: list[Problem] = []
        allowance = Allowance()
        for record, index, scope in self._with_default:
            field = record.fields[index]
            try:
                default_value(field, allowance)
            except ValueError as error:
                record.fields[index] = replace(field, default=MISSING)
                wrong.append(Problem(scope.place, str(error)))
        return wrong

    def _enum(self, node: dict[str, Node], scope: _Scope) -> Type:
        full, inside = self._name(node, scope)
        symbols = node.get("symbols")
        if not isinstance(symbols, list) or not symbols:
            return self._wrong(scope, f"the enum {full} has no list of symbols")
        seen: set[str] = set()
        for index, symbol in enumerate(symbols):
            place = scope.at(f"symbols[{index}]")
            if not isinstance(symbol, str) or not _NAME.fullmatch(symbol):
                self._wrong(place, f"{shown(symbol)} is not a symbol", _name_hint(symbol))
            elif symbol in seen:
                self._wrong(place, f"the symbol {symbol} stands twice")
            seen.add(str(symbol))
        default = node.get("default")
        if default is not None and default not in symbols:
            self._wrong(scope.at("default"), f"{shown(default)} is not one of the enum's symbols")
        return self._define(EnumType(full, tuple(map(str, symbols)), self._aliases(node, inside), default), scope)

    def _fixed(self, node: dict[str, Node], scope: _Scope) -> Type:
        full, inside = self._name(node, scope)
        size = node.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_FIXED:
            return self._wrong(scope.at("size"), f"{shown(size)} is not a number of bytes")
        fixed = FixedType(full, size, self._aliases(node, inside), logical_of("fixed", node, size))
        return self._define(fixed, scope)

    def _name(self, node: dict[str, Node], scope: _Scope) -> tuple[str, _Scope]:
        """Return the full name of a named type, and the scope with the namespace for its parts."""
        name, namespace = node.get("name"), node.get("namespace", scope.namespace)
        if not isinstance(name, str) or not name:
            self._wrong(scope, f"the {node['type']} has no name")
            return "", scope
        full = _full_name(name, namespace if isinstance(namespace, str) else "")
        if not _NAME.fullmatch(full.rpartition(".")[2]) or full in PRIMITIVES:
            self._wrong(scope.at("name"), f"{full!r} is not a name for a type", _name_hint(full))
        elif _SURROGATE.search(full):
            # Other characters that Avro forbids in namespaces are accepted, as by Avro's Java library.
            self._wrong(scope.at("namespace"), f"{full!r} contains half of a character, which no text can store")
        full = _SURROGATE.sub("?", full)
        return full, scope._replace(namespace=full.rpartition(".")[0])

    def _define(self, named: NamedType, scope: _Scope) -> NamedType:
        if named.name in self.names:
            self._wrong(scope.at("name"), f"the type {named.name} is defined twice")
        self.names[named.name] = named
        return named

    def _aliases(self, node: dict[str, Node], inside: _Scope) -> tuple[str, ...]:
        return tuple(_full_name(str(alias), inside.namespace) for alias in _list(node.get("aliases")))

    def _wrong(self, scope: _Scope, message: str, hint: str = "") -> Type:
        self.problems.append(Problem(scope.place or "the schema", message, hint))
        if len(self.problems) >= _MAX_PROBLEMS:
            raise _TooManyProblems
        return _WRONG


def _full_name(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _list(node: Node) -> list[Node]:
    return node if isinstance(node, list) else []


def _name_hint(name: Node) -> str:
    better = re.sub(r"[^A-Za-z0-9_]", "_", str(name))
    better = better if _NAME.fullmatch(better) else f"_{better}"
    return f"letters, digits and _, not beginning with a digit, such as {better}"
