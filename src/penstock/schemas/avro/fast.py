"""Access to fastavro's inner reader, which skips repeated work of the public reader.

`schemaless_reader` collects the schema's names for each record; the inner function accepts names prepared once. The
inner function is not part of fastavro's public interface and is only used in this module. If it is missing (in a
different version, or without fastavro's compiled part), the public reader is used.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

import fastavro

Node = Any
ReadData = Callable[[BytesIO, Node, dict[str, dict[str, Node]], Node, dict[str, bool]], object]

READ_OPTIONS: dict[str, bool] = {}
READ_FAILURES: tuple[type[Exception], ...] = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)


def public_read_data(
    stream: BytesIO, node: Node, _named: dict[str, dict[str, Node]], wanted: Node, _options: dict[str, bool]
) -> object:
    """Read a value from a stream with fastavro's public interface."""
    return fastavro.schemaless_reader(stream, node, wanted)


try:
    from fastavro import _read

    read_data = cast("ReadData", _read._read_data)  # type: ignore[attr-defined]  # noqa: SLF001 - see the module's docstring
    READ_FAILURES = (*READ_FAILURES, _read.ReadError)  # type: ignore[attr-defined]
except (ImportError, AttributeError):
    read_data = public_read_data
