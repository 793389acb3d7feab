"""fastavro's inner functions: as fast as its public ones, less what those do again for every record.

`schemaless_writer` and `schemaless_reader` collect the schema's names for each record; the functions beneath
them take what was prepared once. Those are not fastavro's public interface, so they are used through this module
only, and where they are missing (another version, or fastavro without its compiled part) the public ones serve.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

import fastavro

Node = Any
Names = dict[str, Node]
WriteData = Callable[[bytearray, object, Node, Names, str, dict[str, bool]], None]
ReadData = Callable[[BytesIO, Node, dict[str, Names], Node, dict[str, bool]], object]

WRITE_OPTIONS = {"strict": False, "strict_allow_default": True, "disable_tuple_notation": False}
READ_OPTIONS: dict[str, bool] = {}
WRITE_FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def public_write_data(
    buffer: bytearray, datum: object, node: Node, _named: Names, _field: str, options: dict[str, bool]
) -> None:
    """Append a datum to a buffer by fastavro's public interface."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, node, datum, **options)
    buffer += stream.getvalue()


def public_read_data(
    stream: BytesIO, node: Node, _named: dict[str, Names], wanted: Node, _options: dict[str, bool]
) -> object:
    """Take a datum from a stream by fastavro's public interface."""
    return fastavro.schemaless_reader(stream, node, wanted)


try:
    from fastavro import _read as _inner_read
    from fastavro import _write as _inner_write

    READ_FAILURES: tuple[type[Exception], ...] = (*WRITE_FAILURES, EOFError, StopIteration, _inner_read.ReadError)  # type: ignore[attr-defined]
    write_data = cast("WriteData", _inner_write.write_data)  # type: ignore[attr-defined]
    read_data = cast("ReadData", _inner_read._read_data)  # type: ignore[attr-defined]  # noqa: SLF001 - see the module's docstring
except (ImportError, AttributeError):
    READ_FAILURES = (*WRITE_FAILURES, EOFError, StopIteration)
    write_data = public_write_data
    read_data = public_read_data
