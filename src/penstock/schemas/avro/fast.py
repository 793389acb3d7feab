"""fastavro's inner reader: what its public one does, less what that does again for every record.

`schemaless_reader` collects the schema's names for each record; the function beneath it takes what was prepared once.
It is not fastavro's public interface, so it is used through this module only, and where it is missing (another version,
or fastavro without its compiled part) the public one serves.
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
    """Take a datum from a stream by fastavro's public interface."""
    return fastavro.schemaless_reader(stream, node, wanted)


try:
    from fastavro import _read

    read_data = cast("ReadData", _read._read_data)  # type: ignore[attr-defined]  # noqa: SLF001 - see the module's docstring
    READ_FAILURES = (*READ_FAILURES, _read.ReadError)  # type: ignore[attr-defined]
except (ImportError, AttributeError):
    read_data = public_read_data
