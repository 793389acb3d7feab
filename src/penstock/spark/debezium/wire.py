"""Wire types of Debezium values: physical kind and meaning, read from the schema in the message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock.errors import SchemaError

_SOURCE: Final = "__debezium.source.column."
_AVRO_KINDS: Mapping[str, str] = {"int": "int32", "long": "int64", "record": "struct", "enum": "string"}
_CONNECT_KINDS: Mapping[str, str] = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class Wire:
    """Wire type: physical kind, semantic name and parameters, component types, and whether null is allowed.

    `optional` does not affect equality, because messages are read identically with and without nulls.
    """

    kind: str
    name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    items: Wire | None = None
    fields: tuple[tuple[str, Wire], ...] = ()
    optional: bool = field(default=True, compare=False)

    @property
    def source_type(self) -> str:
        """The column's type in the database, if the connector sends the type."""
        return self.parameters.get(f"{_SOURCE}type", "").removeprefix("_")

    @property
    def digits(self) -> tuple[int, int] | None:
        """Precision and scale of a number, if known."""
        scale = self.parameters.get("scale", self.parameters.get(f"{_SOURCE}scale"))
        precision = self.parameters.get("connect.decimal.precision", self.parameters.get(f"{_SOURCE}length"))
        return (int(precision), int(scale)) if precision and scale else None

    def get(self, name: str) -> Wire | None:
        """Return the type of a struct's field."""
        return dict(self.fields).get(name)

    def column_name(self, name: str) -> str:
        """Return a field's name in the database, which may be invalid as an Avro name."""
        return self.parameters.get(f"{_SOURCE}name", name)


def from_connect(schema: Mapping[str, Any]) -> Wire:
    """Convert the schema part of a JSON message."""
    kind = schema["type"]
    inner = schema.get("items") or schema.get("values")
    return _inherited(
        Wire(
            _CONNECT_KINDS.get(kind, kind),
            schema.get("name") or "",
            _telling(schema.get("parameters") or {}),
            from_connect(inner) if inner else None,
            tuple((each["field"], from_connect(each)) for each in schema.get("fields") or ()),
            bool(schema.get("optional")),
        )
    )


def from_avro(schema: Any) -> Wire:  # noqa: ANN401 - a schema is strings, lists and dicts
    """Convert the Avro schema of a message, which contains Connect's metadata as properties."""
    return _Avro({}).wire(schema)


@dataclass
class _Avro:
    names: dict[str, Wire]

    def wire(self, schema: Any) -> Wire:  # noqa: ANN401 - as above
        match schema:
            case list():
                others = [each for each in schema if each != "null"]
                if len(others) != 1:
                    raise SchemaError("a union of several types is not of Debezium", hint="is the topic Debezium's?")
                return replace(self.wire(others[0]), optional="null" in schema)
            case str():
                return self.names.get(schema) or Wire(_AVRO_KINDS.get(schema, schema), optional=False)
            case _:
                return self._described(schema)

    def _described(self, schema: Mapping[str, Any]) -> Wire:
        kind = str(schema["type"]) if isinstance(schema["type"], str) else "nested"
        if kind == "nested":
            return self.wire(schema["type"])
        inner = schema.get("items") or schema.get("values")
        made = Wire(
            schema.get("connect.type") or _AVRO_KINDS.get(kind, kind),
            schema.get("connect.name") or "",
            _telling(schema.get("connect.parameters") or {}),
            self.wire(inner) if inner else None,
            tuple((each["name"], self.wire(each["type"])) for each in schema.get("fields") or ()),
            optional=False,
        )
        made = _inherited(made)
        if "name" in schema:
            full = f"{schema['namespace']}.{schema['name']}" if schema.get("namespace") else schema["name"]
            made = replace(made, name=made.name or full)
            self.names[full] = self.names[schema["name"]] = made
        return made


def without_logical_types(schema: Any) -> Any:  # noqa: ANN401 - as above
    """Return the plain layout of an Avro schema, so that Spark returns values as on the wire."""
    match schema:
        case list():
            return [without_logical_types(each) for each in schema]
        case dict():
            return {key: without_logical_types(value) for key, value in schema.items() if _is_layout(key)}
        case _:
            return schema


def _is_layout(key: str) -> bool:
    return key not in {"logicalType", "default"} and not key.startswith("connect.")


def _telling(parameters: Mapping[str, str]) -> Mapping[str, str]:
    """Return the meaningful parameters. A length without a scale differs between snapshots and the log."""
    length, scale = f"{_SOURCE}length", f"{_SOURCE}scale"
    is_number = parameters.get(f"{_SOURCE}type", "").removeprefix("_") in {"NUMERIC", "DECIMAL"} and scale in parameters
    return {key: text for key, text in parameters.items() if key not in {length, scale} or is_number}


def _inherited(wire: Wire) -> Wire:
    """Copy a column's parameters to the items of an array."""
    if wire.kind != "array" or wire.items is None or wire.items.parameters:
        return wire
    return replace(wire, items=replace(wire.items, parameters=wire.parameters))
