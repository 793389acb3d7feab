"""Reading with another schema than the one that wrote, by fastavro, so that unions are resolved as Avro asks.

Of a reader's union fastavro takes the first branch that can hold what was written, where Avro asks for the same type
first: an int would be given as a float if the float stands first. Therefore

- a field whose type did not change is read as it was written, without resolution, which is also faster;
- in the reader's unions, float and double are put behind int and long;
- a changed field with text and bytes in one union, which no order makes right, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import SchemaIncompatible
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.model import RecordType, Type, UnionType, every_type, type_name
from penstock.schemas.avro.prepared import Prepared, prepare_json


def prepare_reader(reader: Type, writer: Type) -> Prepared:
    """Prepare a schema to read the records of another one."""
    node, named = prepare_json(to_json(reader, reals_last=True), reader)
    if not isinstance(reader, RecordType) or not isinstance(writer, RecordType):
        _refuse_text_with_bytes([reader])
        return Prepared(node, named)
    unchanged = _unchanged_fields(reader, writer)
    _refuse_text_with_bytes(field.type for field in reader.fields if field.name not in unchanged)
    fields = [{**field, "type": None} if field["name"] in unchanged else field for field in node["fields"]]
    return Prepared({**node, "fields": fields}, named)


def _unchanged_fields(reader: RecordType, writer: RecordType) -> set[str]:
    written = {field.name: to_json(field.type) for field in writer.fields}
    return {field.name for field in reader.fields if written.get(field.name) == to_json(field.type)}


def _refuse_text_with_bytes(types: Iterable[Type]) -> None:
    for avro_type in types:
        for inner in every_type(avro_type):
            if isinstance(inner, UnionType) and {"string", "bytes"} <= set(map(type_name, inner.branches)):
                raise SchemaIncompatible(
                    "a union with both string and bytes cannot be read in another form than it was written",
                    hint="read such records without a schema of your own",
                )
