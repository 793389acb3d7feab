"""Decoding Avro so that damage shows: a mark behind each record tells whether the bytes were one record of its schema.

Spark's `from_avro` answers bytes that it cannot decode with a struct of nulls, which an honest record of nulls looks
like too, and it does not mind bytes that are left over. So every record is decoded as the first field of another
record, whose second field is a mark that is put behind the message. Where that mark is not found, the bytes are not
what their schema says, however little is missing.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.avro.functions import from_avro

_MARK: Final = bytes.fromhex("8f50454e53544f43")

AvroJson = Any
"""A schema as JSON has it: strings, lists and dicts."""


def marked_record(message: Column, header: int, writer: AvroJson, reader: AvroJson) -> Column:
    """The record that stands behind so many bytes of the message in the field `row`, and the mark behind it.

    The header is read as a field that nobody wants, since to cut it off would copy every message once more.
    """
    marked = F.concat(message, F.lit(bytearray(_MARK)))
    return from_avro(marked, _marked(writer, header), {"avroSchema": _marked(reader), "mode": "PERMISSIVE"})


def is_whole(parsed: Column) -> Column:
    """Whether the mark was found behind the record."""
    return parsed.getField("end") == F.lit(bytearray(_MARK))


def _marked(schema: AvroJson, header: int = 0) -> str:
    """A record of the header, the schema's record and the mark; Avro puts nothing between them."""
    before = [_bytes("header", header)] if header else []
    fields = [*before, {"name": "row", "type": schema}, _bytes("end", len(_MARK))]
    return json.dumps({"type": "record", "name": "penstock_message", "fields": fields})


def _bytes(name: str, size: int) -> AvroJson:
    return {"name": name, "type": {"type": "fixed", "name": f"penstock_{name}", "size": size}}
