"""Encoding and decoding with fastavro: records are checked before writing, and received bytes are not trusted."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

from fastavro.read import SchemaResolutionError

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.schemas.avro.compiled import UNSURE, compile_writer
from penstock.schemas.avro.fast import READ_FAILURES, READ_OPTIONS, read_data
from penstock.schemas.avro.fits import Fits, count_values
from penstock.schemas.avro.misfit import find_misfit, too_deep
from penstock.schemas.avro.misreading import Roles, misreadings
from penstock.schemas.avro.model import Type
from penstock.schemas.avro.plain import WRITE_FAILURES, with_branches, write_plainly
from penstock.schemas.avro.prepared import prepare
from penstock.schemas.avro.resolution import resolving_reader
from penstock.schemas.avro.skim import Unreadable, needs_skim, skim

_PAD = b"\0"
_SHOWN = 200
_READ_FAILURES: tuple[type[Exception], ...] = (*READ_FAILURES, Unreadable)


def writer(root: Type, header: bytes) -> Callable[[object], bytes]:
    """Return a function that writes the header and a value.

    The function raises RecordInvalid with the field that does not fit.
    """
    compiled = compile_writer(root)
    if compiled is None:
        return lambda value: header + _write_closely(value, root)

    def write(value: object) -> bytes:
        try:
            return header + compiled(value)
        except UNSURE:
            return header + _write_closely(value, root)

    return write


def _write_closely(value: object, root: Type) -> bytes:
    size = count_values(value)
    checked = Fits(size or 0)
    misfit = too_deep() if size is None else find_misfit(value, root, checked)
    if misfit:
        raise RecordInvalid(str(misfit), hint=misfit.hint, field=misfit.path)
    try:
        return write_plainly(with_branches(value, root, checked), root)
    except WRITE_FAILURES as error:
        raise RecordInvalid(f"the record cannot be written: {error}") from error


def reader(root: Type, start: int, wanted: Type | None = None) -> Callable[[bytes], object]:
    """Return a function that reads a value from `start` to the end of the message.

    With `wanted`, the value is converted to that schema. The function raises RecordUndecodable with the reason and the
    position.
    """
    prepared, goes_first = prepare(root), needs_skim(root)
    node, named = prepared.node, {"writer": prepared.named, "reader": {}}
    resolve = resolving_reader(wanted, root) if wanted else None

    def read(data: bytes) -> object:
        # The pad reveals reads beyond the end of the message, which fastavro does not report.
        stream = BytesIO(data + _PAD)
        stream.seek(start)
        try:
            if goes_first:
                skim(data, start, root)
            value = resolve(stream) if resolve else read_data(stream, node, named, None, READ_OPTIONS)
        except SchemaResolutionError as error:
            raise _unresolved(wanted or root, root, error) from error
        except _READ_FAILURES as error:
            raise _undecodable(data, start, root, error) from error
        if stream.tell() != len(data):
            raise _undecodable(data, start, root, None)
        return value

    return read


def _undecodable(data: bytes, start: int, root: Type, error: Exception | None) -> RecordUndecodable:
    try:
        skim(data, start, root)
    except Unreadable as found:
        return RecordUndecodable(str(found), hint="the message is damaged, or was written with another schema")
    return RecordUndecodable(f"the record cannot be read: {str(error or 'it has another length')[:_SHOWN]}")


def _unresolved(wanted: Type, root: Type, error: SchemaResolutionError) -> RecordUndecodable:
    reason = next(iter(misreadings(wanted, root, Roles(reader="wanted", writer="written"))), None)
    why = f"{reason.place.field}: {reason.message}" if reason else str(error)[:_SHOWN]
    return RecordUndecodable(
        f"the record cannot be read with the wanted schema: {why}",
        hint="read it with a schema that is compatible with the one that wrote it, or with none of your own",
    )
