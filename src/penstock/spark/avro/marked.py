"""Avro decoding with damage detection: a mark after each record shows that the bytes are exactly one record.

Spark's `from_avro` returns a struct of nulls for undecodable bytes, indistinguishable from a valid record of nulls, and
ignores trailing bytes. Every record is therefore decoded as the first field of an outer record, whose second field is a
mark appended to the message. If the mark is not found, the bytes do not match the schema, even if only a byte is
missing.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.avro.functions import from_avro

_MARK: Final = bytes.fromhex("8f50454e53544f43")

AvroJson = Any
"""Schema in JSON form: strings, lists and dicts."""


def marked_record(message: Column, header: int, writer: AvroJson, reader: AvroJson) -> Column:
    """Return a struct with the record after `header` bytes in the field `row`, and the mark after the record.

    The header is read as an unused field, because removing the header would copy every message again.
    """
    marked = F.concat(message, F.lit(bytearray(_MARK)))
    return from_avro(marked, _marked(writer, header), {"avroSchema": _marked(reader), "mode": "PERMISSIVE"})


def is_whole(parsed: Column) -> Column:
    """Whether the mark was found after the record."""
    return parsed.getField("end") == F.lit(bytearray(_MARK))


def _marked(schema: AvroJson, header: int = 0) -> str:
    """Return the outer schema of header, record and mark. Avro writes no bytes between fields."""
    before = [_bytes("header", header)] if header else []
    fields = [*before, {"name": "row", "type": schema}, _bytes("end", len(_MARK))]
    return json.dumps({"type": "record", "name": "penstock_message", "fields": fields})


def _bytes(name: str, size: int) -> AvroJson:
    return {"name": name, "type": {"type": "fixed", "name": f"penstock_{name}", "size": size}}
