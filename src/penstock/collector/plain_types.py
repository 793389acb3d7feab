"""Avro types of plain fields, which msgspec can check while decoding."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from penstock.schemas.avro.model import FLOAT_MAX, EnumType, Primitive, Type, UnionType

RICH: Final = Any
"""Placeholder for types that msgspec does not check: accepts any JSON, which `penstock.schemas` validates later."""

_PRIMITIVES: dict[str, Any] = {
    "null": None,
    "boolean": bool,
    "int": Annotated[int, Meta(ge=-(1 << 31), le=(1 << 31) - 1)],
    "long": Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)],
    "float": Annotated[float, Meta(ge=-FLOAT_MAX, le=FLOAT_MAX)],
    "double": float,
    "string": str,
}


def plain_type(avro_type: Type) -> Any:  # noqa: ANN401 - a type created at run time
    """Return the Python type equivalent to an Avro type, or `RICH`."""
    match avro_type:
        case Primitive(name=name, logical=None):
            return _PRIMITIVES.get(name, RICH)
        case EnumType(symbols=symbols):
            return Literal[symbols]
        case UnionType(branches=(one, other)) if _is_null(one) or _is_null(other):
            inner = plain_type(other if _is_null(one) else one)
            return inner if inner is RICH else inner | None
        case _:
            return RICH


def is_text(avro_type: Type) -> bool:
    """Whether a field of this type accepts any text."""
    return plain_type(avro_type) in {str, str | None}


def _is_null(avro_type: Type) -> bool:
    return isinstance(avro_type, Primitive) and avro_type.name == "null"
