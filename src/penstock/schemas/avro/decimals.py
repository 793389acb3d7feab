"""Decimals in Avro: an integer in two's complement, with the scale in the schema.

fastavro rounds decimals with too many digits, writes -0 as a different number, and expands exponents of any size. These
functions replace fastavro's, under a separate logical type in the schemas given to fastavro.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fastavro.read import LOGICAL_READERS
from fastavro.write import LOGICAL_WRITERS

from penstock.schemas.avro.logical import Logical, logical_misfit

DECIMAL = "penstock-decimal"

Node = Any


def to_bytes(value: Decimal, logical: Logical, size: int | None) -> bytes:
    """Return the bytes of a decimal: as many as needed, or `size`. Raise ValueError if it does not fit."""
    wrong = logical_misfit(value, logical)
    if wrong:
        raise ValueError(f"{value} {wrong}")
    sign, digits, exponent = value.as_tuple()
    unscaled = int(Decimal((sign, digits, int(exponent) + logical.scale)))
    return unscaled.to_bytes((unscaled.bit_length() + 8) // 8 if size is None else size, "big", signed=True)


def from_bytes(data: bytes, logical: Logical) -> Decimal:
    """Return the decimal in the bytes. Raise ValueError if there are too many digits for the type."""
    unscaled = Decimal(_number(data, logical.precision))
    sign, digits, _ = unscaled.as_tuple()
    if unscaled and len(digits) > logical.precision:
        raise ValueError(f"a decimal has more than {logical.precision} digits")
    return Decimal((sign, digits, -logical.scale))


def in_type(value: Decimal, logical: Logical) -> Decimal:
    """Return the number with the scale of the type. Raise ValueError if it does not fit."""
    return from_bytes(to_bytes(value, logical, None), logical)


def _number(data: bytes, precision: int) -> int:
    number = int.from_bytes(data, "big", signed=True)
    if number.bit_length() > 4 * precision + 4:  # a digit has 3.3 bits: surely too many digits, and slow to count
        raise ValueError(f"a decimal has more than {precision} digits")
    return number


def _read(data: bytes, node: Node, _reader: Node = None) -> Decimal:
    return from_bytes(data, _logical(node))


def _write(value: object, node: Mapping[str, Node]) -> object:
    return to_bytes(value, _logical(node), node.get("size")) if isinstance(value, Decimal) else value


def _logical(node: Mapping[str, Node]) -> Logical:
    return Logical("decimal", node["precision"], node.get("scale", 0))


for _base in ("bytes", "fixed"):
    LOGICAL_READERS[f"{_base}-{DECIMAL}"] = _read
    LOGICAL_WRITERS[f"{_base}-{DECIMAL}"] = _write
