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
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql.avro.functions import from_avro

_MARK: Final = bytes.fromhex("8f50454e53544f43")

AvroJson = Any
"""A schema as JSON has it: strings, lists and dicts."""


def marked_record(body: Column, writer: AvroJson, reader: AvroJson) -> Column:
    """The record in the field `row`, and the mark behind it."""
    marked = F.concat(body, F.lit(bytearray(_MARK)))
    return from_avro(marked, _marked(writer), {"avroSchema": _marked(reader), "mode": "PERMISSIVE"})


def is_whole(parsed: Column) -> Column:
    """Whether the mark was found behind the record."""
    return parsed.getField("end") == F.lit(bytearray(_MARK))


def _marked(schema: AvroJson) -> str:
    """A record of the schema's record and the mark; Avro puts nothing between the two."""
    mark = {"type": "fixed", "name": "penstock_mark", "size": len(_MARK)}
    fields = [{"name": "row", "type": schema}, {"name": "end", "type": mark}]
    return json.dumps({"type": "record", "name": "penstock_message", "fields": fields})
